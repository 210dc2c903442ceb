/**
 * Builds the actions on a resource of Pipedrive: version 2 of its API has cursors and changes in part, version 1 offsets.
 */
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
  upTo
} from "../SchemaShorthands.js"

export const pipedriveResponse: NonNullable<ActionManifest["response"]> = {
  errorMessage: "$.error",
  errorCode: "$.code",
  errorWhen: { path: "success", op: "eq", value: false }
}

/** A result below `data`, where Pipedrive has all of them. */
export const ofData: NonNullable<ActionManifest["response"]> = { ...pipedriveResponse, map: "$.data" }

export interface PipedriveResource {
  readonly singular: string
  readonly plural: string
  readonly nameWithArticle: string
  /** `/api/v2/persons` or `/v1/leads`. */
  readonly path: string
  readonly version: 1 | 2
  readonly schema: JsonObject
  readonly filters: JsonObject
  /** Members of the body. */
  readonly writable: JsonObject
  readonly required: ReadonlyArray<string>
  /** Whether single records have fields of the account's own, which can be chosen. */
  readonly hasCustomFields: boolean
  readonly mock: JsonObject
}

const idOf = { id }

/** How a list continues, and the arguments for it. */
const pages = {
  2: {
    names: ["limit", "cursor", "sort_by", "sort_direction"],
    schema: {
      limit: upTo(500),
      cursor: text,
      sort_by: oneOf("id", "add_time", "update_time"),
      sort_direction: oneOf("asc", "desc")
    },
    pagination: { type: "cursor", items: "$.data", next: "$.additional_data.next_cursor", param: "cursor" }
  },
  1: {
    names: ["limit", "start", "sort"],
    schema: { limit: upTo(500), start: { type: "integer", minimum: 0 }, sort: text },
    pagination: {
      type: "offset",
      items: "$.data",
      param: "start",
      sizeParam: "limit",
      size: 100,
      hasMore: "$.additional_data.pagination.more_items_in_collection"
    }
  }
} as const

const listOf = (schema: JsonObject): JsonObject =>
  record({ success: flag, data: { type: ["array", "null"], items: schema }, additional_data: record() }, "data")

export const definePipedriveList = (resource: PipedriveResource): ActionManifest => {
  const { names, pagination, schema } = pages[resource.version]
  const chosen: JsonObject = resource.hasCustomFields ? { custom_fields: texts, include_fields: texts } : {}
  return {
    name: `list${resource.plural}`,
    title: `List ${resource.plural.toLowerCase()}`,
    request: {
      method: "GET",
      path: resource.path,
      query: fromArgs(...names, ...Object.keys(resource.filters), ...Object.keys(chosen)),
      queryStyle: "comma"
    },
    response: pipedriveResponse,
    pagination,
    inputSchema: args({ ...schema, ...resource.filters, ...chosen }),
    outputSchema: listOf(resource.schema),
    mocks: [{ name: "one", output: { success: true, data: [resource.mock], additional_data: {} } }]
  }
}

export const definePipedriveGet = (resource: PipedriveResource): ActionManifest => {
  const chosen: JsonObject = resource.hasCustomFields ? { custom_fields: texts, include_fields: texts } : {}
  return {
    name: `get${resource.singular}`,
    title: `Get ${resource.nameWithArticle}`,
    request: {
      method: "GET",
      path: `${resource.path}/{{args.id}}`,
      query: fromArgs(...Object.keys(chosen)),
      queryStyle: "comma"
    },
    response: ofData,
    inputSchema: args({ ...idOf, ...chosen }, "id"),
    outputSchema: resource.schema,
    mocks: [{ name: "one", output: resource.mock }]
  }
}

export const definePipedriveCreate = (resource: PipedriveResource): ActionManifest => ({
  name: `create${resource.singular}`,
  title: `Create ${resource.nameWithArticle}`,
  request: { method: "POST", path: resource.path, body: "{{args}}" },
  response: ofData,
  inputSchema: args(resource.writable, ...resource.required),
  outputSchema: resource.schema,
  mocks: [{ name: "one", output: resource.mock }]
})

export const definePipedriveUpdate = (
  resource: PipedriveResource,
  method: "PATCH" | "PUT" = "PATCH"
): ActionManifest => ({
  name: `update${resource.singular}`,
  title: `Change ${resource.nameWithArticle}`,
  description: "Only the fields that are given; null clears one.",
  request: { method, path: `${resource.path}/{{args.id}}`, body: "{{args.fields}}" },
  response: ofData,
  inputSchema: args({ ...idOf, fields: args(resource.writable) }, "id", "fields"),
  outputSchema: resource.schema,
  mocks: [{ name: "one", output: resource.mock }]
})

export const definePipedriveDelete = (resource: PipedriveResource): ActionManifest => ({
  name: `delete${resource.singular}`,
  title: `Delete ${resource.nameWithArticle}`,
  ...(resource.version === 2 ? { description: "Pipedrive removes it for good after 30 days." } : {}),
  request: { method: "DELETE", path: `${resource.path}/{{args.id}}` },
  response: ofData,
  inputSchema: args(idOf, "id"),
  outputSchema: { type: ["object", "boolean", "null"] },
  mocks: [{ name: "deleted", output: { id: 1 } }]
})

export const definePipedriveResource = (resource: PipedriveResource): ReadonlyArray<ActionManifest> => [
  definePipedriveList(resource),
  definePipedriveGet(resource),
  definePipedriveCreate(resource),
  definePipedriveUpdate(resource),
  definePipedriveDelete(resource)
]

const field = record(
  { field_name: text, field_code: text, field_type: text, is_custom_field: flag },
  "field_name",
  "field_code",
  "field_type"
)

/** The list of an object's fields, with the account's own. */
export const definePipedriveFields = (singular: string, path: string): ActionManifest => ({
  name: `list${singular}Fields`,
  title: `List the fields of a ${singular.toLowerCase()}`,
  request: { method: "GET", path, query: fromArgs("limit", "cursor") },
  response: pipedriveResponse,
  pagination: pages[2].pagination,
  inputSchema: args({ limit: upTo(500), cursor: text }),
  outputSchema: listOf(field),
  mocks: [
    {
      name: "one",
      output: {
        success: true,
        data: [{ field_name: "Name", field_code: "name", field_type: "varchar", is_custom_field: false }]
      }
    }
  ]
})

/** Filters that lists of version 2 share. */
export const changedFilters: JsonObject = {
  ids: list(integer),
  owner_id: integer,
  filter_id: integer,
  updated_since: time,
  updated_until: time
}
