/** What expressions refer to, for the order of a flow's steps and for its validation. */
import { Either } from "effect"
import type { Detail } from "../Failure.js"
import type { Json } from "../Json.js"
import { type Mistakes, mistakeAt } from "./Checks.js"
import type { Condition } from "./Condition.js"
import { isReference } from "./FlowCondition.js"
import { parsePath } from "./Parsing.js"
import type { Path } from "./Path.js"
import { scanTemplate, templatePaths, textsIn } from "./Template.js"

/** A path that an expression reads, and the place of the expression in what was checked. */
export interface Reference {
  readonly at: string
  readonly path: Path
}

/** The references of expressions, and the mistakes in those that cannot be read. */
export interface References {
  readonly references: ReadonlyArray<Reference>
  readonly mistakes: Mistakes
}

/** The references of a value in which every string is a template, at any depth. `at`: the value's place. */
export const templateReferences = (value: Json, at: string): References => {
  // Two lists that grow: a text may hold thousands of references, and each copy of a list costs as much again.
  const references: Array<Reference> = []
  const mistakes: Array<Detail> = []
  for (const [place, text] of textsIn(value, at)) {
    const parsed = scanTemplate(text)
    if ("mistake" in parsed) mistakes.push(...mistakeAt(place, "INVALID_TEMPLATE", parsed.mistake))
    else for (const path of templatePaths(parsed.value)) references.push({ at: place, path })
  }
  return { references, mistakes }
}

/** The reference of a path in text. */
export const pathReference = (text: string, at: string): References =>
  Either.match(parsePath(text), {
    onLeft: (why): References => ({ references: [], mistakes: mistakeAt(at, "INVALID_PATH", `"${text}" ${why}`) }),
    onRight: (path): References => ({ references: [{ at, path }], mistakes: [] })
  })

/** The paths that a flow's condition compares, and the references that are its values. */
export const conditionReferences = (condition: Condition, at: string): References => {
  const each = (name: string, conditions: ReadonlyArray<Condition>) =>
    joinReferences(conditions.map((one, index) => conditionReferences(one, `${at}.${name}[${index}]`)))
  if ("all" in condition) return each("all", condition.all)
  if ("any" in condition) return each("any", condition.any)
  if ("not" in condition) return conditionReferences(condition.not, `${at}.not`)
  const path = pathReference(condition.path, `${at}.path`)
  const { op, value } = condition
  return isReference(op, value) ? joinReferences([path, templateReferences(value, `${at}.value`)]) : path
}

/** The references of several expressions. */
export const joinReferences = (all: ReadonlyArray<References>): References => ({
  references: all.flatMap(({ references }) => references),
  mistakes: all.flatMap(({ mistakes }) => mistakes)
})
