/** The published contract: one OpenAPI 3.1 document for each surface, and their union. Contract: versioning policy. */
import { HttpApi, OpenApi } from "@effect/platform"
import { isObject, type Json } from "../domain/Json.js"
import { ExecutionApi, RunApi } from "./execution/Api.js"
import { ResourceApi } from "./resource/Api.js"
import { TenantApi } from "./tenant/Api.js"
import { isTenantPath } from "./tenant/Manners.js"

const version = "1"

const securitySchemes = {
  bearer: { type: "http", scheme: "bearer", description: "Authorization: Bearer svk_live_…" },
  apiKey: { type: "apiKey", in: "header", name: "x-svc-api-key", description: "the same key in a header of its own" },
  space: {
    type: "apiKey",
    in: "header",
    name: "x-svc-space-id",
    description: "the key's workspace; surface B needs it"
  }
}

/** Surface B leaves `authorization` to flows, and answers 400 what the others answer 422. */
const tenantOperation = (operation: Json): Json => {
  if (!isObject(operation) || !isObject(operation["responses"])) return operation
  const { "422": _invalid, ...responses } = operation["responses"]
  return { ...operation, security: [{ apiKey: [], space: [] }], responses }
}

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
  const dropped = (name: string) =>
    member === "schemas" ? libraryOnly.has(name) : name === "security" && "responses" in value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !dropped(name))
      .map(([name, child]) => [name, name === "400" ? refusal(published(child)) : published(child, name)])
  )
}

const refusal = (response: Json): Json => (isObject(response) ? { ...response, description: "BadRequest" } : response)

const secured = (spec: Record<string, unknown>) => {
  // A document is plain JSON.
  const made = published(JSON.parse(JSON.stringify(spec)))
  const { components, paths = {}, ...rest } = isObject(made) ? made : {}
  return {
    ...rest,
    paths: Object.fromEntries(Object.entries(paths ?? {}).map(([path, item]) => [path, ofItsSurface(path, item)])),
    security: [{ bearer: [] }, { apiKey: [] }],
    components: { ...(isObject(components) ? components : {}), securitySchemes }
  }
}

const surfaceA = HttpApi.make("svc-a")
  .addHttpApi(ExecutionApi)
  .annotate(OpenApi.Title, "svc, surface A: run-time")
  .annotate(OpenApi.Version, version)
  .annotate(OpenApi.Transform, secured)

const surfaceB = HttpApi.make("svc-b")
  .addHttpApi(TenantApi)
  .annotate(OpenApi.Title, "svc, surface B: tenants")
  .annotate(OpenApi.Version, version)
  .annotate(OpenApi.Transform, secured)

const surfaceC = HttpApi.make("svc-c")
  .addHttpApi(ResourceApi)
  .addHttpApi(RunApi)
  .annotate(OpenApi.Title, "svc, surface C: management")
  .annotate(OpenApi.Version, version)
  .annotate(OpenApi.Transform, secured)

/** Everything that the service offers over HTTP. */
export const SvcApi = HttpApi.make("svc")
  .addHttpApi(ExecutionApi)
  .addHttpApi(TenantApi)
  .addHttpApi(ResourceApi)
  .addHttpApi(RunApi)
  .annotate(OpenApi.Title, "svc")
  .annotate(OpenApi.Version, version)
  .annotate(OpenApi.Transform, secured)

export type DocumentName = "a" | "b" | "c" | "all"

const apis = {
  a: () => OpenApi.fromApi(surfaceA),
  b: () => OpenApi.fromApi(surfaceB),
  c: () => OpenApi.fromApi(surfaceC),
  all: () => OpenApi.fromApi(SvcApi)
}

/** A document as JSON text. */
export const documentText = (name: DocumentName): string => `${JSON.stringify(apis[name](), null, 2)}\n`

/** Where each document is served. */
export const documentPaths: { readonly [path: string]: DocumentName } = {
  "/api/v1/openapi/a.json": "a",
  "/api/v1/openapi/b.json": "b",
  "/api/v1/openapi/c.json": "c",
  "/api/v1/openapi.json": "all"
}
