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

/** The schemas of the properties of a form, by their names. */
const propertiesOf = (form: JsonObject | null): JsonObject => {
  const properties = form?.["properties"]
  return properties !== undefined && isObject(properties) ? properties : {}
}

/** A schema without more properties than it names, unless it says that there may be others. */
const closedObject = (schema: JsonObject): JsonObject => ({ additionalProperties: false, ...schema })

/** The form as what a person may send: nothing that it has no field for, unless it says so. `null`: nothing. */
export const closedForm = (form: JsonObject | null): JsonObject => ({
  ...closedObject({ type: "object", ...form }),
  properties: Object.fromEntries(
    Object.entries(propertiesOf(form)).map(([name, one]) => [
      name,
      isObject(one) && one["type"] === "object" ? closedObject(one) : one
    ])
  )
})

/** Of the values those that the form has a field for. */
export const formValues = (form: JsonObject | null, values: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(propertiesOf(form), name)))

/** The values that the form has no field for, and those that were sent. A form that allows no others drops the former. */
export const withFormValues = (form: JsonObject | null, before: JsonObject, sent: JsonObject): JsonObject => {
  const kept =
    form?.["additionalProperties"] === false
      ? []
      : Object.entries(before).filter(([name]) => !Object.hasOwn(propertiesOf(form), name))
  return { ...Object.fromEntries(kept), ...sent }
}
