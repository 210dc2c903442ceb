/**
 * The published contract: one OpenAPI 3.1 document for each surface, and their union; and the schema of a connector's
 * definition. Contract: versioning policy.
 */
import { HttpApi, OpenApi } from "@effect/platform"
import { fileSchema } from "../domain/connector/FileSchema.js"
import { isObject, type Json, type JsonObject } from "../domain/Json.js"
import { completed, type Texts } from "./documents/Operations.js"
import { resourceTexts } from "./documents/ResourceTexts.js"
import { executionTexts, runTexts } from "./documents/RunTexts.js"
import { tenantTexts } from "./documents/TenantTexts.js"
import { ExecutionApi, RunApi } from "./execution/Api.js"
import { type Route, routesOf } from "./pipeline/Routes.js"
import { ResourceApi } from "./resource/Api.js"
import { TenantApi } from "./tenant/Api.js"
import { isTenantPath } from "./tenant/Rules.js"

const version = "1"

const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})

const keySchemes = {
  bearer: { type: "http", scheme: "bearer", description: "Authorization: Bearer svk_live_…" },
  apiKey: { type: "apiKey", in: "header", name: "x-svc-api-key", description: "the same key in a header of its own" }
}

const spaceScheme = {
  space: {
    type: "apiKey",
    in: "header",
    name: "x-svc-space-id",
    description: "the key's workspace; surface B needs it"
  }
}

/** Only surface B is told a workspace. */
const schemesOf = (paths: ReadonlyArray<string>) =>
  paths.some(isTenantPath) ? { ...keySchemes, ...spaceScheme } : keySchemes

const security = [{ bearer: [] }, { apiKey: [] }]

/** Surface B leaves `authorization` to flows. */
const tenantOperation = (operation: Json): Json =>
  isObject(operation) ? { ...operation, security: [{ apiKey: [], space: [] }] } : operation

const ofItsSurface = (path: string, item: Json): Json =>
  isTenantPath(path) && isObject(item)
    ? Object.fromEntries(Object.entries(item).map(([method, operation]) => [method, tenantOperation(operation)]))
    : item

/** Schemas of a body that the service does not answer with: the gate translates what the library finds wrong. */
const libraryOnly = new Set(["HttpApiDecodeError", "Issue", "PropertyKey"])
const libraryRef = "#/components/schemas/HttpApiDecodeError"

/** The document as the service is: without the library's own error, and either scheme on every endpoint. */
const published = (value: Json, member = ""): Json => {
  if (Array.isArray(value)) return value.map((item) => published(item))
  if (!isObject(value)) return value
  if (Array.isArray(value["anyOf"]) && value["anyOf"].some((one) => isObject(one) && one["$ref"] === libraryRef)) {
    const [only, ...others] = value["anyOf"].filter((one) => !(isObject(one) && one["$ref"] === libraryRef))
    return others.length === 0 && only !== undefined ? only : { anyOf: [only ?? {}, ...others] }
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => member !== "schemas" || !libraryOnly.has(name))
      .map(([name, child]) => [name, published(child, name)])
  )
}

/** The paths are those of the server that the document comes from. */
const servers = [{ url: "/", description: "The server of this document." }]
const license = { name: "Apache-2.0", identifier: "Apache-2.0" }

/** The library's document, completed and with the schemes of its surface. */
const transformed =
  (description: string, routes: ReadonlyArray<Route>, texts: Texts) => (spec: Record<string, unknown>) => {
    // A document is plain JSON.
    const made = published(JSON.parse(JSON.stringify(spec)))
    const { components, info, paths = {}, ...rest } = completed(isObject(made) ? made : {}, routes, texts)
    return {
      ...rest,
      info: { ...members(info), description, license },
      servers,
      paths: Object.fromEntries(Object.entries(members(paths)).map(([path, item]) => [path, ofItsSurface(path, item)])),
      security,
      components: { ...members(components), securitySchemes: schemesOf(Object.keys(members(paths))) }
    }
  }

const surfaceA = HttpApi.make("svc-a")
  .addHttpApi(ExecutionApi)
  .annotate(OpenApi.Title, "svc, surface A: run-time")
  .annotate(OpenApi.Version, version)
  .annotate(
    OpenApi.Transform,
    transformed("Starts workflows and calls providers.", routesOf(ExecutionApi), executionTexts)
  )

const surfaceB = HttpApi.make("svc-b")
  .addHttpApi(TenantApi)
  .annotate(OpenApi.Title, "svc, surface B: tenants")
  .annotate(OpenApi.Version, version)
  .annotate(
    OpenApi.Transform,
    transformed("The tenants of an organisation, as low-code tools speak to them.", routesOf(TenantApi), tenantTexts)
  )

const surfaceC = HttpApi.make("svc-c")
  .addHttpApi(ResourceApi)
  .addHttpApi(RunApi)
  .annotate(OpenApi.Title, "svc, surface C: management")
  .annotate(OpenApi.Version, version)
  .annotate(
    OpenApi.Transform,
    transformed("Everything that svc manages.", [...routesOf(ResourceApi), ...routesOf(RunApi)], {
      ...resourceTexts,
      ...runTexts
    })
  )

/**
 * The documents of the surfaces as one. The library's own union of APIs would tell the errors of each surface of the
 * endpoints of all.
 */
const union = (spec: Record<string, unknown>) => {
  const documents = [makers.a(), makers.b(), makers.c()].map((made) => {
    // A document is plain JSON.
    const document: Json = JSON.parse(JSON.stringify(made))
    return members(document)
  })
  const together = (member: (document: { readonly [name: string]: Json }) => Json | undefined) =>
    Object.assign({}, ...documents.map((document) => members(member(document))))
  const components = (kind: string) => together((document) => members(document["components"])[kind])
  return {
    ...spec,
    info: { ...members(documents[0]?.["info"]), title: "svc", description: "Everything that svc offers over HTTP." },
    servers,
    security,
    tags: documents.flatMap(({ tags }) => tags ?? []),
    paths: together(({ paths }) => paths),
    components: {
      schemas: components("schemas"),
      parameters: components("parameters"),
      headers: components("headers"),
      responses: components("responses"),
      securitySchemes: { ...keySchemes, ...spaceScheme }
    }
  }
}

/** Everything that the service offers over HTTP. */
export const SvcApi = HttpApi.make("svc")
  .annotate(OpenApi.Title, "svc")
  .annotate(OpenApi.Version, version)
  .annotate(OpenApi.Transform, union)

export type DocumentName = "a" | "b" | "c" | "all" | "connector"

const makers: { readonly [name in DocumentName]: () => unknown } = {
  a: () => OpenApi.fromApi(surfaceA),
  b: () => OpenApi.fromApi(surfaceB),
  c: () => OpenApi.fromApi(surfaceC),
  all: () => OpenApi.fromApi(SvcApi),
  connector: fileSchema
}

/** A document as JSON text. */
export const documentText = (name: DocumentName): string => `${JSON.stringify(makers[name](), null, 2)}\n`

/** Where each document is served. */
export const documentPaths: { readonly [path: string]: DocumentName } = {
  "/api/v1/openapi/a.json": "a",
  "/api/v1/openapi/b.json": "b",
  "/api/v1/openapi/c.json": "c",
  "/api/v1/openapi.json": "all",
  "/api/v1/connector.schema.json": "connector"
}
