/** What a violation of a JSON Schema says: in words, without the value, which may be long or a secret. */
import type { Json } from "../../../domain/Json.js"

/** The message of a violation, by its keyword. `expected`: the keyword's value, if it was found; `name`: a member's. */
export const violationMessage = (keyword: string, expected: Json | undefined, name: string): string => {
  if (keyword === "required") return `must have the member ${name}`
  if (keyword === "dependentRequired" || keyword === "dependencies") return `must have further members beside ${name}`
  if (keyword === "propertyNames") return `the name ${name} is not allowed`
  const form = expected === undefined ? undefined : forms[keyword]
  return form === undefined ? (plainMessages[keyword] ?? "does not fit the schema") : form(expected as Json)
}

const shown = (value: Json): string => JSON.stringify(value)
const listed = (value: Json): string => (Array.isArray(value) ? value.map(shown).join(", ") : shown(value))

const typeWords: { readonly [name: string]: string } = {
  string: "a text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  object: "an object",
  array: "a list",
  null: "null"
}

const forms: { readonly [keyword: string]: (expected: Json) => string } = {
  type: (types) =>
    `must be ${[types]
      .flat()
      .map((one) => typeWords[String(one)] ?? String(one))
      .join(" or ")}`,
  const: (value) => `must be ${shown(value)}`,
  enum: (values) => `must be one of ${listed(values)}`,
  pattern: (pattern) => `must match the pattern ${String(pattern)}`,
  format: (format) => `must have the form ${String(format)}`,
  minLength: (n) => `must have at least ${shown(n)} characters`,
  maxLength: (n) => `must have at most ${shown(n)} characters`,
  minItems: (n) => `must have at least ${shown(n)} items`,
  maxItems: (n) => `must have at most ${shown(n)} items`,
  minProperties: (n) => `must have at least ${shown(n)} members`,
  maxProperties: (n) => `must have at most ${shown(n)} members`,
  minContains: (n) => `must have at least ${shown(n)} items of the expected kind`,
  maxContains: (n) => `must have at most ${shown(n)} items of that kind`,
  minimum: (n) => `must be ${shown(n)} or more`,
  maximum: (n) => `must be ${shown(n)} or less`,
  exclusiveMinimum: (n) => `must be more than ${shown(n)}`,
  exclusiveMaximum: (n) => `must be less than ${shown(n)}`,
  multipleOf: (n) => `must be a multiple of ${shown(n)}`
}

const plainMessages: { readonly [keyword: string]: string } = {
  false: "is not allowed here",
  not: "must not have this form",
  anyOf: "must have one of the allowed forms",
  oneOf: "must have exactly one of the allowed forms",
  if: "does not fit what the schema asks for in this case",
  contains: "must have an item of the expected kind",
  uniqueItems: "must not have the same item twice",
  dependentSchemas: "does not fit what the schema asks for beside another member",
  unevaluatedItems: "has an item that is not allowed",
  unevaluatedProperties: "has a member that is not allowed",
  patternProperties: "has a member that does not fit the schema for its name",
  pattern: "must match a pattern",
  enum: "must be one of the allowed values",
  type: "has the wrong type"
}
