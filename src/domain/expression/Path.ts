/**
 * Data paths into JSON: `$.items[0].name`. A path reads own members only. Contract: data paths. Guests run this module, so
 * that it imports no library.
 */
import type { Json } from "../Json.js"
import { memoize } from "../RecentMap.js"
import { isList } from "./List.js"

/** What a text was read as, or why it cannot be read. */
export type Parsed<A> = { readonly value: A } | { readonly mistake: string }

/** A member's name, or an index; a negative index counts from the end. */
export type Segment = string | number
/** The segments of a path; empty: the whole value. */
export type Path = ReadonlyArray<Segment>

/** Parses a path. A leading `$` or `$.` is optional; other names are quoted in `["…"]`. */
export const scanPath = (text: string): Parsed<Path> => {
  let rest = text.trim()
  if (rest === "$" || rest === "") return rest === "" ? { mistake: "is empty" } : { value: [] }
  if (rest.startsWith("$.") || rest.startsWith("$[")) rest = rest.slice(rest[1] === "." ? 2 : 1)
  const path: Array<Segment> = []
  while (rest !== "") {
    const [matched, dot, name, index, double, single] = segmentForm.exec(rest) ?? []
    // A name stands after a dot, but for the first one.
    if (matched === undefined || dot === (path.length === 0 ? "." : ""))
      return { mistake: `cannot be read from "${rest.slice(0, 20)}" on` }
    path.push(name ?? (index === undefined ? unescape(double ?? single ?? "") : Number(index)))
    rest = rest.slice(matched.length)
  }
  return path.length > maxSegments ? { mistake: `has more than ${maxSegments} parts` } : { value: path }
}

/** The value at a path; `undefined` if there is none. */
export const readPath = (value: Json | undefined, path: Path): Json | undefined => {
  let at: Json | undefined = value
  for (const segment of path) {
    if (typeof at !== "object" || at === null) return undefined
    if (isList(at)) {
      const index = typeof segment === "number" ? segment : /^\d{1,9}$/.test(segment) ? Number(segment) : Number.NaN
      at = Number.isNaN(index) ? undefined : at.at(index)
    } else {
      const name = String(segment)
      at = Object.hasOwn(at, name) ? at[name] : undefined
    }
  }
  return at
}

/** Defines an own property, also for a name such as `__proto__`. */
export const setMember = (members: { [member: string]: Json }, name: string, value: Json): void => {
  if (name === "__proto__")
    Object.defineProperty(members, name, { value, writable: true, enumerable: true, configurable: true })
  else members[name] = value
}

/** Like `scanPath`, cached. */
export const cachedPath: (text: string) => Parsed<Path> = memoize(scanPath)

/** The value at a path in text, parsed once; `undefined` also for an invalid path. */
export const valueAt = (value: Json | undefined, path: string): Json | undefined => {
  const parsed = cachedPath(path)
  return "mistake" in parsed ? undefined : readPath(value, parsed.value)
}

/** The path of a member of a part. */
export const memberPath = (path: string, name: string): string =>
  path === "" ? name : /^[\w-]+$/.test(name) ? `${path}.${name}` : `${path}["${name}"]`

/** The text of a path below a part. */
export const placeBelow = (part: string, path: Path): string =>
  path.reduce<string>(
    (place, segment) => (typeof segment === "number" ? `${place}[${segment}]` : memberPath(place, segment)),
    part
  )

const maxSegments = 64
/** A name, `[index]`, `["name"]` or `['name']`. */
const segmentForm =
  /^(?:(\.?)([^.[\]{}()"'?|,;+*/\\\s]+)|\[(-?\d{1,9})\]|\["((?:[^"\\]|\\.)*)"\]|\['((?:[^'\\]|\\.)*)'\])/

const unescape = (text: string) => text.replace(/\\(.)/g, "$1")
