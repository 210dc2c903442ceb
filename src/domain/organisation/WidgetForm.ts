/** The JSON Schemas of which the panel makes a form: texts, numbers, choices, and one level of groups of these. */
import { type Mistakes, mistakeAt, mistakesInEach, mistakeUnless } from "../expression/Checks.js"
import { isList, isObject, type Json, type JsonObject } from "../Json.js"

/** Characters of the name of a field. */
const longestField = 200

/** Keywords that say something of any schema, and add nothing to a form but words. */
const describing = ["$comment", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"]
const ofObject = [...describing, "additionalProperties", "properties", "required", "type"]

/** The keywords of each type of field. */
const ofField: { readonly [type: string]: ReadonlyArray<string> } = {
  string: [...describing, "enum", "format", "maxLength", "minLength", "pattern", "type"],
  number: [...describing, "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf", "type"],
  integer: [...describing, "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf", "type"],
  boolean: [...describing, "type"]
}

const code = "NOT_A_FORM"

const keywordMistakes = (path: string, schema: JsonObject, known: ReadonlyArray<string>): Mistakes =>
  Object.keys(schema)
    .filter((keyword) => !known.includes(keyword))
    .flatMap((keyword) =>
      mistakeAt(`${path}.${keyword}`, code, `is not for forms: leave it out, or use one of ${known.join(", ")}`)
    )

const wordMistakes = (path: string, schema: JsonObject): Mistakes =>
  ["title", "description"].flatMap((word) =>
    mistakeUnless(["undefined", "string"].includes(typeof schema[word]), `${path}.${word}`, code, "must be a text")
  )

const isTexts = (value: Json | undefined): value is ReadonlyArray<string> =>
  isList(value) && value.every((one) => typeof one === "string")

const fieldMistakes = (path: string, field: JsonObject, type: string): Mistakes => [
  ...keywordMistakes(path, field, ofField[type] ?? []),
  ...wordMistakes(path, field),
  ...mistakeUnless(
    field["enum"] === undefined || type !== "string" || (isTexts(field["enum"]) && field["enum"].length > 0),
    `${path}.enum`,
    code,
    "must be a list of texts, of which one is chosen"
  )
]

/** The mistakes in one property. `isGrouped`: of a group, which has no groups. */
const propertyMistakes = (path: string, property: Json, isGrouped: boolean): Mistakes => {
  const type = isObject(property) ? (property["type"] ?? (isTexts(property["enum"]) ? "string" : undefined)) : undefined
  if (isObject(property) && typeof type === "string" && Object.hasOwn(ofField, type))
    return fieldMistakes(path, property, type)
  if (isObject(property) && type === "object" && !isGrouped) return groupMistakes(path, property, ofObject, true)
  const allowed = "string, number, integer, boolean or a string with enum"
  return mistakeAt(
    path,
    code,
    isGrouped
      ? `must have the type ${allowed}: a form has one level of objects`
      : `must have the type ${allowed}, or object with such properties`
  )
}

const groupMistakes = (
  path: string,
  schema: JsonObject,
  keywords: ReadonlyArray<string>,
  isGrouped: boolean
): Mistakes => {
  const { additionalProperties = false, properties = {}, required = [] } = schema
  const own = [
    ...keywordMistakes(path, schema, keywords),
    ...wordMistakes(path, schema),
    ...mistakeUnless(
      typeof additionalProperties === "boolean",
      `${path}.additionalProperties`,
      code,
      "must be true or false: a form has fields for its properties only"
    )
  ]
  if (!isObject(properties)) return [...own, ...mistakeAt(`${path}.properties`, code, "must be an object")]
  return [
    ...own,
    ...Object.entries(properties).flatMap(([name, property]) =>
      name.length > longestField
        ? mistakeAt(`${path}.properties`, code, `must have names of at most ${longestField} characters`)
        : propertyMistakes(`${path}.properties.${name}`, property, isGrouped)
    ),
    ...(isTexts(required)
      ? mistakesInEach(`${path}.required`, required, (name, at) =>
          mistakeUnless(Object.hasOwn(properties, name), at, code, "names no property: the form has no field for it")
        )
      : mistakeAt(`${path}.required`, code, "must be a list of names of properties"))
  ]
}

/** What of a schema the panel cannot make a form of. `path`: of the schema. Whether the schema is valid is checked elsewhere. */
export const formMistakes = (path: string, schema: JsonObject): Mistakes =>
  schema["type"] === "object"
    ? groupMistakes(path, schema, [...ofObject, "$schema"], false)
    : mistakeAt(`${path}.type`, code, "must be object, whose properties are the form's fields")

// --- What a person may send ---

/** The properties of a form, or of a group of it, with their schemas. */
const propertiesOf = (form: Json | undefined): JsonObject => {
  const properties = form !== undefined && isObject(form) ? form["properties"] : undefined
  return properties !== undefined && isObject(properties) ? properties : {}
}

const isGroup = (schema: Json | undefined): schema is JsonObject =>
  schema !== undefined && isObject(schema) && schema["type"] === "object"

/**
 * JSON Schema of what a person may send for a form: nothing that it has no field for, unless it says that there may be more.
 * `null`: nothing at all.
 */
export const closedForm = (form: JsonObject | null): JsonObject => ({
  additionalProperties: false,
  type: "object",
  ...form,
  properties: Object.fromEntries(
    Object.entries(propertiesOf(form)).map(([name, one]) => [name, isGroup(one) ? closedForm(one) : one])
  )
})

/** Of the values those that a form has a field for. */
export const formValues = (form: JsonObject | null, values: JsonObject): JsonObject => {
  const properties = propertiesOf(form)
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      if (!Object.hasOwn(properties, name)) return []
      const schema = properties[name]
      return [[name, isGroup(schema) && isObject(value) ? formValues(schema, value) : value]]
    })
  )
}

/** The values that were sent for a form, and those of before that it has no field for, unless it allows no others. */
export const withFormValues = (form: JsonObject | null, before: JsonObject, sent: JsonObject): JsonObject => {
  const properties = propertiesOf(form)
  const kept = Object.entries(before).filter(
    ([name]) => form?.["additionalProperties"] !== false && !Object.hasOwn(properties, name)
  )
  const merged = Object.entries(sent).map(([name, value]) => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    const earlier = Object.hasOwn(before, name) ? before[name] : undefined
    const isMerged = isGroup(schema) && isObject(value) && earlier !== undefined && isObject(earlier)
    return [name, isMerged ? withFormValues(schema, earlier, value) : value] as const
  })
  return Object.fromEntries([...kept, ...merged])
}
