/**
 * `svc.diff.compare({name, source, target, key, fields?, ignore?, mode})`: compares two lists in slices. The report is stored
 * by the transaction that writes the call's journal row, so that a run has one of each call however often it is replayed.
 * Contract: runtime calls, `SyncReport`.
 */
import { Effect, Either } from "effect"
import {
  type ComparedRecord,
  type ComparisonOrder,
  compareLists,
  type ListComparison
} from "../../../domain/diff/ListComparison.js"
import { comparisonLimits as limits, type FieldDifference, type ReportOp } from "../../../domain/diff/SyncReport.js"
import { parsePath } from "../../../domain/expression/Parsing.js"
import { type Path, setMember } from "../../../domain/expression/Path.js"
import { isObject, type Json, type JsonObject } from "../../../domain/Json.js"
import type { Sliced } from "../../../domain/mapping/MapCost.js"
import type { CallFailure } from "../../../domain/run/RunJournal.js"
import { HeldBytes, takeBytes, withHolding } from "../../ports/HeldBytes.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { type ReportPart, SyncReports } from "../../ports/run/SyncReports.js"
import { inSlices } from "../../SlicedWork.js"
import {
  failure,
  type HostCall,
  type HostRequest,
  noMemoryFailure,
  refusedCall,
  type WriteCall,
  WriteRefused
} from "./HostCall.js"
import { ownerOfRun } from "../../../domain/share/ShareOwner.js"

const call = "svc.diff.compare"
const misuse = (message: string): CallFailure =>
  failure("TypeError", `${call}: ${message}`, "code", { code: "INVALID_ARGUMENTS" })
const tooMuch = (message: string): CallFailure =>
  failure("RangeError", `${call}: ${message}`, "code", { code: "TOO_LARGE" })

interface NamedOrder extends ComparisonOrder {
  readonly name: string
  readonly isPlanned: boolean
}

/** A path through members: what is below an index cannot be named, since lists are compared whole. */
const readPath = (text: Json | undefined, member: string): Path | CallFailure => {
  const parsed =
    typeof text === "string" && text.length <= limits.pathLength ? parsePath(text) : Either.left("is no path")
  if (Either.isLeft(parsed))
    return misuse(
      `${member} takes paths such as address.city: ${JSON.stringify(text ?? null).slice(0, 100)} ${parsed.left}`
    )
  return parsed.right.some((segment) => typeof segment === "number")
    ? misuse(`${member} takes paths without an index: lists are compared whole`)
    : parsed.right
}

const isFailure = (value: object): value is CallFailure => "category" in value

const readPaths = (value: Json | undefined, member: string): ReadonlyArray<Path> | CallFailure => {
  if (!Array.isArray(value) || value.length > limits.paths)
    return misuse(`${member} is a list of at most ${limits.paths} paths`)
  const paths: Array<Path> = []
  for (const one of value) {
    const path = readPath(one, member)
    if ("category" in path) return path
    paths.push(path)
  }
  return paths
}

const known = ["name", "source", "target", "key", "fields", "ignore", "mode"]

const readOrder = (value: Json | undefined): NamedOrder | CallFailure => {
  if (!isObject(value)) return misuse("write compare({ name, source, target, key })")
  const unknown = Object.keys(value).find((member) => !known.includes(member))
  if (unknown !== undefined) return misuse(`there is no ${unknown.slice(0, 50)}; its members are ${known.join(", ")}`)
  const { fields = null, ignore = [], key, mode = "report", name, source, target } = value
  if (typeof name !== "string" || name === "" || name.length > limits.nameLength)
    return misuse(`name is a text of at most ${limits.nameLength} characters, by which its reports are found`)
  if (!Array.isArray(source) || !Array.isArray(target)) return misuse("source and target are lists of records")
  if (mode !== "report" && mode !== "plan") return misuse("mode is report or plan")
  if (source.length + target.length > limits.records)
    return tooMuch(`compares at most ${limits.records} records of both lists: compare parts of them`)
  const path = readPath(key, "key")
  if (isFailure(path)) return path
  const compared = fields === null ? null : readPaths(fields, "fields")
  if (compared !== null && isFailure(compared)) return compared
  const ignored = readPaths(ignore, "ignore")
  if (isFailure(ignored)) return ignored
  return { name, source, target, key: path, fields: compared, ignore: ignored, isPlanned: mode === "plan" }
}

const differenceJson = ({ path, source, target }: FieldDifference): JsonObject => ({ path, source, target })

/** The target's members as they are to become, as a merge patch. */
const patchOf = (fields: ComparedRecord["fields"]): JsonObject => {
  const patch: { [member: string]: Json } = {}
  /** The objects of the patch itself; others are the record's. */
  const made = new Set<object>()
  for (const { at, source } of fields) {
    let members = patch
    for (const name of at.slice(0, -1)) {
      const below = Object.hasOwn(members, name) ? members[name] : undefined
      const next: { [member: string]: Json } =
        isObject(below) && made.has(below) ? below : { ...(isObject(below) ? below : {}) }
      made.add(next)
      setMember(members, String(name), next)
      members = next
    }
    setMember(members, String(at.at(-1)), source)
  }
  return patch
}

const planOps = { added: "create", changed: "update", removed: "delete" } as const

const planOf = (entries: ReadonlyArray<ComparedRecord>): ReadonlyArray<Json> =>
  entries.flatMap(({ fields, key, op, record }): ReadonlyArray<Json> => {
    if (op === "skipped") return []
    return [{ op: planOps[op], key, changes: op === "added" ? record : op === "changed" ? patchOf(fields) : null }]
  })

/** What the workflow gets. */
const resultOf = ({ entries, summary }: ListComparison, reportId: string | null, isPlanned: boolean): JsonObject => {
  const of = (op: ReportOp) => entries.filter((entry) => entry.op === op)
  return {
    reportId,
    summary: { ...summary },
    added: of("added").map(({ record }) => record),
    changed: of("changed").map(({ fields, key }) => ({ key, fields: fields.map(differenceJson) })),
    removed: of("removed").map(({ record }) => record),
    ...(isPlanned ? { plan: planOf(entries) } : {})
  }
}

/** The entries as they are stored. */
function* partsOf(
  entries: ReadonlyArray<ComparedRecord>,
  shown: (value: Json) => Json
): Sliced<ReadonlyArray<ReportPart>> {
  const parts: Array<ReportPart> = []
  let texts: Array<string> = []
  let characters = 0
  const close = (first: number, op: ReportOp) => {
    if (texts.length > 0)
      parts.push({ first: first - texts.length, op, count: texts.length, entries: `[${texts.join(",")}]` })
    texts = []
    characters = 0
  }
  for (const [at, entry] of entries.entries()) {
    const { fields, ...head } = entry
    const text = JSON.stringify(shown({ ...head, fields: fields.map(differenceJson) }))
    texts.push(text)
    characters += text.length
    const isFull = texts.length === limits.partEntries || characters > limits.partCharacters
    if (isFull || entries[at + 1]?.op !== entry.op) {
      close(at + 1, entry.op)
      yield
    }
  }
  return parts
}

export const makeDiffCalls = Effect.gen(function* () {
  const reports = yield* SyncReports
  const identifiers = yield* Identifiers
  const ledger = yield* HeldBytes

  /** Runs `body` while the node has room for what is found, which is about as large as the lists. */
  const withRoom = <A, E>({ size, spec }: HostRequest, body: Effect.Effect<A, E>): Effect.Effect<A, E | CallFailure> =>
    withHolding(ledger, ownerOfRun(spec.run), "results", (holding) =>
      Effect.zipRight(
        Effect.mapError(takeBytes(holding, 2 * size), () => noMemoryFailure(call)),
        body
      )
    )

  const compared = (order: NamedOrder): Effect.Effect<ListComparison, CallFailure> =>
    Effect.flatMap(inSlices(compareLists(order)), (found) =>
      found === undefined
        ? Effect.fail(
            tooMuch(
              `finds more than ${limits.differences} members that differ, or ${limits.pathCharacters} characters of their paths: compare fewer records, or name fields`
            )
          )
        : Effect.succeed(found)
    )

  /** Compares, and adds the report with the call's row of the journal. */
  const added = ({ spec }: HostRequest, order: NamedOrder, [place, entry, shown]: Parameters<WriteCall>) =>
    Effect.gen(function* () {
      const found = yield* compared(order)
      const parts = yield* inSlices(partsOf(found.entries, shown))
      const [id, eventId] = [identifiers.next("rpt"), identifiers.next("evt")]
      const value = resultOf(found, id, order.isPlanned)
      const name = String(shown(order.name))
      yield* reports.add({ id, name, summary: found.summary, run: spec.run, parts, eventId }, place, entry(value))
      return value
    })

  const plan = (request: HostRequest): HostCall => {
    const { args, notes, nth, spec } = request
    const order = readOrder(args[0])
    if ("category" in order) return refusedCall(order)
    if (nth >= limits.perRun)
      return refusedCall(
        failure("RangeError", `${call}: a run makes at most ${limits.perRun} reports`, "code", {
          code: "TOO_MANY_REPORTS"
        })
      )
    notes.shown = {
      args: [{ ...shownMembers(args[0]), source: countOf(order.source), target: countOf(order.target) }],
      result: ["reportId", "summary"]
    }
    if (spec.start.mocking?.mode === "full" || spec.start.mocking?.isRehearsal === true) {
      notes.isMocked = true
      const found = Effect.map(compared(order), (comparison) => ({
        value: resultOf(comparison, null, order.isPlanned)
      }))
      return { _tag: "Read", run: withRoom(request, found) }
    }
    return {
      _tag: "Write",
      commit: (...given) =>
        Effect.mapError(withRoom(request, added(request, order, given)), (error) =>
          "category" in error ? new WriteRefused({ failure: error }) : error
        )
    }
  }

  return { "diff.compare": plan }
})

const countOf = (list: ReadonlyArray<Json>): string => `${list.length} records`

const shownMembers = (order: Json | undefined): JsonObject => (isObject(order) ? order : {})
