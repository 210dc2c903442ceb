/** Reads a Google discovery document, which describes an API by resources and methods. https://developers.google.com/discovery */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import { objectAt, textAt } from "../import/OpenApiDocument.js"
import type { ProviderDocument, PublishedOperation, DocumentedParameter } from "./PublishedOperation.js"

/** Resources nested in each other that are read; Google's documents have four. */
const maxDepth = 12
const maxReferences = 32

export const isDiscoveryDocument = (value: JsonObject): boolean => value["kind"] === "discovery#restDescription"

export const readDiscovery = (root: JsonObject): ProviderDocument => {
  const schemas = objectAt(root, "schemas")
  return {
    title: textAt(root, "title") ?? textAt(root, "name") ?? "without a title",
    version: [textAt(root, "version"), textAt(root, "revision")]
      .filter((part) => part !== undefined)
      .join(", revision "),
    operations: methodsOf(root, 0).flatMap((method) => operationsOf(root, method)),
    resolve: (schema) => {
      let found = schema
      for (let hop = 0; hop < maxReferences; hop++) {
        if (!isObject(found)) return {}
        const reference = found["$ref"]
        if (typeof reference !== "string") return found
        found = Object.hasOwn(schemas, reference) ? schemas[reference] : undefined
      }
      return {}
    }
  }
}

const methodsOf = (resource: JsonObject, depth: number): ReadonlyArray<JsonObject> =>
  depth > maxDepth
    ? []
    : [
        ...Object.values(objectAt(resource, "methods")).filter(isObject),
        ...Object.values(objectAt(resource, "resources"))
          .filter(isObject)
          .flatMap((below) => methodsOf(below, depth + 1))
      ]

/** A method, and its uploads, which have paths of their own. */
const operationsOf = (root: JsonObject, method: JsonObject): ReadonlyArray<PublishedOperation> => {
  const parameters = [...parametersOf(objectAt(root, "parameters")), ...parametersOf(objectAt(method, "parameters"))]
  const request: Json | undefined = method["request"]
  const base = `/${textAt(root, "servicePath") ?? ""}`
  const plain: PublishedOperation = {
    method: textAt(method, "httpMethod") ?? "",
    path: `${base}${textAt(method, "path") ?? ""}`.replace(/\/{2,}/g, "/").replace(/\{\+/g, "{"),
    parameters,
    bodies: request === undefined ? [] : [{ type: "application/json", schema: request }],
    isBodyRequired: false,
    answer: method["response"]
  }
  const uploads = Object.values(objectAt(objectAt(method, "mediaUpload"), "protocols")).flatMap((one) => {
    const path = isObject(one) ? textAt(one, "path") : undefined
    return path === undefined ? [] : [path]
  })
  return [
    plain,
    ...uploads.map((path) => ({
      ...plain,
      path: path.replace(/\{\+/g, "{"),
      parameters: [...parameters, uploadType],
      bodies: [
        { type: "multipart/related", schema: request },
        { type: "*/*", schema: undefined }
      ]
    }))
  ]
}

const uploadType: DocumentedParameter = {
  name: "uploadType",
  in: "query",
  isRequired: true,
  schema: { type: "string" }
}

const parametersOf = (named: JsonObject): ReadonlyArray<DocumentedParameter> =>
  Object.entries(named).flatMap(([name, one]) =>
    isObject(one)
      ? [{ name, in: textAt(one, "location") ?? "", isRequired: one["required"] === true, schema: one }]
      : []
  )
