/** Builds requests to Cin7 Core. */
import type { JsonObject } from "../../Json.js"
import { args, type ActionManifest, fromArgs, list, type ListOptions, record, upTo } from "../SchemaShorthands.js"

/** An error is `[{ErrorCode, Exception}]`, sometimes with a success status. */
export const cin7Response: NonNullable<ActionManifest["response"]> = {
  errorWhen: { path: "$[0].ErrorCode", op: "exists", value: true },
  errorMessage: "$[0].Exception",
  errorCode: "$[0].ErrorCode",
  // Cin7 answers 403 to a wrong account id or key.
  authCodes: ["401", "403"]
}

export const defineCin7List = (one: ListOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  request: {
    method: "GET",
    path: one.path,
    query: {
      page: "{{args.page ?? 1}}",
      limit: "{{args.limit ?? 100}}",
      ...fromArgs(...Object.keys(one.filters))
    }
  },
  response: cin7Response,
  pagination: { type: "page", param: "page", sizeParam: "limit", size: 100, items: `$.${one.items}`, total: "$.Total" },
  inputSchema: args({ ...one.filters, page: { type: "integer", minimum: 1 }, limit: upTo(1_000) }),
  outputSchema: record({ Total: { type: "integer" }, [one.items]: list(one.item) }, one.items),
  mocks: [{ name: "one", output: { Total: 1, Page: 1, [one.items]: [one.mock] } }]
})

interface ReadOptions {
  readonly name: string
  readonly title: string
  readonly path: string
  /** The query parameter with the record's id. */
  readonly key: string
  readonly filters?: JsonObject
  /** The record's path in the answer; absent: the whole answer. */
  readonly map?: string
  readonly item: JsonObject
  readonly mock: JsonObject
}

export const defineCin7Read = (one: ReadOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  request: { method: "GET", path: one.path, query: fromArgs(one.key, ...Object.keys(one.filters ?? {})) },
  response: one.map === undefined ? cin7Response : { ...cin7Response, map: one.map },
  inputSchema: args({ [one.key]: { type: "string", format: "uuid" }, ...one.filters }, one.key),
  outputSchema: one.item,
  mocks: [{ name: "one", output: one.mock }]
})

interface WriteOptions {
  readonly name: string
  readonly title: string
  readonly method?: "POST" | "PUT"
  readonly path: string
  readonly writable: JsonObject
  readonly required: ReadonlyArray<string>
  readonly map?: string
  readonly item: JsonObject
  readonly mock: JsonObject
}

/** An update needs the whole record, since Cin7 has no partial updates. */
export const defineCin7Write = (one: WriteOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  request: { method: one.method ?? "POST", path: one.path, body: "{{args}}" },
  response: one.map === undefined ? cin7Response : { ...cin7Response, map: one.map },
  inputSchema: record(one.writable, ...one.required),
  outputSchema: one.item,
  mocks: [{ name: "one", output: one.mock }]
})
