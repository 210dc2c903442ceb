/** Where a value stands in JSON: `$.items[0].name`. Data only: a path reads own members and nothing else. Contract: data paths. */
import { Either } from "effect"
import type { Json } from "../Json.js"

/** A member's name, or a place in a list; a negative one counts from the end. */
export type Segment = string | number
/** `items[0].name` as its parts; empty: the whole value. */
export type Path = ReadonlyArray<Segment>

/** Reads a path. A leading `$` or `$.` may be there; names with other characters stand in `["…"]`. */
export const parsePath = (text: string): Either.Either<Path, string> => {
  let rest = text.trim()
  if (rest === "$" || rest === "") return rest === "" ? Either.left("is empty") : Either.right([])
  if (rest.startsWith("$.") || rest.startsWith("$[")) rest = rest.slice(rest[1] === "." ? 2 : 1)
  const path: Array<Segment> = []
  while (rest !== "") {
    const found = (path.length === 0 ? firstSegment : nextSegment).exec(rest)
    if (found === null) return Either.left(`cannot be read from "${rest.slice(0, 20)}" on`)
    const [whole, name, index, double, single] = found
    const quoted = double ?? single
    path.push(name ?? (index === undefined ? unescape(quoted ?? "") : Number(index)))
    rest = rest.slice(whole.length)
  }
  return path.length > maxSegments ? Either.left(`has more than ${maxSegments} parts`) : Either.right(path)
}

/** What stands there: `undefined` where nothing does. */
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

/** What stands at a path of a definition: `undefined` also where the path is none. */
export const valueAt = (value: Json | undefined, path: string): Json | undefined =>
  Either.match(cachedPath(path), { onLeft: () => undefined, onRight: (parts) => readPath(value, parts) })

/** A path of a field map, in which `[*]` is every item of a list, as the path of the first one. */
export const firstItemPath = (path: string): string => path.replaceAll("[*]", "[0]")

/** Remembers what a pure function answered; starts anew when full, so that it never grows beyond bounds. */
export const memoize = <A>(make: (text: string) => A, most = 20_000): ((text: string) => A) => {
  const known = new Map<string, A>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    if (known.size >= most) known.clear()
    const made = make(text)
    known.set(text, made)
    return made
  }
}

const maxSegments = 64
const namePattern = String.raw`([^.[\]{}()"'?|,;+*/\\\s]+)`
const placePattern = String.raw`\[(-?\d{1,9})\]|\["((?:[^"\\]|\\.)*)"\]|\['((?:[^'\\]|\\.)*)'\]`
const firstSegment = new RegExp(`^(?:${namePattern}|${placePattern})`)
const nextSegment = new RegExp(String.raw`^(?:\.${namePattern}|${placePattern})`)

const unescape = (text: string) => text.replace(/\\(.)/g, "$1")
const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)
const cachedPath = memoize(parsePath)
