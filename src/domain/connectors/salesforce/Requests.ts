/**
 * Builds the actions on an object of Salesforce. Lists are queries in SOQL; a creation answers the new record's id, a change
 * nothing.
 */
import type { JsonObject } from "../../Json.js"
import {
  type ActionManifest,
  args,
  flag,
  integer,
  list,
  record,
  text,
  time,
  withDescription
} from "../SchemaShorthands.js"

export const salesforceResponse: NonNullable<ActionManifest["response"]> = {
  errorMessage: "$[0].message",
  errorCode: "$[0].errorCode",
  authCodes: ["INVALID_SESSION_ID"],
  transientCodes: ["REQUEST_LIMIT_EXCEEDED", "SERVER_UNAVAILABLE", "UNABLE_TO_LOCK_ROW"]
}

export interface SalesforceObject {
  /** The object: `Contact`. */
  readonly name: string
  readonly plural: string
  readonly nameWithArticle: string
  /** The types of fields whose values are no texts. */
  readonly fields: JsonObject
  /** A further condition of the list, as a template. */
  readonly condition?: string
  /** Arguments of the condition. */
  readonly filters?: JsonObject
  readonly mock: JsonObject
}

/** The schema of a record. */
export const salesforceRecord: JsonObject = record({ attributes: record({ type: text, url: text }), Id: text }, "Id")

export const queryAnswer: JsonObject = record(
  { totalSize: integer, done: flag, nextRecordsUrl: text, records: list(record()) },
  "totalSize",
  "done",
  "records"
)

/** Records of a page; Salesforce may answer fewer. */
const batchSize: JsonObject = { type: "integer", minimum: 200, maximum: 2_000 }
/** Before the first record of Salesforce. */
const earliest = "1999-01-01T00:00:00Z"

const fieldNames = withDescription("Names of fields, with commas; absent: all standard fields", text)

/** A list by a query. `q`: the query as a template. */
export const defineQuery = (
  action: Pick<ActionManifest, "description" | "mocks" | "name" | "title">,
  q: string,
  properties: JsonObject,
  ...required: ReadonlyArray<string>
): ActionManifest => ({
  ...action,
  request: {
    method: "GET",
    path: "/query",
    query: { q },
    ...(q.includes("'{{") ? { queryTexts: ["q"] } : {}),
    headers: { "Sforce-Query-Options": "batchSize={{args.batchSize ?? 2000}}" }
  },
  response: salesforceResponse,
  pagination: { type: "link", items: "$.records", next: "$.nextRecordsUrl" },
  inputSchema: args({ ...properties, batchSize }, ...required),
  outputSchema: queryAnswer
})

export const pageOf = (mock: JsonObject) => [{ name: "one", output: { totalSize: 1, done: true, records: [mock] } }]

export const defineSalesforceList = (object: SalesforceObject): ActionManifest =>
  defineQuery(
    {
      name: `list${object.plural}`,
      title: `List ${object.plural.toLowerCase()}`,
      description: "Times are included.",
      mocks: pageOf(object.mock)
    },
    [
      `SELECT {{args.fields ?? "FIELDS(STANDARD)"}} FROM ${object.name}`,
      `WHERE SystemModstamp >= {{args.modifiedAfter ?? "${earliest}"}}`,
      `AND CreatedDate >= {{args.createdAfter ?? "${earliest}"}}`,
      ...(object.condition === undefined ? [] : [`AND ${object.condition}`]),
      "ORDER BY Id"
    ].join(" "),
    { fields: fieldNames, modifiedAfter: time, createdAfter: time, ...object.filters }
  )

export const defineSalesforceGet = ({ mock, name, nameWithArticle }: SalesforceObject): ActionManifest => ({
  name: `get${name}`,
  title: `Get ${nameWithArticle}`,
  request: { method: "GET", path: `/sobjects/${name}/{{args.id}}`, query: { fields: "{{args.fields}}" } },
  response: salesforceResponse,
  inputSchema: args({ id: text, fields: withDescription("Names of fields, with commas; absent: all", text) }, "id"),
  outputSchema: salesforceRecord,
  mocks: [{ name: "one", output: mock }]
})

export const defineSalesforceCreate = (object: SalesforceObject): ActionManifest => ({
  name: `create${object.name}`,
  title: `Create ${object.nameWithArticle}`,
  request: {
    method: "POST",
    path: `/sobjects/${object.name}`,
    headers: { "Sforce-Duplicate-Rule-Header": "allowSave={{args.allowDuplicates ?? false}}" },
    body: "{{args.fields}}"
  },
  response: salesforceResponse,
  inputSchema: args(
    {
      fields: record(object.fields),
      allowDuplicates: withDescription("Whether to save a record of which the account's rules only warn", flag)
    },
    "fields"
  ),
  outputSchema: record({ id: text, success: flag, errors: list(record()) }, "id", "success"),
  mocks: [{ name: "created", output: { id: String(object.mock["Id"]), success: true, errors: [] } }]
})

export const defineSalesforceUpdate = (object: SalesforceObject): ActionManifest => ({
  name: `update${object.name}`,
  title: `Change ${object.nameWithArticle}`,
  description: "Null clears a field. Salesforce answers nothing.",
  request: { method: "PATCH", path: `/sobjects/${object.name}/{{args.id}}`, body: "{{args.fields}}" },
  response: salesforceResponse,
  inputSchema: args({ id: text, fields: record(object.fields) }, "id", "fields"),
  outputSchema: { type: "null" },
  mocks: [{ name: "changed", output: null }]
})

export const defineSalesforceDelete = ({ name, nameWithArticle }: SalesforceObject): ActionManifest => ({
  name: `delete${name}`,
  title: `Delete ${nameWithArticle}`,
  description: "Into the recycle bin, for 15 days.",
  request: { method: "DELETE", path: `/sobjects/${name}/{{args.id}}` },
  response: salesforceResponse,
  inputSchema: args({ id: text }, "id"),
  outputSchema: { type: "null" },
  mocks: [{ name: "deleted", output: null }]
})

export const defineSalesforceObject = (object: SalesforceObject): ReadonlyArray<ActionManifest> => [
  defineSalesforceList(object),
  defineSalesforceGet(object),
  defineSalesforceCreate(object),
  defineSalesforceUpdate(object),
  defineSalesforceDelete(object)
]
