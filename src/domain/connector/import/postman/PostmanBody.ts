/** Reads the body of a Postman request as the request body of an OpenAPI operation. Examples become schemas, not values. */
import { findUnstorable, isList, isObject, type Json, type JsonObject } from "../../../Json.js"
import { listAt, objectAt, textAt } from "../OpenApiDocument.js"
import type { Report } from "../ParameterStyle.js"
import { descriptionOf } from "./PostmanDocument.js"
import { queryNames } from "./PostmanUrl.js"
import { reference } from "./PostmanVariables.js"

/** The schema of a value that is sent as text. */
export const scalar: JsonObject = { type: ["string", "number", "boolean"] }

/** Levels of an example that its schema describes; deeper values may be any. */
const maxLevels = 24

/** The schema of an example: types and members, without its values. */
export const inferSchema = (example: Json, level = 0): JsonObject => {
  if (level === maxLevels || example === null) return {}
  if (isList(example)) return { type: "array", items: itemsSchema(example, level + 1) }
  if (!isObject(example)) return { type: typeof example }
  const members = Object.entries(example).filter(([name]) => name !== "__proto__")
  return {
    type: "object",
    properties: Object.fromEntries(members.map(([name, value]) => [name, inferSchema(value, level + 1)]))
  }
}

/** The schema of the first item, if all have its type. */
const itemsSchema = (items: ReadonlyArray<Json>, level: number): JsonObject => {
  const [first = null] = items
  const kind = kindOf(first)
  return items.every((item) => kindOf(item) === kind) ? inferSchema(first, level) : {}
}

const kindOf = (value: Json): string => (isList(value) ? "array" : value === null ? "null" : typeof value)

/** The value of a text in JSON that can be stored; `undefined` for other text. */
export const parseExample = (text: string): Json | undefined => {
  try {
    const value: Json = JSON.parse(text)
    return findUnstorable(value) === undefined ? value : undefined
  } catch {
    return undefined
  }
}

const languages: { readonly [language: string]: string } = {
  json: "application/json",
  xml: "application/xml",
  html: "text/html",
  javascript: "application/javascript",
  text: "text/plain"
}

/** The request body; `undefined` without one. `contentType`: of the request's headers. */
export const readBody = (
  request: JsonObject,
  contentType: string | undefined,
  report: Report
): JsonObject | undefined => {
  const body = objectAt(request, "body")
  const mode = textAt(body, "mode")
  if (mode === undefined || body["disabled"] === true) return undefined
  switch (mode) {
    case "raw":
      return rawBody(body, contentType, report)
    case "urlencoded":
      return formBody("application/x-www-form-urlencoded", members(listAt(body, mode), report))
    case "formdata":
      return formBody("multipart/form-data", members(listAt(body, mode), report))
    default:
      report(`has a body of the mode ${mode.slice(0, 40)}, which is left out: a call sends none. Add it to the action.`)
      return undefined
  }
}

const rawBody = (body: JsonObject, contentType: string | undefined, report: Report): JsonObject | undefined => {
  const text = textAt(body, "raw")
  if (text === undefined) return undefined
  // A variable stands for a value, or for a part of a text.
  const example = parseExample(text) ?? parseExample(text.replace(reference, "null"))
  const language = textAt(objectAt(objectAt(body, "options"), "raw"), "language") ?? ""
  const byLanguage = Object.hasOwn(languages, language) ? languages[language] : undefined
  // The editor's language is "text" unless its user changes it.
  const guessed = example === undefined ? (byLanguage ?? "text/plain") : "application/json"
  const type = contentType ?? (language === "text" || byLanguage === undefined ? guessed : byLanguage)
  if (/^multipart\//i.test(type)) {
    report("has a body in parts as plain text, which is left out: a call sends none. Add it to the action.")
    return undefined
  }
  if (/^application\/x-www-form-urlencoded\b/i.test(type))
    return formBody("application/x-www-form-urlencoded", formProperties(queryNames(text)))
  const schema = example === undefined ? {} : inferSchema(example)
  return { required: true, content: { [type]: { schema } } }
}

const formBody = (type: string, properties: JsonObject): JsonObject | undefined =>
  Object.keys(properties).length === 0
    ? undefined
    : { required: true, content: { [type]: { schema: { type: "object", properties } } } }

/** The schema of each member of a form, by its name; a name that occurs several times is a list. */
const members = (entries: ReadonlyArray<Json>, report: Report): JsonObject => {
  const found = entries.filter(isObject).flatMap((one) => {
    const name = textAt(one, "key")?.trim()
    if (name === undefined) return []
    if (!name.includes("{{")) return [{ name, description: descriptionOf(one, 1_000), isFile: one["type"] === "file" }]
    report(`has a member of its form whose name is a variable, ${name.slice(0, 100)}: it is left out.`)
    return []
  })
  return formProperties(found)
}

const formProperties = (
  entries: ReadonlyArray<{
    readonly name: string
    readonly description: string | undefined
    readonly isFile?: boolean
  }>
): JsonObject => {
  const properties = new Map<string, JsonObject>()
  for (const { description, isFile = false, name } of entries) {
    if (name === "__proto__") continue
    const one = isFile ? { type: "string", format: "binary" } : scalar
    const schema = properties.has(name) && !isFile ? { type: "array", items: scalar } : one
    properties.set(name, description === undefined ? schema : { ...schema, description })
  }
  return Object.fromEntries(properties)
}
