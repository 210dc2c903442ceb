/** Imports the request body of an operation: its schema and encoding. */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import type { ListStyle } from "../Action.js"
import { type OpenApiDocument, listAt, objectAt, textAt } from "./OpenApiDocument.js"
import { branchesOf, collectionStyle, formStyleOf, kindsOf, type Report } from "./ParameterStyle.js"
import type { SchemaConversion } from "./SchemaConversion.js"

/** The body of an action. */
export interface ImportedBody {
  readonly schema: JsonObject
  readonly required: boolean
  /** `bodyType`, `contentType` and the styles of the request. */
  readonly form: JsonObject
}

/** The place of the operation in the document. `shared`: parameters of the path item. */
export interface BodyPlace {
  readonly method: string
  readonly path: string
  readonly shared: ReadonlyArray<Json>
}

type Convert = SchemaConversion["convert"]

/** The body of an operation; `undefined` without one. */
export const importBody = (
  document: OpenApiDocument,
  convert: Convert,
  operation: JsonObject,
  place: BodyPlace
): ImportedBody | undefined =>
  (document.generation === 3 ? openApiBody : swaggerBody)(document, convert, operation, place)

/** Makes the function that reports a member of a form. */
const reporter =
  (document: OpenApiDocument, { method, path }: BodyPlace) =>
  (name: string): Report =>
  (message) =>
    document.warn(
      `paths.${path}.${method.toLowerCase()}.requestBody.${name}`,
      `the member "${name.slice(0, 200)}" of the form ${message}.`
    )

const openApiBody = (
  document: OpenApiDocument,
  convert: Convert,
  operation: JsonObject,
  place: BodyPlace
): ImportedBody | undefined => {
  if (operation["requestBody"] === undefined) return undefined
  const body = document.part(operation["requestBody"])
  const content = objectAt(body, "content")
  const type = preferredType(Object.keys(content))
  if (type === undefined) return undefined
  const media = document.part(content[type])
  const { schema } = media
  const styles = isForm(type) ? formStyles(document, media, place) : {}
  if (type.startsWith("multipart/")) checkParts(document, media, place)
  return {
    schema: callerSchema(type, convert(schema), document.part(schema)),
    required: body["required"] === true,
    form: { ...formOf(type), ...styles }
  }
}

/** Members of one form that have a style of their own. */
const mostStyles = 256

/** The members of a form with their schemas, also those of the branches of its schema. */
const membersOf = (document: OpenApiDocument, schema: Json | undefined): ReadonlyArray<readonly [string, Json]> => {
  const members = new Map<string, Json>()
  for (const part of branchesOf(document, schema)) {
    for (const [name, member] of Object.entries(objectAt(part, "properties"))) {
      if (members.size === mostStyles) return [...members]
      if (!members.has(name)) members.set(name, member)
    }
  }
  return [...members]
}

const formStyles = (document: OpenApiDocument, media: JsonObject, place: BodyPlace): JsonObject => {
  const report = reporter(document, place)
  const encodings = objectAt(media, "encoding")
  const members = membersOf(document, media["schema"])
  if (members.length === mostStyles)
    report("*")(
      `is one of more than ${mostStyles}: the style of the first ones is imported, further lists are repeated`
    )
  return stylesOf(
    members.map(([name, schema]) => [name, formStyleOf(document, schema, objectAt(encodings, name), report(name))])
  )
}

/** The style of a form whose lists are repeated, except those of these members. */
const stylesOf = (members: ReadonlyArray<readonly [name: string, style: ListStyle | undefined]>): JsonObject => {
  const own = members.flatMap(([name, style]) => (style === undefined ? [] : [[name, style] as const]))
  return { formStyle: "repeat", ...(own.length === 0 ? {} : { formStyles: Object.fromEntries(own) }) }
}

/** Reports lists and objects that a form of several parts does not send as the document says. */
const checkParts = (document: OpenApiDocument, media: JsonObject, place: BodyPlace): void => {
  const report = reporter(document, place)
  const encodings = objectAt(media, "encoding")
  for (const [name, schema] of membersOf(document, media["schema"])) {
    const encoding = objectAt(encodings, name)
    if (encoding["style"] === undefined && encoding["explode"] !== false) continue
    const kinds = kindsOf(document, schema)
    if (kinds.has("array") || kinds.has("object"))
      report(name)("has a style that parts cannot have: a list is sent as a part for each item, an object as JSON")
  }
}

const swaggerBody = (
  document: OpenApiDocument,
  convert: Convert,
  operation: JsonObject,
  place: BodyPlace
): ImportedBody | undefined => {
  const parameters = [...place.shared, ...listAt(operation, "parameters")].map(document.part)
  const consumes = [...listAt(operation, "consumes"), ...listAt(document.root, "consumes")].map(String)
  const bodyParameter = parameters.find((one) => one["in"] === "body")
  if (bodyParameter !== undefined) {
    const type = preferredType(consumes) ?? "application/json"
    const form = type.startsWith("multipart/") || type.includes("urlencoded") ? "application/json" : type
    return {
      schema: convert(bodyParameter["schema"]),
      required: bodyParameter["required"] === true,
      form: formOf(form)
    }
  }
  const fields = parameters.filter((one) => one["in"] === "formData")
  if (fields.length === 0) return undefined
  const files = fields.some((one) => one["type"] === "file")
  const multipart = files || (consumes.some((one) => one.startsWith("multipart/")) && !consumes.some(isForm))
  const report = reporter(document, place)
  const styles = fields.map((one): readonly [string, ListStyle | undefined] => {
    const name = textAt(one, "name") ?? ""
    const style = collectionStyle(one, report(name))
    if (multipart && style !== undefined) report(name)("is a list in one part: it is sent as a part for each item")
    return [name, style]
  })
  const required = fields.filter((one) => one["required"] === true).map((one) => textAt(one, "name") ?? "")
  return {
    schema: {
      type: "object",
      properties: Object.fromEntries(
        fields.map((one) => [textAt(one, "name") ?? "", one["type"] === "file" ? fileSchema : convert(one)])
      ),
      ...(required.length === 0 ? {} : { required })
    },
    required: required.length > 0,
    form: multipart ? { bodyType: "multipart" } : { bodyType: "form", ...stylesOf(styles) }
  }
}

const isJson = (type: string) => /^(?:application|text)\/(?:[\w.+-]*\+)?json\b/i.test(type)
const isForm = (type: string) => /^application\/x-www-form-urlencoded\b/i.test(type)

const preferredType = (types: ReadonlyArray<string>): string | undefined =>
  types.find(isJson) ?? types.find(isForm) ?? types.find((type) => type.startsWith("multipart/")) ?? types[0]

const formOf = (type: string): JsonObject => {
  if (isJson(type)) return /^application\/json\b/i.test(type) ? {} : { contentType: type }
  if (isForm(type)) return { bodyType: "form" }
  if (type.startsWith("multipart/")) return { bodyType: "multipart" }
  const plain = /^[\w.+-]+\/[\w.+-]+(?:;[\x20-\x7e]*)?$/.test(type)
  const contentType = plain ? { contentType: type } : {}
  return { bodyType: /^text\/|[/+]xml\b|yaml|graphql/i.test(type) ? "text" : "base64", ...contentType }
}

/** The schema of a file in a form. */
const fileSchema: JsonObject = {
  type: "object",
  properties: {
    base64: { type: "string", description: "The file's content in base64" },
    filename: { type: "string" },
    contentType: { type: "string" }
  },
  required: ["base64"]
}

/** The schema of the argument: binary parts are files, binary bodies are base64. */
const callerSchema = (type: string, schema: JsonObject, source: JsonObject): JsonObject => {
  if (isJson(type) || isForm(type)) return schema
  if (!type.startsWith("multipart/")) {
    return formOf(type)["bodyType"] === "text"
      ? { type: "string" }
      : { type: "string", description: "The content in base64" }
  }
  const properties = objectAt(schema, "properties")
  const sources = objectAt(source, "properties")
  if (Object.keys(properties).length === 0) return schema
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, one]) => {
        const original = sources[name]
        const binary =
          isObject(original) && (original["format"] === "binary" || original["contentMediaType"] !== undefined)
        return [name, binary ? fileSchema : one]
      })
    )
  }
}
