/** Builds requests to ShipStation. */
import type { JsonObject } from "../../Json.js"
import {
  type ActionManifest,
  args,
  fromArgs,
  integer,
  list,
  type ListOptions,
  oneOf,
  record,
  text,
  upTo
} from "../SchemaShorthands.js"

const response = { errorMessage: "$.Message" } as const

export const defineShipStationList = (one: ListOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  request: {
    method: "GET",
    path: one.path,
    query: {
      page: "{{args.page ?? 1}}",
      pageSize: "{{args.pageSize ?? 500}}",
      ...fromArgs(...Object.keys(one.filters), "sortBy", "sortDir")
    }
  },
  response,
  pagination: {
    type: "page",
    param: "page",
    sizeParam: "pageSize",
    size: 500,
    items: `$.${one.items}`,
    totalPages: "$.pages"
  },
  inputSchema: args({
    ...one.filters,
    sortBy: text,
    sortDir: oneOf("ASC", "DESC"),
    page: { type: "integer", minimum: 1 },
    pageSize: upTo(500)
  }),
  outputSchema: record({ [one.items]: list(one.item), total: integer, page: integer, pages: integer }, one.items),
  mocks: [{ name: "one", output: { [one.items]: [one.mock], total: 1, page: 1, pages: 1 } }]
})

interface ReadOptions {
  readonly name: string
  readonly title: string
  readonly path: string
  readonly query?: JsonObject
  readonly needs?: JsonObject
  readonly output: JsonObject
  readonly mock: NonNullable<ActionManifest["mocks"]>[number]["output"]
}

export const defineShipStationRead = (one: ReadOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  request: { method: "GET", path: one.path, query: fromArgs(...Object.keys(one.query ?? {})) },
  response,
  inputSchema: args({ ...one.needs, ...one.query }, ...Object.keys(one.needs ?? {})),
  outputSchema: one.output,
  mocks: [{ name: "one", output: one.mock }]
})

interface WriteOptions {
  readonly name: string
  readonly title: string
  readonly description?: string
  readonly method?: "POST" | "PUT" | "DELETE"
  readonly path: string
  readonly needs?: JsonObject
  readonly writable?: JsonObject
  /** Members that every body has, as templates. */
  readonly defaults?: Readonly<Record<string, string>>
  readonly required?: ReadonlyArray<string>
  readonly output: JsonObject
  readonly mock: NonNullable<ActionManifest["mocks"]>[number]["output"]
}

export const defineShipStationWrite = (one: WriteOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  ...(one.description === undefined ? {} : { description: one.description }),
  request: {
    method: one.method ?? "POST",
    path: one.path,
    ...(one.writable === undefined ? {} : { body: { ...fromArgs(...Object.keys(one.writable)), ...one.defaults } })
  },
  response,
  inputSchema: args({ ...one.needs, ...one.writable }, ...Object.keys(one.needs ?? {}), ...(one.required ?? [])),
  outputSchema: one.output,
  mocks: [{ name: "one", output: one.mock }]
})
