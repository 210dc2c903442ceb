/**
 * Turns the issues of schema decoding into one error detail per path, with the expected form. The actual value is never
 * repeated, since it may be long or a secret.
 */
import type { Detail } from "./Failure.js"

/** One issue, as `ParseResult.ArrayFormatter` formats it. */
export interface Issue {
  readonly _tag: string
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

/** One detail for each path, in the order of the issues. `unknownMessage`: the message for an unknown member. */
export const detailsOf = (issues: ReadonlyArray<Issue>, unknownMessage: string): ReadonlyArray<Detail> => {
  const places = new Map<string, [Issue, ...Array<Issue>]>()
  for (const issue of relevantIssues(issues)) {
    const place = `${issue._tag === "Unexpected" || issue._tag === "Missing"} ${pathText(issue.path)}`
    const issuesThere = places.get(place)
    if (issuesThere === undefined) places.set(place, [issue])
    else issuesThere.push(issue)
  }
  return [...places.values()].map((found) => detailOf(found, unknownMessage))
}

/** A detail for each issue of a stored value that a request sends in its member `value`. */
export const valueDetails = (issues: ReadonlyArray<Issue>): ReadonlyArray<Detail> =>
  issues.map(({ message, path }) => ({ path: ["value", ...path.map(String)].join("."), code: "INVALID", message }))

/** Drops issues that only say that an optional member was not absent, if another issue explains its path. */
export const relevantIssues = <A extends Issue>(issues: ReadonlyArray<A>): ReadonlyArray<A> => {
  const isAbsence = ({ message }: Issue) => message.startsWith("Expected undefined,")
  const explainedPaths = new Set(
    issues.flatMap((issue) =>
      isAbsence(issue)
        ? []
        : Array.from({ length: issue.path.length + 1 }, (_, at) => pathText(issue.path.slice(0, at)))
    )
  )
  return issues.filter((issue) => !isAbsence(issue) || !explainedPaths.has(pathText(issue.path)))
}

/** A path as text: `actions[0].name`. */
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

/** One detail for the issues of a path: alternatives of a union are combined. */
const detailOf = (found: readonly [Issue, ...ReadonlyArray<Issue>], unknownMessage: string): Detail => {
  const [{ _tag, path }] = found
  const place = { path: pathText(path), code: codes[_tag] ?? "INVALID_VALUE" }
  if (_tag === "Unexpected") return { ...place, message: unknownMessage }
  if (_tag === "Missing") return { ...place, message: "is required" }
  const own = found.find(({ message }) => expectedForm(message) === undefined)
  const forms = found.flatMap(({ message }) => expectedForm(message) ?? [])
  return { ...place, message: own?.message ?? `must be ${alternatives([...new Set(forms)])}` }
}

/** The form that the library expected; `undefined` if the message is the schema's own. */
const expectedForm = (message: string): string | undefined => {
  if (/^Unable to decode .* into a number$/s.test(message)) return "a number"
  const expected = /^Expected (.*?)(?:, actual .*)?$/s.exec(message)?.[1]
  if (expected === undefined) return undefined
  if (/^(?:string|number|boolean)$/.test(expected)) return `a ${expected}`
  if (expected.startsWith("ReadonlyArray<")) return "a list"
  // Named schemas are schemas of objects.
  return expected.startsWith("{") || /^[A-Z]\w*$/.test(expected) ? "an object" : expected
}

const alternatives = (forms: ReadonlyArray<string>): string =>
  [forms.slice(0, -1).join(", "), ...forms.slice(-1)].filter((part) => part !== "").join(" or ")
