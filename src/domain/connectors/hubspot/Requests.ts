/** Builds the actions on an object of HubSpot's CRM: its records have properties, which are texts, and associations. */
import type { JsonObject } from "../../Json.js"
import {
  type ActionManifest,
  args,
  flag,
  fromArgs,
  id,
  integer,
  list,
  oneOf,
  record,
  text,
  texts,
  time,
  upTo,
  withDescription
} from "../SchemaShorthands.js"

/** The version of the API in paths, such as `/crm/objects/2026-03/contacts`; HubSpot serves it for eighteen months. */
export const hubspotVersion = "2026-03"

export const hubspotResponse: NonNullable<ActionManifest["response"]> = {
  errorMessage: "$.message",
  errorCode: "$.category"
}

export interface HubspotObject {
  /** The name in actions: `Contact`. */
  readonly singular: string
  readonly plural: string
  /** The name in a title, with its article. */
  readonly nameWithArticle: string
  /** The name in paths: `contacts`. */
  readonly path: string
  /** Objects whose records can be associated with a new one. */
  readonly linked: ReadonlyArray<"companies" | "contacts" | "deals">
  /** The properties with the times of the creation and of the last change. */
  readonly created: "createdate" | "hs_createdate"
  readonly changed: "lastmodifieddate" | "hs_lastmodifieddate"
  readonly mock: JsonObject
}

/** Values of properties: HubSpot answers texts, and takes numbers and booleans, too. The empty text clears one. */
export const hubspotProperties: JsonObject = {
  type: "object",
  additionalProperties: { type: ["string", "number", "boolean", "null"] }
}

const associated = record({ results: list(record({ id: text, type: text }, "id")) })

const recordMembers = {
  id: text,
  properties: { type: "object" },
  createdAt: time,
  updatedAt: time,
  archived: flag,
  archivedAt: time,
  url: text
}
/** The schema of a record that was read. */
export const hubspotRecord: JsonObject = record(
  { ...recordMembers, associations: { type: "object", additionalProperties: associated } },
  "id",
  "properties"
)
/** The schema of a record that was found or written, which is without associations. */
const plainRecord: JsonObject = record(recordMembers, "id", "properties")

const links = list(
  record(
    {
      to: record({ id: text }, "id"),
      types: list(
        record(
          {
            associationCategory: oneOf("HUBSPOT_DEFINED", "USER_DEFINED", "INTEGRATOR_DEFINED"),
            associationTypeId: integer
          },
          "associationCategory",
          "associationTypeId"
        )
      )
    },
    "to",
    "types"
  )
)

const objects = (path: string) => `/crm/objects/${hubspotVersion}/${path}`
const paging = record({ next: record({ after: text, link: text }, "after") })
const mockName = "one"
const readOptions = { properties: texts, associations: texts, archived: flag }

export const defineHubspotObject = (object: HubspotObject): ReadonlyArray<ActionManifest> => [
  defineList(object),
  defineSearch(object),
  defineListChanged(object),
  defineGet(object),
  defineCreate(object),
  defineUpdate(object),
  defineDelete(object)
]

const words = ({ plural }: HubspotObject) => plural.toLowerCase()

const defineList = (object: HubspotObject): ActionManifest => ({
  name: `list${object.plural}`,
  title: `List ${words(object)}`,
  request: {
    method: "GET",
    path: objects(object.path),
    query: { limit: "{{args.limit ?? 100}}", ...fromArgs("after", ...Object.keys(readOptions)) },
    queryStyle: "comma"
  },
  response: hubspotResponse,
  pagination: { type: "cursor", items: "$.results", next: "$.paging.next.after", param: "after" },
  inputSchema: args({ limit: upTo(100), after: text, ...readOptions }),
  outputSchema: record({ results: list(hubspotRecord), paging }, "results"),
  mocks: [{ name: mockName, output: { results: [object.mock] } }]
})

const defineSearch = (object: HubspotObject): ActionManifest => ({
  name: `search${object.plural}`,
  title: `Search ${words(object)}`,
  description: "HubSpot finds at most 10,000 records by one search, and none of their associations.",
  readOnly: true,
  request: {
    method: "POST",
    path: `${objects(object.path)}/search`,
    body: { limit: "{{args.limit ?? 100}}", ...fromArgs("filterGroups", "sorts", "query", "properties", "after") }
  },
  response: hubspotResponse,
  pagination: { type: "cursor", items: "$.results", next: "$.paging.next.after", param: "after" },
  inputSchema: args({
    filterGroups: withDescription(
      "At most five groups, of which one must hold, of at most six filters, which must all hold",
      list(record({ filters: list(record({ propertyName: text, operator: text }, "propertyName", "operator")) }))
    ),
    sorts: list(record({ propertyName: text, direction: oneOf("ASCENDING", "DESCENDING") }, "propertyName")),
    query: text,
    properties: texts,
    limit: upTo(200),
    after: text
  }),
  outputSchema: record({ total: integer, results: list(plainRecord), paging }, "total", "results"),
  mocks: [{ name: mockName, output: { total: 1, results: [object.mock] } }]
})

/** The next page begins after the last id, and not at an offset, of which HubSpot takes 10,000 only. */
const defineListChanged = (object: HubspotObject): ActionManifest => ({
  name: `list${object.plural}Since`,
  title: `List ${words(object)} by the times of their creation and last change`,
  description: "In the order of their ids, without a limit. Times are Unix milliseconds, and included.",
  readOnly: true,
  request: {
    method: "POST",
    path: `${objects(object.path)}/search`,
    body: {
      filterGroups: [
        {
          filters: [
            { propertyName: "hs_object_id", operator: "GT", value: "{{args.afterId ?? '0'}}" },
            { propertyName: object.changed, operator: "GTE", value: "{{args.modifiedAfter ?? '0'}}" },
            { propertyName: object.created, operator: "GTE", value: "{{args.createdAfter ?? '0'}}" }
          ]
        }
      ],
      sorts: [{ propertyName: "hs_object_id", direction: "ASCENDING" }],
      limit: "{{args.limit ?? 200}}",
      ...fromArgs("properties")
    }
  },
  response: hubspotResponse,
  pagination: { type: "cursor", items: "$.results", next: "$.results[-1].id", param: "afterId" },
  inputSchema: args({ modifiedAfter: text, createdAfter: text, afterId: text, properties: texts, limit: upTo(200) }),
  outputSchema: record({ total: integer, results: list(plainRecord) }, "results"),
  mocks: [{ name: mockName, output: { total: 1, results: [object.mock] } }]
})

const defineGet = (object: HubspotObject): ActionManifest => ({
  name: `get${object.singular}`,
  title: `Get ${object.nameWithArticle}`,
  request: {
    method: "GET",
    path: `${objects(object.path)}/{{args.id}}`,
    query: fromArgs(...Object.keys(readOptions)),
    queryStyle: "comma"
  },
  response: hubspotResponse,
  inputSchema: args({ id, ...readOptions }, "id"),
  outputSchema: hubspotRecord,
  mocks: [{ name: mockName, output: object.mock }]
})

const defineCreate = (object: HubspotObject): ActionManifest => ({
  name: `create${object.singular}`,
  title: `Create ${object.nameWithArticle}`,
  request: {
    method: "POST",
    path: objects(object.path),
    body: {
      properties: "{{args.properties}}",
      associations: ["{{args.associations}}", ...object.linked.map((name) => `{{args.${name}}}`)]
    },
    joinLists: true
  },
  response: hubspotResponse,
  inputSchema: args(
    {
      properties: hubspotProperties,
      associations: links,
      ...Object.fromEntries(object.linked.map((name) => [name, links]))
    },
    "properties"
  ),
  outputSchema: plainRecord,
  mocks: [{ name: mockName, output: object.mock }]
})

const defineUpdate = (object: HubspotObject): ActionManifest => ({
  name: `update${object.singular}`,
  title: `Change ${object.nameWithArticle}`,
  description: "The empty text clears a property. The answer has the changed properties only.",
  request: {
    method: "PATCH",
    path: `${objects(object.path)}/{{args.id}}`,
    body: fromArgs("properties")
  },
  response: hubspotResponse,
  inputSchema: args({ id, properties: hubspotProperties }, "id", "properties"),
  outputSchema: plainRecord,
  mocks: [{ name: mockName, output: object.mock }]
})

const defineDelete = (object: HubspotObject): ActionManifest => ({
  name: `delete${object.singular}`,
  title: `Archive ${object.nameWithArticle}`,
  description: "HubSpot can restore it for 90 days.",
  request: { method: "DELETE", path: `${objects(object.path)}/{{args.id}}` },
  response: hubspotResponse,
  inputSchema: args({ id }, "id"),
  outputSchema: { type: "null" },
  mocks: [{ name: "archived", output: null }]
})
