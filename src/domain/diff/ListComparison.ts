/**
 * Compares two lists of records by a key: what a sync has to add, to change and to remove. It costs as much as the lists are
 * large. Contract: runtime calls, `svc.diff.compare`.
 */
import { isList } from "../expression/List.js"
import type { Path } from "../expression/Path.js"
import { isObject, type Json, type JsonObject } from "../Json.js"
import type { Sliced } from "../mapping/MapCost.js"
import { comparisonLimits, type FieldDifference, type ReportedChange, type ReportSummary } from "./SyncReport.js"

/** Two lists and how they are compared. All paths lead through members only. */
export interface ComparisonOrder {
  readonly source: ReadonlyArray<Json>
  readonly target: ReadonlyArray<Json>
  readonly key: Path
  /** What is compared; null: every member. */
  readonly fields: ReadonlyArray<Path> | null
  readonly ignore: ReadonlyArray<Path>
}

/** `at`: the parts of its path. */
export interface LocatedDifference extends FieldDifference {
  readonly at: Path
}

/** What becomes of a record. */
export interface ComparedRecord extends ReportedChange {
  readonly fields: ReadonlyArray<LocatedDifference>
}

export interface ListComparison {
  readonly summary: ReportSummary
  /** In the order of the source's list, then of the target's; what was skipped is last. */
  readonly entries: ReadonlyArray<ComparedRecord>
}

/** Values between two pauses: about two milliseconds. */
const valuesPerSlice = 20_000

/** Members that are not compared, by name: all of one, or some of what is below it. */
interface Ignored {
  isWhole: boolean
  readonly below: Map<string, Ignored>
}

const ignoredOf = (paths: ReadonlyArray<Path>): Ignored => {
  const root: Ignored = { isWhole: false, below: new Map() }
  for (const path of paths) {
    let at = root
    for (const segment of path) {
      const name = String(segment)
      const next = at.below.get(name) ?? { isWhole: false, below: new Map<string, Ignored>() }
      at.below.set(name, next)
      at = next
    }
    at.isWhole = true
  }
  return root
}

const nameBelow = (place: string, name: string): string => {
  if (!/^[\w-]+$/.test(name)) return `${place}[${JSON.stringify(name)}]`
  return place === "" ? name : `${place}.${name}`
}

const pathText = (path: Path): string => path.reduce<string>((place, segment) => nameBelow(place, String(segment)), "")

const own = (value: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(value, name) ? value[name] : undefined

/** The value of a member of members. Lists have none: they are compared whole. */
const memberAt = (value: Json, path: Path): Json | undefined =>
  path.reduce<Json | undefined>((at, name) => (isObject(at) ? own(at, String(name)) : undefined), value)

/** The paths without those that lie in another one: what is in both would be compared, and reported, twice. */
const outermost = (paths: ReadonlyArray<Path>): ReadonlyArray<Path> => {
  const all = new Map(paths.map((path) => [JSON.stringify(path), path]))
  return [...all.values()].filter((path) => !path.some((_, length) => all.has(JSON.stringify(path.slice(0, length)))))
}

class Comparer {
  private values = 0
  private differences = 0
  private characters = 0

  /** Whether to pause now. */
  get isPause(): boolean {
    if (this.values < valuesPerSlice) return false
    this.values = 0
    return true
  }

  /** Whether there are more differences than a report may have. */
  get isExceeded(): boolean {
    return this.differences > comparisonLimits.differences || this.characters > comparisonLimits.pathCharacters
  }

  /** Whether two values are the same. The order of members does not count, and a missing member is the same as null. */
  private isAlike(one: Json | undefined, other: Json | undefined): boolean {
    this.values += 1
    if (one === other) return true
    if (typeof one !== "object" || typeof other !== "object" || one === null || other === null)
      return (one ?? null) === (other ?? null)
    if (isList(one) || isList(other))
      return (
        isList(one) &&
        isList(other) &&
        one.length === other.length &&
        one.every((item, at) => this.isAlike(item, other[at]))
      )
    for (const name of Object.keys(one)) if (!this.isAlike(one[name], own(other, name))) return false
    for (const name of Object.keys(other)) if (!Object.hasOwn(one, name) && (other[name] ?? null) !== null) return false
    return true
  }

  /** Adds where two values at a path differ: objects member by member, lists whole. */
  *collect(
    source: Json | undefined,
    target: Json | undefined,
    at: Array<string>,
    ignored: Ignored | undefined,
    found: Array<LocatedDifference>
  ): Sliced<void> {
    if (ignored?.isWhole === true || this.isExceeded) return
    if (!isObject(source) || !isObject(target)) {
      if (!this.isAlike(source, target)) this.add(at, source, target, found)
      return
    }
    const names = Object.keys(source)
    for (const name of Object.keys(target)) if (!Object.hasOwn(source, name)) names.push(name)
    for (const name of names) {
      this.values += 1
      if (this.isPause) yield
      at.push(name)
      yield* this.collect(own(source, name), own(target, name), at, ignored?.below.get(name), found)
      at.pop()
    }
  }

  /** Counts first: a long name stands in the path of everything below it. */
  private add(
    at: ReadonlyArray<string>,
    source: Json | undefined,
    target: Json | undefined,
    found: Array<LocatedDifference>
  ): void {
    this.differences += 1
    for (const name of at) this.characters += name.length + 1
    if (!this.isExceeded)
      found.push({ path: pathText(at), at: [...at], source: source ?? null, target: target ?? null })
  }
}

const ignoredBelow = (root: Ignored, path: Path): Ignored | undefined =>
  path.reduce<Ignored | undefined>(
    (at, segment) => (at === undefined || at.isWhole ? at : at.below.get(String(segment))),
    root
  )

/** A record by its key; `undefined`: the key occurs more than once in the list. */
type ByKey = Map<string, JsonObject | undefined>

/** The text of a key; `undefined` if there is none. A number is the key that its text is. */
const keyText = (record: JsonObject, path: Path): string | undefined => {
  const key = memberAt(record, path)
  return (typeof key === "string" && key !== "") || typeof key === "number" ? String(key) : undefined
}

/**
 * Compares the lists; yields where other work may go on. `undefined`: there are more differences, or longer paths of them, than
 * a report may have.
 */
export function* compareLists({
  fields,
  ignore,
  key,
  source,
  target
}: ComparisonOrder): Sliced<ListComparison | undefined> {
  const comparer = new Comparer()
  const ignored = ignoredOf(ignore)
  const compared = outermost(fields ?? [[]]).map((path) => ({ path, ignored: ignoredBelow(ignored, path) }))
  const keysOf = function* (list: ReadonlyArray<Json>): Sliced<ByKey> {
    const found: ByKey = new Map()
    for (const [at, record] of list.entries()) {
      if (at % 5_000 === 4_999) yield
      const text = isObject(record) ? keyText(record, key) : undefined
      if (isObject(record) && text !== undefined) found.set(text, found.has(text) ? undefined : record)
    }
    return found
  }
  const sources = yield* keysOf(source)
  const targets = yield* keysOf(target)
  const added: Array<ComparedRecord> = []
  const changed: Array<ComparedRecord> = []
  const removed: Array<ComparedRecord> = []
  const skipped: Array<ComparedRecord> = []
  let unchanged = 0

  /** The record with its key, unless it is skipped. */
  const keyed = (record: Json, list: "source" | "target"): readonly [string, JsonObject] | undefined => {
    const text = isObject(record) ? keyText(record, key) : undefined
    const isTwice =
      text !== undefined &&
      ((sources.has(text) && sources.get(text) === undefined) || (targets.has(text) && targets.get(text) === undefined))
    if (isObject(record) && text !== undefined && !isTwice) return [text, record]
    skipped.push({
      op: "skipped",
      key: text ?? null,
      record,
      fields: [],
      list,
      reason: isTwice ? "DUPLICATE_KEY" : "NO_KEY"
    })
    return undefined
  }

  for (const record of source) {
    if (comparer.isPause) yield
    const found = keyed(record, "source")
    if (found === undefined) continue
    const [text, one] = found
    const other = targets.get(text)
    if (other === undefined) {
      added.push({ op: "added", key: text, record: one, fields: [], list: null, reason: null })
      continue
    }
    const differences: Array<LocatedDifference> = []
    for (const { ignored: below, path } of compared)
      yield* comparer.collect(memberAt(one, path), memberAt(other, path), path.map(String), below, differences)
    if (comparer.isExceeded) return undefined
    if (differences.length === 0) unchanged += 1
    else changed.push({ op: "changed", key: text, record: null, fields: differences, list: null, reason: null })
  }
  for (const [at, record] of target.entries()) {
    if (at % 5_000 === 4_999) yield
    const found = keyed(record, "target")
    if (found === undefined || sources.has(found[0])) continue
    removed.push({ op: "removed", key: found[0], record: found[1], fields: [], list: null, reason: null })
  }
  return {
    summary: {
      added: added.length,
      changed: changed.length,
      removed: removed.length,
      unchanged,
      skipped: skipped.length
    },
    entries: [...added, ...changed, ...removed, ...skipped]
  }
}
