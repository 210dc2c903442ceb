/**
 * Imports an OpenAPI document (3.0, 3.1, Swagger 2) as a connector definition: every operation becomes an action with
 * schemas. Pure, and linear in the document since shared schemas stay shared.
 */
import { Either } from "effect"
import { isObject, type Json, type JsonObject } from "../../Json.js"
import { slugOf } from "../../Slug.js"
import {
  type OpenApiDocument,
  readDocument,
  type ImportWarning,
  listAt,
  objectAt,
  textAt,
  UniqueNames,
  versionOf
} from "./OpenApiDocument.js"
import { importOperation, actionName } from "./Operation.js"
import { makeSchemaConversion } from "./SchemaConversion.js"
import { importAuth } from "./Security.js"
import { makeOwnServers, importServer } from "./Servers.js"

/** Overrides of the document. */
export interface OpenApiOptions {
  readonly slug?: string
  readonly name?: string
  readonly kind?: string
  /** The URL of the document, against which its relative URLs are resolved. */
  readonly location?: string
}

/** The outcome of an import. */
export interface ImportedConnector {
  /** The definition as in a file, not yet validated. */
  readonly definition: JsonObject
  readonly warnings: ReadonlyArray<ImportWarning>
}

/** Imports a document. Left: why it is not an OpenAPI document. */
export const importOpenApi = (value: Json, options: OpenApiOptions): Either.Either<ImportedConnector, string> => {
  const document = readDocument(value)
  if (typeof document === "string") return Either.left(document)
  const conversion = makeSchemaConversion(document)
  const server = importServer(document, options.location)
  // Before the operations, whose warnings can be many.
  const auth = importAuth(document, server.origin)
  const own = makeOwnServers(document, server, options.location)
  const actions = operationsOf(document).map(({ operation, item, ...place }) =>
    importOperation(document, conversion, operation, { ...place, base: own.baseOf(item, operation, place) })
  )
  if (actions.length === 0) return Either.left("has no operations")
  const info = objectAt(document.root, "info")
  const name = options.name ?? textAt(info, "title")?.trim().slice(0, 200) ?? "API"
  const description = textAt(info, "description")?.trim().slice(0, 2_000)
  const connectionConfig = own.configWith(server.connectionConfig)
  const definition = {
    svcConnector: 1,
    slug: options.slug ?? (/[a-z0-9]/i.test(name) ? slugOf(name) : "connector"),
    name,
    ...(description === undefined ? {} : { description }),
    kind: options.kind ?? "custom",
    version: versionOf(info["version"]),
    baseUrl: server.baseUrl,
    ...(connectionConfig === undefined ? {} : { connectionConfig }),
    ...(server.origin === undefined ? {} : { domain: new URL(server.origin).hostname }),
    auth,
    actions,
    schemas: conversion.shared()
  }
  return Either.right({ definition, warnings: document.warnings() })
}

const methods = ["get", "put", "post", "delete", "options", "head", "patch"] as const

interface FoundOperation {
  readonly operation: JsonObject
  readonly item: JsonObject
  readonly method: string
  readonly path: string
  readonly name: string
  readonly shared: ReadonlyArray<Json>
}

const operationsOf = (document: OpenApiDocument): ReadonlyArray<FoundOperation> => {
  const usedNames = new UniqueNames()
  return Object.entries(objectAt(document.root, "paths")).flatMap(([path, value]) => {
    const item = document.part(value)
    return methods.flatMap((method) => {
      const operation = item[method]
      if (!isObject(operation)) return []
      return [
        {
          operation,
          item,
          method: method.toUpperCase(),
          path,
          name: actionName(operation, method, path, usedNames),
          shared: listAt(item, "parameters")
        }
      ]
    })
  })
}
