/**
 * What a schema found wrong with a value, in the words of its author: where, and what must stand there. Never what stood
 * there instead: that may be long, or a secret.
 */
import type { Detail } from "./Failure.js"

/** One finding of a schema, as `ParseResult.ArrayFormatter` tells it. */
export interface Issue {
  readonly _tag: string
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

/** One detail for each place, in the order of the findings. `unknown`: what is said of a member that nobody knows. */
export const detailsOf = (issues: ReadonlyArray<Issue>, unknown: string): ReadonlyArray<Detail> => {
  const places = new Map<string, [Issue, ...Array<Issue>]>()
  for (const issue of present(issues)) {
    const place = `${issue._tag === "Unexpected" || issue._tag === "Missing"} ${pathText(issue.path)}`
    const there = places.get(place)
    if (there === undefined) places.set(place, [issue])
    else there.push(issue)
  }
  return [...places.values()].map((found) => detail(found, unknown))
}

/** Without what says no more than that a member which may be left out was not: another finding tells what is wrong. */
export const present = <A extends Issue>(issues: ReadonlyArray<A>): ReadonlyArray<A> => {
  const absent = ({ message }: Issue) => message.startsWith("Expected undefined,")
  const told = new Set(
    issues.flatMap((issue) =>
      absent(issue) ? [] : Array.from({ length: issue.path.length + 1 }, (_, at) => pathText(issue.path.slice(0, at)))
    )
  )
  return issues.filter((issue) => !absent(issue) || !told.has(pathText(issue.path)))
}

/** `actions[0].name` */
export const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>((text, part) => {
    const name = String(part)
    return /^\d+$/.test(name) ? `${text}[${name}]` : text === "" ? name : `${text}.${name}`
  }, "")

const codes: { readonly [tag: string]: string } = {
  Unexpected: "UNKNOWN_FIELD",
  Missing: "REQUIRED",
  Forbidden: "NOT_ALLOWED"
}

/** A value that may be one of several things is wrong in as many ways: told as one. */
const detail = (found: readonly [Issue, ...ReadonlyArray<Issue>], unknown: string): Detail => {
  const [{ _tag, path }] = found
  const place = { path: pathText(path), code: codes[_tag] ?? "INVALID_VALUE" }
  if (_tag === "Unexpected") return { ...place, message: unknown }
  if (_tag === "Missing") return { ...place, message: "is required" }
  const own = found.find(({ message }) => demand(message) === undefined)
  const demands = found.flatMap(({ message }) => demand(message) ?? [])
  return { ...place, message: own?.message ?? `must be ${alternatives([...new Set(demands)])}` }
}

/** What the library expected; `undefined` where the message is the schema's own. */
const demand = (message: string): string | undefined => {
  if (/^Unable to decode .* into a number$/s.test(message)) return "a number"
  const expected = /^Expected (.*?)(?:, actual .*)?$/s.exec(message)?.[1]
  if (expected === undefined) return undefined
  if (/^(?:string|number|boolean)$/.test(expected)) return `a ${expected}`
  if (expected.startsWith("ReadonlyArray<")) return "a list"
  // Schemas with a name are those of objects.
  return expected.startsWith("{") || /^[A-Z]\w*$/.test(expected) ? "an object" : expected
}

const alternatives = (demands: ReadonlyArray<string>): string =>
  [demands.slice(0, -1).join(", "), ...demands.slice(-1)].filter((part) => part !== "").join(" or ")
