/** A connector and the OpenAPI document of its provider, which agree, and how they are compared. */
import { Either } from "effect"
import { compareDefinition, type DefinitionComparison } from "../../src/domain/connector/check/DefinitionComparison.js"
import { readProviderDocument } from "../../src/domain/connector/check/ProviderDocument.js"
import { type ConnectorManifest, decodeManifest } from "../../src/domain/connector/Definition.js"
import type { Json, JsonObject } from "../../src/domain/Json.js"

export const text = { type: "string" }
const personSchema: JsonObject = {
  type: "object",
  required: ["id", "name"],
  properties: {
    id: { type: "integer", readOnly: true },
    name: text,
    kind: { type: "string", enum: ["lead", "customer"] },
    boss: { $ref: "#/components/schemas/Person" },
    mails: { type: "array", items: { type: "object", properties: { address: text } } }
  }
}
export const content = (schema: JsonObject): JsonObject => ({ content: { "application/json": { schema } } })
const person = { $ref: "#/components/schemas/Person" }

export const openApi: JsonObject = {
  openapi: "3.0.3",
  info: { title: "People", version: "7" },
  servers: [{ url: "https://{site}.people.example/api/{version}", variables: { version: { default: "v1" } } }],
  paths: {
    "/people": {
      parameters: [{ name: "x-account", in: "header", required: true, schema: text }],
      get: {
        parameters: [
          { name: "limit", in: "query", schema: { type: "integer" } },
          { name: "since", in: "query", required: true, schema: text }
        ],
        responses: {
          200: content({
            allOf: [
              { type: "object", properties: { next: text } },
              { type: "object", properties: { people: { type: "array", items: person } } }
            ]
          })
        }
      },
      post: { requestBody: { required: true, ...content(person) }, responses: { 201: content(person) } }
    },
    "/people/{id}": { get: { responses: { 200: content(person) } }, delete: { responses: { 204: {} } } },
    "/people/me": { get: { responses: { 200: content({ type: "object", properties: { login: text } }) } } }
  },
  components: { schemas: { Person: personSchema } }
}

const account = { headers: { "X-Account": "{{connection.config.account}}" } }
export const actions: ConnectorManifest["actions"] = [
  {
    name: "listPeople",
    request: {
      method: "GET",
      path: "/people",
      query: { limit: "{{args.limit}}", since: "{{args.since}}" },
      ...account
    },
    pagination: { type: "cursor", items: "$.people", next: "$.next", param: "after" },
    inputSchema: { type: "object", properties: { limit: {}, since: {} }, required: ["since"] },
    outputSchema: { type: "object", properties: { people: { type: "array", items: { type: "object" } } } }
  },
  {
    name: "getPerson",
    request: { method: "GET", path: "/people/{{args.id}}" },
    inputSchema: { type: "object", properties: { id: text }, required: ["id"] }
  },
  {
    name: "createPerson",
    request: {
      method: "POST",
      path: "/people",
      body: { name: "{{args.name}}", kind: "{{args.kind}}", mails: "{{args.mails}}" },
      ...account
    },
    inputSchema: {
      type: "object",
      properties: {
        name: text,
        kind: { type: "string", enum: ["lead"] },
        mails: { type: "array", items: { type: "object", properties: { address: text } } }
      },
      required: ["name"]
    }
  }
]
export const entity: NonNullable<ConnectorManifest["entities"]>[number] = {
  name: "person",
  unified: "crm/contact",
  read: "listPeople",
  get: "getPerson",
  create: "createPerson",
  unifiedFields: [
    { from: "id", to: "id" },
    { from: "name", to: "lastName" },
    { from: "boss.id", to: "ownerId" },
    { from: "mails[*].address", to: "emailAddresses[*].emailAddress" }
  ],
  unifiedFieldsOut: [
    { from: "lastName", to: "name" },
    { from: "emailAddresses[*].emailAddress", to: "mails[*].address" }
  ]
}

const manifest: ConnectorManifest = {
  svcConnector: 1,
  slug: "people",
  name: "People",
  kind: "crm",
  version: "1.0.0",
  baseUrl: "https://{{connection.config.site}}.people.example/api/v1",
  auth: [],
  actions,
  entities: [entity]
}

export const compare = (document: Json, changes: Partial<ConnectorManifest> = {}): DefinitionComparison =>
  compareDefinition(decodeManifest({ ...manifest, ...changes }), [Either.getOrThrow(readProviderDocument(document))])

/** `action (entity) at CODE`, of all differences. */
export const found = (comparison: DefinitionComparison): ReadonlyArray<string> =>
  comparison.differences.map(({ action, at, code, entity }) =>
    [...new Set([action, ...(entity === undefined ? [] : [`(${entity})`]), at, code])].join(" ")
  )

/** The definition with one action changed. */
export const withAction = (name: string, change: (action: JsonObject) => object): Partial<ConnectorManifest> => ({
  actions: actions.map((one) => (one.name === name ? { ...one, ...change(one as unknown as JsonObject) } : one))
})
export const withRequest = (name: string, change: object): Partial<ConnectorManifest> => ({
  actions: actions.map((one) => (one.name === name ? { ...one, request: { ...one.request, ...change } } : one))
})

/** A document with 20,000 operations, and schemas that fan out. */
export const largeOpenApi: JsonObject = (() => {
  const paths = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, at) => [
      `/p${at}/{a}/{b}/{c}`,
      { get: { responses: { 200: content({ $ref: "#/components/schemas/s0" }) } } }
    ])
  )
  const schemas = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, at) => [
      `s${at}`,
      {
        allOf: Array.from({ length: 20 }, (_, next) => ({ $ref: `#/components/schemas/s${(at * 7 + next) % 2_000}` }))
      }
    ])
  )
  return {
    ...openApi,
    paths: { ...(openApi["paths"] as JsonObject), ...paths },
    components: { schemas: { ...schemas, Person: { $ref: "#/components/schemas/s1" } } }
  }
})()
