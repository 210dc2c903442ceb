/**
 * Forms of JSON Schemas: an object of texts, numbers, choices and ticks, and one level of groups of these. Names of properties
 * are a company's, and may be those of members that each object has: only own members are read, and none is assigned.
 */
import { isObject } from "../frame/Palette.js"
import type { Texts } from "../texts/en.js"
import { enteredMistakes, entryOf, type FormField, type FormMistakes, type FormValues, sentValue } from "./Form.js"

/** An object of JSON. */
export type SchemaObject = Readonly<Record<string, unknown>>

/** A field for a property. `path`: as the API names it when it refuses its value. */
interface SchemaField extends FormField {
  readonly property: string
  readonly path: string
}

/** A property that is an object, with its fields. */
export interface FieldGroup {
  readonly property: string
  readonly path: string
  readonly title: string
  readonly description: string | null
  readonly required: boolean
  readonly fields: ReadonlyArray<SchemaField>
  /** What it has already that no field is for. */
  readonly kept: SchemaObject
}

/** The form of a schema. `path`: of its values in requests. */
export interface SchemaForm {
  readonly path: string
  readonly parts: ReadonlyArray<SchemaField | FieldGroup>
}

/** Whether a part of a form has fields of its own. */
export const isGroup = (part: SchemaField | FieldGroup): part is FieldGroup => "fields" in part

/** All fields of a form. */
export const fieldsOfForm = ({ parts }: SchemaForm): ReadonlyArray<SchemaField> =>
  parts.flatMap((part) => (isGroup(part) ? part.fields : [part]))

// --- Read ---

const own = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

const textOf = (schema: SchemaObject, keyword: string): string | null => {
  const value = own(schema, keyword)
  return typeof value === "string" && value !== "" ? value : null
}
const numberOf = (schema: SchemaObject, keyword: string): number | null => {
  const value = own(schema, keyword)
  return typeof value === "number" ? value : null
}
const textsOf = (schema: SchemaObject, keyword: string): ReadonlyArray<string> | null => {
  const value = own(schema, keyword)
  return Array.isArray(value) ? [...new Set(value.filter((one) => typeof one === "string"))] : null
}

const types = ["string", "number", "integer", "boolean"] as const

const typeOf = (schema: SchemaObject): FormField["type"] | undefined => {
  const type = own(schema, "type") ?? (textsOf(schema, "enum") === null ? undefined : "string")
  return types.find((one) => one === type)
}

/** A value as a field of the type shows it; `null` if it has another type, or is none of the choices. */
const shownText = (type: FormField["type"], options: ReadonlyArray<string> | null, value: unknown): string | null => {
  if (type === "string")
    return typeof value === "string" && (options === null || options.includes(value)) ? value : null
  if (typeof value !== (type === "boolean" ? "boolean" : "number")) return null
  return String(value)
}

interface Place {
  /** Of the group, if the property is in one. */
  readonly group: string | null
  readonly path: string
  readonly property: string
  readonly required: boolean
  readonly stored: unknown
}

const fieldOf = (schema: SchemaObject, place: Place): ReadonlyArray<SchemaField> => {
  const { group, path, property, required, stored } = place
  const type = typeOf(schema)
  if (type === undefined) return []
  const options = type === "string" ? textsOf(schema, "enum") : null
  const initial = shownText(type, options, stored) ?? shownText(type, options, own(schema, "default"))
  const isFixed = own(schema, "readOnly") === true
  // There is nothing to see yet, and nothing to enter.
  if (isFixed && initial === null) return []
  const format = textOf(schema, "format")
  return [
    {
      name: JSON.stringify(group === null ? [property] : [group, property]),
      property,
      path,
      title: textOf(schema, "title") ?? property,
      description: textOf(schema, "description"),
      secret: own(schema, "writeOnly") === true || format === "password",
      required,
      options,
      type,
      initial,
      min: numberOf(schema, "minimum"),
      max: numberOf(schema, "maximum"),
      over: numberOf(schema, "exclusiveMinimum"),
      under: numberOf(schema, "exclusiveMaximum"),
      shortest: numberOf(schema, "minLength"),
      longest: numberOf(schema, "maxLength"),
      format,
      isFixed
    }
  ]
}

/** The properties of an object with their places. */
const propertiesOf = (schema: SchemaObject, path: string, group: string | null, stored: unknown) => {
  const properties = own(schema, "properties")
  const required = textsOf(schema, "required") ?? []
  return (isObject(properties) ? Object.entries(properties) : []).flatMap(([property, one]) => {
    if (!isObject(one)) return []
    const place = { group, property, path: `${path}.${property}`, required: required.includes(property) }
    return [[one, { ...place, stored: own(stored, property) }] as const]
  })
}

const groupOf = (schema: SchemaObject, { path, property, required, stored }: Place): FieldGroup => {
  const inside = propertiesOf(schema, path, property, stored)
  const known = inside.map(([, place]) => place.property)
  const others = isObject(stored) ? Object.entries(stored).filter(([name]) => !known.includes(name)) : []
  return {
    property,
    path,
    title: textOf(schema, "title") ?? property,
    description: textOf(schema, "description"),
    required,
    fields: inside.flatMap(([one, place]) => fieldOf(one, place)),
    kept: own(schema, "additionalProperties") === true ? Object.fromEntries(others) : {}
  }
}

/** The form of a schema with what is stored. `path`: of its values in requests. */
export const schemaForm = (schema: SchemaObject | null, stored: SchemaObject, path: string): SchemaForm => ({
  path,
  parts: propertiesOf(schema ?? {}, path, null, stored).flatMap(([one, place]): SchemaForm["parts"] => {
    if (own(one, "type") !== "object") return fieldOf(one, place)
    const group = groupOf(one, place)
    return group.fields.length > 0 || group.required ? [group] : []
  })
})

/** Whether there is anything to enter. */
export const hasFields = (form: SchemaForm): boolean => fieldsOfForm(form).length > 0

// --- Sent ---

const entered = (field: FormField, values: FormValues): string => entryOf(values, field.name) ?? ""

const isTick = ({ type }: FormField) => type === "boolean"
/** Whether anything was entered. An empty checkbox does not count: the person may not have seen it. */
const isEntered = (field: FormField, values: FormValues): boolean =>
  isTick(field) ? entered(field, values) === "true" : entered(field, values).trim() !== ""

/** Whether a group is sent: it may be left empty if the schema does not require it. */
const isSent = ({ fields, required }: FieldGroup, values: FormValues): boolean =>
  required || fields.every(isTick) || fields.some((field) => isEntered(field, values))

const membersOf = (fields: ReadonlyArray<SchemaField>, values: FormValues) =>
  fields.flatMap((field) => {
    const text = entered(field, values)
    const isEmpty = text.trim() === "" && text !== field.initial && field.options?.includes(text) !== true
    const isLeftOut = text === "" && !(field.required && field.options?.includes(text) === true)
    return !isTick(field) && (isEmpty || isLeftOut) ? [] : [[field.property, sentValue(field, text)] as const]
  })

/** What is sent of a form: without what was left empty. */
export const formBody = ({ parts }: SchemaForm, values: FormValues): Record<string, unknown> =>
  Object.fromEntries(
    parts.flatMap((part): ReadonlyArray<readonly [string, unknown]> => {
      if (!isGroup(part)) return membersOf([part], values)
      if (!isSent(part, values)) return []
      const members = [...Object.entries(part.kept), ...membersOf(part.fields, values)]
      return [[part.property, Object.fromEntries(members)]]
    })
  )

// --- Wrong ---

/** What can be seen to be wrong before it is sent. */
export const formMistakes = (texts: Texts, { parts }: SchemaForm, values: FormValues): FormMistakes =>
  enteredMistakes(
    texts,
    parts.flatMap((part) => (!isGroup(part) ? [part] : isSent(part, values) ? part.fields : [])),
    values
  )

/** The field that a path of a refusal names, or is in; of a group its first one. */
const fieldAt = (form: SchemaForm, path: string): SchemaField | undefined => {
  const fields = fieldsOfForm(form)
  const exact = fields.find((field) => field.path === path)
  const group = form.parts.filter(isGroup).find((one) => one.path === path)
  return exact ?? group?.fields[0] ?? fields.find((field) => path.startsWith(`${field.path}.`))
}

/** What the API refused of the values: at its fields where it says which, and else at the top. */
export const refusedValues = (
  { wrong }: Texts,
  form: SchemaForm,
  details: ReadonlyArray<{ readonly path: string }>
): FormMistakes => {
  const fields = details.map(({ path }) => fieldAt(form, path))
  const found = fields.flatMap((field) => (field === undefined ? [] : [[field.name, wrong.other] as const]))
  const isAllFound = found.length === fields.length && found.length > 0
  return Object.fromEntries([...found, ...(isAllFound ? [] : [["form", wrong.form] as const])])
}
