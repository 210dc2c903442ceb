/**
 * Builds the published documents: one OpenAPI 3.1 document for each surface, their union, and the JSON schemas of a
 * connector's definition and of a flow. Contract: versioning policy.
 */
import * as Surfaces from "./operations/Surfaces.js"
import { HttpApi, OpenApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { fileSchema } from "../domain/connector/FileSchema.js"
import { flowSchema } from "../domain/flow/FlowSchema.js"
import { isList, isObject, type Json, type JsonObject } from "../domain/Json.js"
import type { DocumentName } from "./DocumentPaths.js"
import { completeDocument } from "./documents/Operations.js"
import { receiverPaths, receiverTag } from "./documents/Receiver.js"
import { webhooks } from "./documents/Webhooks.js"
import { ManagementFailures } from "./ErrorSchemas.js"
import type { Contract, AnySchema } from "./operation/Contract.js"
import { TenantFailures } from "./tenant/ErrorSchemas.js"
import { isTenantPath } from "./tenant/Rules.js"
import type { Schema } from "effect"

/**
 * The library's builders without the schemas that they collect in their types: a table of all operations cannot have these,
 * and each row's types were checked where it was declared. This is the one place that leaves them out.
 */
interface EndpointBuilder {
  readonly setPath: (schema: AnySchema) => EndpointBuilder
  readonly setUrlParams: (schema: AnySchema) => EndpointBuilder
  readonly setPayload: (schema: AnySchema) => EndpointBuilder
  readonly addSuccess: (schema: AnySchema) => EndpointBuilder
  readonly addError: (schema: Schema.Schema.All) => EndpointBuilder
}
interface GroupBuilder {
  readonly add: (endpoint: EndpointBuilder) => GroupBuilder
}
interface ApiBuilder {
  readonly addError: (schema: Schema.Schema.All) => ApiBuilder
  readonly add: (group: GroupBuilder) => ApiBuilder
}

const endpointOf = ({ failures, input, method, name, outputs, path }: Contract): EndpointBuilder => {
  let endpoint = HttpApiEndpoint.make(method)(name, path as `/${string}`) as unknown as EndpointBuilder
  if (input.path !== undefined) endpoint = endpoint.setPath(input.path)
  if (input.query !== undefined) endpoint = endpoint.setUrlParams(input.query)
  if (input.body !== undefined) endpoint = endpoint.setPayload(input.body)
  for (const { schema } of outputs) endpoint = endpoint.addSuccess(schema)
  return failures === undefined ? endpoint : endpoint.addError(failures)
}

/** The typed `HttpApi` of a surface's operations. `failures`: those of every operation that declares no others. */
export const surfaceApi = (id: string, contracts: ReadonlyArray<Contract>, failures?: Schema.Schema.All) => {
  const groups = new Map<string, GroupBuilder>()
  for (const contract of contracts) {
    const group = groups.get(contract.group) ?? (HttpApiGroup.make(contract.group) as unknown as GroupBuilder)
    groups.set(contract.group, group.add(endpointOf(contract)))
  }
  let api = HttpApi.make(id) as unknown as ApiBuilder
  if (failures !== undefined) api = api.addError(failures)
  for (const group of groups.values()) api = api.add(group)
  return api as unknown as HttpApi.HttpApi<string, HttpApiGroup.HttpApiGroup.Any>
}

const version = "1"

const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})

const list = (value: Json | undefined): ReadonlyArray<Json> => (value !== undefined && isList(value) ? value : [])

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

/** Whether a path of a document is one of surface B alone. */
const isOfTenants = (path: string): boolean => isTenantPath(path) || path === "/api/v1/{flow_name}"

/** Only surface B takes a workspace in a header. */
const securitySchemesOf = (paths: ReadonlyArray<string>, isForTenants: typeof isOfTenants) =>
  paths.some(isForTenants) ? { ...keySchemes, ...spaceScheme } : keySchemes

const security = [{ bearer: [] }, { apiKey: [] }]

/** Surface B leaves the header `authorization` to flows, so its key is sent in `x-svc-api-key`. */
const applyTenantSecurity = (operation: Json): Json =>
  isObject(operation) ? { ...operation, security: [{ apiKey: [], space: [] }] } : operation

const applySurfaceSecurity = (path: string, item: Json, isForTenants: typeof isOfTenants): Json =>
  isForTenants(path) && isObject(item)
    ? Object.fromEntries(Object.entries(item).map(([method, operation]) => [method, applyTenantSecurity(operation)]))
    : item

/** Schemas of the library's own error body, which the service never answers: the pipeline translates decode errors. */
const libraryOnly = new Set(["HttpApiDecodeError", "Issue", "PropertyKey"])
const libraryRef = "#/components/schemas/HttpApiDecodeError"

/** Removes the library's own error from unions and components. */
const removeLibraryErrors = (value: Json, member = ""): Json => {
  if (Array.isArray(value)) return value.map((item) => removeLibraryErrors(item))
  if (!isObject(value)) return value
  if (Array.isArray(value["anyOf"]) && value["anyOf"].some((one) => isObject(one) && one["$ref"] === libraryRef)) {
    const [only, ...others] = value["anyOf"].filter((one) => !(isObject(one) && one["$ref"] === libraryRef))
    return others.length === 0 && only !== undefined ? only : { anyOf: [only ?? {}, ...others] }
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => member !== "schemas" || !libraryOnly.has(name))
      .map(([name, child]) => [name, removeLibraryErrors(child, name)])
  )
}

/** Paths are relative to the server that serves the document. */
const servers = [{ url: "/", description: "The server of this document." }]
/** A service is run by who installed it. */
const contact = { name: "The operator of this server" }
const license = { name: "Apache-2.0", identifier: "Apache-2.0" }

/** Completes the library's document and adds the security schemes of its surface. */
const transformDocument =
  (description: string, operations: ReadonlyArray<Contract>, isForTenants = isOfTenants) =>
  (spec: Record<string, unknown>) => {
    // A document is plain JSON.
    const cleaned = removeLibraryErrors(JSON.parse(JSON.stringify(spec)))
    const { components, info, paths = {}, ...rest } = completeDocument(isObject(cleaned) ? cleaned : {}, operations)
    return {
      ...rest,
      info: { ...members(info), description, license, contact },
      servers,
      paths: Object.fromEntries(
        Object.entries(members(paths)).map(([path, item]) => [path, applySurfaceSecurity(path, item, isForTenants)])
      ),
      security,
      components: {
        ...members(components),
        securitySchemes: securitySchemesOf(Object.keys(members(paths)), isForTenants)
      }
    }
  }

const withReceiver = ({ paths, tags, ...document }: JsonObject): JsonObject => ({
  ...document,
  tags: [...list(tags), receiverTag],
  paths: { ...members(paths), ...receiverPaths }
})

const surfaceA = HttpApi.make("svc-a")
  .addHttpApi(surfaceApi("execution", Surfaces.surfaceAStart))
  .addHttpApi(surfaceApi("unified", Surfaces.surfaceA))
  .annotate(OpenApi.Title, "svc, surface A: run-time")
  .annotate(OpenApi.Version, version)
  .annotate(
    OpenApi.Transform,
    transformDocument("Starts workflows and calls providers.", [...Surfaces.surfaceAStart, ...Surfaces.surfaceA])
  )

const operationsOfB = [...Surfaces.surfaceBStart, ...Surfaces.surfaceB, ...Surfaces.sharedOperations]

const surfaceB = HttpApi.make("svc-b")
  .addHttpApi(surfaceApi("tenant", operationsOfB, TenantFailures))
  .annotate(OpenApi.Title, "svc, surface B: tenants")
  .annotate(OpenApi.Version, version)
  .annotate(OpenApi.Transform, (spec: Record<string, unknown>) =>
    withReceiver(
      transformDocument(
        "Flows by their names, the tenants of an organisation, as low-code tools speak to them, and the receiver of webhooks.",
        operationsOfB,
        () => true
      )(spec)
    )
  )

const surfaceC = HttpApi.make("svc-c")
  .addHttpApi(surfaceApi("resource", Surfaces.surfaceC, ManagementFailures))
  .addHttpApi(surfaceApi("run", Surfaces.surfaceCStart))
  .annotate(OpenApi.Title, "svc, surface C: management")
  .annotate(OpenApi.Version, version)
  .annotate(OpenApi.Transform, (spec: Record<string, unknown>) => ({
    ...transformDocument("Everything that svc manages.", [...Surfaces.surfaceC, ...Surfaces.surfaceCStart])(spec),
    webhooks
  }))

/** What embed sessions may call, as they do. Its examples are those of callers with a key, and so are left out. */
const operationsOfSessions: ReadonlyArray<Contract> = [...Surfaces.surfaceCStart, ...Surfaces.surfaceC].flatMap(
  ({ example: _example, ...one }) =>
    one.sessions === undefined
      ? []
      : [
          {
            ...one,
            ...one.sessions.words,
            input: { ...one.input, ...one.sessions.input },
            outputs: one.sessions.outputs,
            // The headers by which keys say for whom they act are not for sessions.
            form: { ...one.form, tenancy: "reach" as const }
          }
        ]
)

const embedScheme = {
  embed: { type: "http", scheme: "bearer", description: "Authorization: Bearer emb_…: the token of an embed session" }
}

const embed = HttpApi.make("svc-embed")
  .addHttpApi(surfaceApi("embedded", operationsOfSessions, ManagementFailures))
  .annotate(OpenApi.Title, "svc, embed sessions")
  .annotate(OpenApi.Version, version)
  .annotate(OpenApi.Transform, (spec: Record<string, unknown>) => {
    const { components, ...document } = transformDocument(
      "What a page may call with an embed token, and what it is answered: all else is closed to it.",
      operationsOfSessions
    )(spec)
    return { ...document, security: [{ embed: [] }], components: { ...components, securitySchemes: embedScheme } }
  })

/**
 * Unites the documents of the surfaces. The library's own union of APIs would list the errors of every surface at the
 * endpoints of all surfaces.
 */
const uniteDocuments = (spec: Record<string, unknown>) => {
  const documents = [makers.a(), makers.b(), makers.c()].map((built) => {
    // A document is plain JSON.
    const document: Json = JSON.parse(JSON.stringify(built))
    return members(document)
  })
  const merge = (member: (document: { readonly [name: string]: Json }) => Json | undefined) =>
    Object.assign({}, ...documents.map((document) => members(member(document))))
  const components = (kind: string) => merge((document) => members(document["components"])[kind])
  return {
    ...spec,
    info: { ...members(documents[0]?.["info"]), title: "svc", description: "Everything that svc offers over HTTP." },
    servers,
    security,
    tags: [...new Map(documents.flatMap(({ tags }) => list(tags)).map((tag) => [members(tag)["name"], tag])).values()],
    paths: merge(({ paths }) => paths),
    webhooks: merge(({ webhooks }) => webhooks),
    components: {
      schemas: components("schemas"),
      parameters: components("parameters"),
      headers: components("headers"),
      responses: components("responses"),
      securitySchemes: { ...keySchemes, ...spaceScheme }
    }
  }
}

/** The API whose document is the union of all surfaces. */
export const SvcApi = HttpApi.make("svc")
  .annotate(OpenApi.Title, "svc")
  .annotate(OpenApi.Version, version)
  .annotate(OpenApi.Transform, uniteDocuments)

const makers: { readonly [name in DocumentName]: () => unknown } = {
  a: () => OpenApi.fromApi(surfaceA),
  b: () => OpenApi.fromApi(surfaceB),
  c: () => OpenApi.fromApi(surfaceC),
  all: () => OpenApi.fromApi(SvcApi),
  embed: () => OpenApi.fromApi(embed),
  connector: fileSchema,
  flow: flowSchema
}

/** The document as indented JSON text with a final newline. */
export const documentText = (name: DocumentName): string => `${JSON.stringify(makers[name](), null, 2)}\n`
