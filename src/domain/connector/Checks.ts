/** What every part of a definition is checked for: paths, templates, conditions, names. Each answers all mistakes it finds. */
import { Either } from "effect"
import type { Detail } from "../Failure.js"
import type { Json } from "../Json.js"
import type { Condition } from "./Condition.js"
import { parsePath, type Path } from "./Path.js"
import { patternMistake } from "./Pattern.js"
import { parseTemplate, templatePaths } from "./Template.js"

export type Mistakes = ReadonlyArray<Detail>

export const mistakeAt = (path: string, code: string, message: string): Mistakes => [{ path, code, message }]

/** `unless(fine, …)`: the mistake where it is not fine. */
export const mistakeUnless = (fine: boolean, path: string, code: string, message: string): Mistakes =>
  fine ? [] : mistakeAt(path, code, message)

/** The member of a part, in the path of a mistake. */
export const memberPath = (path: string, name: string): string =>
  path === "" ? name : /^[\w-]+$/.test(name) ? `${path}.${name}` : `${path}["${name}"]`

/** Mistakes in the parts of a list. */
export const mistakesInEach = <A>(
  path: string,
  list: ReadonlyArray<A>,
  check: (one: A, path: string) => Mistakes
): Mistakes => list.flatMap((one, at) => check(one, `${path}[${at}]`))

/** A data path, where there is one. */
export const pathMistakes = (path: string, text: string | undefined): Mistakes =>
  text === undefined
    ? []
    : Either.match(parsePath(text), {
        onLeft: (why) => mistakeAt(path, "INVALID_PATH", `"${text}" ${why}`),
        onRight: () => []
      })

/** What a template may begin with; answers what is wrong with a path, or nothing. */
export type RootCheck = (path: Path) => string | undefined

/** A template, where there is one. */
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

/** Every string in a value as a template. */
export const templatesIn = (path: string, value: Json | undefined, roots: RootCheck): Mistakes => {
  if (typeof value === "string") return templateMistakes(path, value, roots)
  if (typeof value !== "object" || value === null) return []
  return isList(value)
    ? mistakesInEach(path, value, (one, at) => templatesIn(at, one, roots))
    : Object.entries(value).flatMap(([name, child]) => templatesIn(memberPath(path, name), child, roots))
}

export const conditionMistakes = (path: string, condition: Condition | undefined): Mistakes => {
  if (condition === undefined) return []
  if ("all" in condition) return mistakesInEach(`${path}.all`, condition.all, (one, at) => conditionMistakes(at, one))
  if ("any" in condition) return mistakesInEach(`${path}.any`, condition.any, (one, at) => conditionMistakes(at, one))
  if ("not" in condition) return conditionMistakes(`${path}.not`, condition.not)
  const { op, value } = condition
  const why = op !== "matches" ? undefined : typeof value === "string" ? patternMistake(value) : "must be a text"
  return [
    ...pathMistakes(`${path}.path`, condition.path),
    ...(why === undefined ? [] : mistakeAt(`${path}.value`, "INVALID_PATTERN", why)),
    ...mistakeUnless(
      (op !== "in" && op !== "nin") || Array.isArray(value),
      `${path}.value`,
      "INVALID_TYPE",
      "must be a list"
    ),
    ...mistakeUnless(op === "exists" || value !== undefined, `${path}.value`, "REQUIRED", "is required")
  ]
}

/** Names that occur more than once. */
export const duplicateMistakes = (path: string, member: string, names: ReadonlyArray<string>): Mistakes => {
  const before = new Set<string>()
  return names.flatMap((name, at) => {
    if (before.has(name)) return mistakeAt(`${path}[${at}].${member}`, "DUPLICATE", `"${name}" is there already`)
    before.add(name)
    return []
  })
}

/** A name that must be one of those. */
export const referenceMistakes = (
  path: string,
  name: string | undefined,
  known: ReadonlySet<string>,
  what: string
): Mistakes =>
  name === undefined || known.has(name) ? [] : mistakeAt(path, "UNKNOWN_NAME", `there is no ${what} "${name}"`)

const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)
