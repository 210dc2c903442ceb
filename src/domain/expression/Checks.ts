/** Checks that all parts of a definition share: paths, templates, conditions, names. Each returns all mistakes that it finds. */
import { Either } from "effect"
import type { Detail } from "../Failure.js"
import type { Json } from "../Json.js"
import type { Condition } from "./Condition.js"
import type { Path } from "./Path.js"
import { parsePath } from "./Parsing.js"
import { templatePaths, textsIn } from "./Template.js"
import { parseTemplate } from "./Parsing.js"

/** Mistakes with their paths in the definition. */
export type Mistakes = ReadonlyArray<Detail>

/** One mistake. */
export const mistakeAt = (path: string, code: string, message: string): Mistakes => [{ path, code, message }]

/** The mistake, unless the condition holds. */
export const mistakeUnless = (holds: boolean, path: string, code: string, message: string): Mistakes =>
  holds ? [] : mistakeAt(path, code, message)

/** The mistakes in the elements of a list. */
export const mistakesInEach = <A>(
  path: string,
  list: ReadonlyArray<A>,
  check: (one: A, path: string) => Mistakes
): Mistakes => list.flatMap((one, at) => check(one, `${path}[${at}]`))

/** The mistake in an optional data path. */
export const pathMistakes = (path: string, text: string | undefined): Mistakes =>
  text === undefined
    ? []
    : Either.match(parsePath(text), {
        onLeft: (why) => mistakeAt(path, "INVALID_PATH", `"${text}" ${why}`),
        onRight: () => []
      })

/** Checks the beginning of a template's path; the mistake, or `undefined`. */
export type RootCheck = (path: Path) => string | undefined

/** The mistakes in an optional template. */
export const templateMistakes = (path: string, text: string | undefined, roots: RootCheck): Mistakes =>
  text === undefined
    ? []
    : Either.match(parseTemplate(text), {
        onLeft: (why) => mistakeAt(path, "INVALID_TEMPLATE", why),
        onRight: (parts) =>
          templatePaths(parts).flatMap((one) => {
            const why = roots(one)
            return why === undefined ? [] : mistakeAt(path, "UNKNOWN_NAME", why)
          })
      })

/** The mistakes in a value in which every string is a template. */
export const templatesIn = (path: string, value: Json | undefined, roots: RootCheck): Mistakes =>
  value === undefined ? [] : textsIn(value, path).flatMap(([at, text]) => templateMistakes(at, text, roots))

/** Why a pattern cannot be used; `undefined` if it can. */
export type PatternMistake = (pattern: string) => string | undefined

/** The mistakes in an optional condition. `isComputed`: whether the value of a comparison is known only when it is evaluated. */
export const conditionMistakes = (
  path: string,
  condition: Condition | undefined,
  patternMistake: PatternMistake,
  isComputed: (op: string, value: Json | undefined) => boolean = () => false
): Mistakes => {
  if (condition === undefined) return []
  const mistakesOf = (one: Condition, at: string) => conditionMistakes(at, one, patternMistake, isComputed)
  if ("all" in condition) return mistakesInEach(`${path}.all`, condition.all, (one, at) => mistakesOf(one, at))
  if ("any" in condition) return mistakesInEach(`${path}.any`, condition.any, (one, at) => mistakesOf(one, at))
  if ("not" in condition) return mistakesOf(condition.not, `${path}.not`)
  const { op, value } = condition
  const why = op !== "matches" ? undefined : typeof value === "string" ? patternMistake(value) : "must be a string"
  return [
    ...pathMistakes(`${path}.path`, condition.path),
    ...(why === undefined ? [] : mistakeAt(`${path}.value`, "INVALID_PATTERN", why)),
    ...mistakeUnless(
      (op !== "in" && op !== "nin") || Array.isArray(value) || isComputed(op, value),
      `${path}.value`,
      "INVALID_TYPE",
      "must be a list"
    ),
    ...mistakeUnless(op === "exists" || value !== undefined, `${path}.value`, "REQUIRED", "is required")
  ]
}

/** The mistakes of names that occur more than once. */
export const duplicateMistakes = (path: string, member: string, names: ReadonlyArray<string>): Mistakes => {
  const seen = new Set<string>()
  return names.flatMap((name, at) => {
    if (seen.has(name)) return mistakeAt(`${path}[${at}].${member}`, "DUPLICATE", `"${name}" is used already`)
    seen.add(name)
    return []
  })
}

/** The mistake of an optional name that is not one of `known`. `what`: what it names. */
export const referenceMistakes = (
  path: string,
  name: string | undefined,
  known: ReadonlySet<string>,
  what: string
): Mistakes =>
  name === undefined || known.has(name) ? [] : mistakeAt(path, "UNKNOWN_NAME", `there is no ${what} "${name}"`)
