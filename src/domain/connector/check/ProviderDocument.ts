/** Reads a provider's own description of its API: an OpenAPI 3 or Swagger 2 document, or a Google discovery document. */
import { Either } from "effect"
import { isList, isObject, type Json, type JsonObject } from "../../Json.js"
import { successAnswer } from "../import/Operation.js"
import { listAt, objectAt, type OpenApiDocument, readDocument, textAt } from "../import/OpenApiDocument.js"
import { isDiscoveryDocument, readDiscovery } from "./DiscoveryDocument.js"
import type { ProviderDocument, PublishedOperation, DocumentedParameter } from "./PublishedOperation.js"

/** The document of a value. Left: why it is none, as the predicate of a sentence. */
export const readProviderDocument = (value: Json): Either.Either<ProviderDocument, string> => {
  if (isObject(value) && isDiscoveryDocument(value)) return Either.right(readDiscovery(value))
  const document = readDocument(value)
  if (typeof document === "string") return Either.left(`${document}, nor a Google discovery document`)
  const info = objectAt(document.root, "info")
  const operations = operationsOf(document)
  return operations.length === 0
    ? Either.left("has no operations")
    : Either.right({
        title: textAt(info, "title") ?? "without a title",
        version: textAt(info, "version") ?? "without a version",
        operations,
        resolve: (schema) => document.part(schema)
      })
}

const methods = ["get", "put", "post", "delete", "options", "head", "patch"]

const operationsOf = (document: OpenApiDocument): ReadonlyArray<PublishedOperation> =>
  Object.entries(objectAt(document.root, "paths")).flatMap(([path, value]) => {
    const item = document.part(value)
    return methods.flatMap((method) => {
      const operation = item[method]
      return isObject(operation) ? [readOperation(document, item, operation, method, path)] : []
    })
  })

const readOperation = (
  document: OpenApiDocument,
  item: JsonObject,
  operation: JsonObject,
  method: string,
  path: string
): PublishedOperation => {
  const given = [...listAt(item, "parameters"), ...listAt(operation, "parameters")].map((one) => document.part(one))
  const [plain = ""] = path.split(/[?#]/)
  return {
    method: method.toUpperCase(),
    path: `${basePathOf(document, item, operation)}${plain.startsWith("/") ? plain : `/${plain}`}`,
    parameters: given.filter((one) => !["body", "formData"].includes(String(one["in"]))).map(readParameter),
    ...bodyOf(document, operation, given),
    answer: successAnswer(document, operation).schema
  }
}

const readParameter = (one: JsonObject): DocumentedParameter => ({
  name: textAt(one, "name") ?? "",
  in: textAt(one, "in") ?? "",
  isRequired: one["required"] === true,
  schema: one["schema"] ?? one
})

/** The path of the first server that applies, with the defaults of its variables. */
const basePathOf = ({ generation, root }: OpenApiDocument, item: JsonObject, operation: JsonObject): string => {
  if (generation === 2) return withoutSlash(textAt(root, "basePath") ?? "")
  const [server] = [operation, item, root].map((one) => listAt(one, "servers")).find((one) => one.length > 0) ?? []
  if (server === undefined || !isObject(server)) return ""
  const variables = objectAt(server, "variables")
  const url = (textAt(server, "url") ?? "").replace(
    /\{([^{}]*)\}/g,
    (_, name: string) => textAt(objectAt(variables, name), "default") ?? "default"
  )
  return withoutSlash(url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, "").replace(/[?#].*$/, ""))
}

/** With a slash at its beginning and none at its end. */
const withoutSlash = (path: string): string => {
  const parts = path.split("/").filter((part) => part !== "")
  return parts.map((part) => `/${part}`).join("")
}

const bodyOf = (
  document: OpenApiDocument,
  operation: JsonObject,
  parameters: ReadonlyArray<JsonObject>
): Pick<PublishedOperation, "bodies" | "isBodyRequired"> => {
  if (document.generation === 3) {
    const body = document.part(operation["requestBody"])
    const content = Object.entries(objectAt(body, "content"))
    return {
      bodies: content.map(([type, media]) => ({ type, schema: isObject(media) ? media["schema"] : undefined })),
      isBodyRequired: body["required"] === true
    }
  }
  const types = [...listAt(operation, "consumes"), ...listAt(document.root, "consumes")].map(String)
  const body = parameters.find((one) => one["in"] === "body")
  if (body !== undefined)
    return {
      bodies: (types.length === 0 ? ["application/json"] : types).map((type) => ({ type, schema: body["schema"] })),
      isBodyRequired: body["required"] === true
    }
  const form = parameters.filter((one) => one["in"] === "formData")
  if (form.length === 0) return { bodies: [], isBodyRequired: false }
  const schema = {
    type: "object",
    properties: Object.fromEntries(form.map((one) => [textAt(one, "name") ?? "", one])),
    required: form.flatMap((one) => (one["required"] === true ? [textAt(one, "name") ?? ""] : []))
  }
  const formTypes = types.length === 0 ? ["application/x-www-form-urlencoded"] : types
  return {
    bodies: formTypes.map((type) => ({ type, schema })),
    isBodyRequired: isList(schema.required) && schema.required.length > 0
  }
}
