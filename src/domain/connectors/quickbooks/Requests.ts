/** Builds the actions that list, read, create, change and delete a resource of QuickBooks. */
import type { JsonObject } from "../../Json.js"
import { args, type ActionManifest, withDescription, fromArgs, list, record, text, upTo } from "../SchemaShorthands.js"

export const quickbooksVersion = { minorversion: 75 }
export const quickbooksResponse: NonNullable<ActionManifest["response"]> = {
  errorWhen: { path: "Fault", op: "exists", value: true },
  errorMessage: "$.Fault.Error[0].Detail",
  errorCode: "$.Fault.Error[0].code",
  authCodes: ["3200", "003200"],
  transientCodes: ["3001", "003001"]
}
/** QuickBooks repeats its answer to a request with the same `requestid`, of at most 50 characters. */
export const quickbooksIdempotency = { query: "requestid", maxLength: 50 }

export const reference = record({ value: text, name: text }, "value")
export const address = record({
  Line1: text,
  Line2: text,
  City: text,
  CountrySubDivisionCode: text,
  PostalCode: text,
  Country: text
})

export interface QuickbooksResource {
  /** The name in `QueryResponse` and in queries. */
  readonly name: string
  readonly plural: string
  readonly path: string
  readonly schema: JsonObject
  readonly writable: JsonObject
  readonly required: ReadonlyArray<string>
  /** Whether an update can be partial; otherwise members that are left out are cleared. */
  readonly sparse: boolean
  readonly mock: JsonObject
}

export const defineQuickbooksList = ({
  mock,
  name,
  plural,
  schema
}: Pick<QuickbooksResource, "mock" | "name" | "plural" | "schema">): ActionManifest => ({
  name: `list${plural}`,
  title: `List ${plural.toLowerCase()}`,
  request: {
    method: "GET",
    path: "/query",
    query: {
      query: `select * from ${name} {{args.filter}} startposition {{args.startPosition ?? 1}} maxresults {{args.maxResults ?? 1000}}`,
      ...quickbooksVersion
    }
  },
  response: quickbooksResponse,
  pagination: {
    type: "offset",
    param: "startPosition",
    first: 1,
    sizeParam: "maxResults",
    size: 1_000,
    items: `$.QueryResponse.${name}`
  },
  inputSchema: args({
    filter: withDescription("In QuickBooks' query language: where Active = true orderby Id", {
      type: "string",
      pattern: "^([Ww][Hh][Ee][Rr][Ee]|[Oo][Rr][Dd][Ee][Rr]\\s?[Bb][Yy]) "
    }),
    startPosition: { type: "integer", minimum: 1 },
    maxResults: upTo(1_000)
  }),
  outputSchema: record({ QueryResponse: record({ [name]: list(schema) }) }, "QueryResponse"),
  mocks: [{ name: "one", output: { QueryResponse: { [name]: [mock], startPosition: 1, maxResults: 1 } } }]
})

export const defineQuickbooksGet = ({ mock, name, path, schema }: QuickbooksResource): ActionManifest => ({
  name: `get${name}`,
  title: `Get one of the ${name.toLowerCase()}s`,
  request: { method: "GET", path: `${path}/{{args.Id}}`, query: quickbooksVersion },
  response: { ...quickbooksResponse, map: `$.${name}` },
  inputSchema: args({ Id: text }, "Id"),
  outputSchema: schema,
  mocks: [{ name: "one", output: mock }]
})

export const defineQuickbooksWrites = (resource: QuickbooksResource): ReadonlyArray<ActionManifest> => [
  defineCreate(resource),
  defineUpdate(resource)
]

const defineCreate = ({ mock, name, path, required, schema, writable }: QuickbooksResource): ActionManifest => ({
  name: `create${name}`,
  title: `Create a ${name.toLowerCase()}`,
  request: { method: "POST", path, query: quickbooksVersion, body: fromArgs(...Object.keys(writable)) },
  response: { ...quickbooksResponse, map: `$.${name}` },
  idempotency: quickbooksIdempotency,
  inputSchema: args(writable, ...required),
  outputSchema: schema,
  mocks: [{ name: "one", output: mock }]
})

const defineUpdate = ({
  mock,
  name,
  path,
  required,
  schema,
  sparse,
  writable
}: QuickbooksResource): ActionManifest => ({
  name: `update${name}`,
  title: `Change a ${name.toLowerCase()}`,
  description: sparse
    ? "What is left out stays as it is; a list of lines is replaced as a whole."
    : "Takes the whole record, as getting it answered it: what is left out is cleared.",
  request: {
    method: "POST",
    path,
    query: quickbooksVersion,
    body: sparse ? { sparse: true, ...fromArgs("Id", "SyncToken", ...Object.keys(writable)) } : "{{args}}"
  },
  response: { ...quickbooksResponse, map: `$.${name}` },
  idempotency: quickbooksIdempotency,
  inputSchema: sparse
    ? args({ Id: text, SyncToken: text, ...writable }, "Id", "SyncToken")
    : record({ Id: text, SyncToken: text, ...writable }, "Id", "SyncToken", ...required),
  outputSchema: schema,
  mocks: [{ name: "one", output: mock }]
})

export const defineQuickbooksDelete = ({ name, path }: QuickbooksResource): ActionManifest => ({
  name: `delete${name}`,
  title: `Delete a ${name.toLowerCase()}`,
  request: {
    method: "POST",
    path,
    query: { operation: "delete", ...quickbooksVersion },
    body: fromArgs("Id", "SyncToken")
  },
  response: { ...quickbooksResponse, map: `$.${name}` },
  idempotency: quickbooksIdempotency,
  inputSchema: args({ Id: text, SyncToken: text }, "Id", "SyncToken"),
  outputSchema: record({ Id: text, status: text }),
  mocks: [{ name: "deleted", output: { Id: "145", status: "Deleted", domain: "QBO" } }]
})
