/** Builds requests to Xero's Accounting API. */
import type { JsonObject } from "../../Json.js"
import { args, type ActionManifest, fromArgs, list, record, text, time, upTo } from "../SchemaShorthands.js"

export const xeroHeaders = { "Xero-Tenant-Id": "{{connection.config.tenantId}}" }
export const xeroResponse: NonNullable<ActionManifest["response"]> = {
  errorMessage: "$.Elements[0].ValidationErrors[0].Message",
  errorCode: "$.Type"
}
export const xeroIdempotency = { header: "Idempotency-Key", maxLength: 128 }

export interface XeroResource {
  /** The name of the resource: `Contact`; its list is at `Contacts`. */
  readonly name: string
  readonly plural: string
  /** The member with the record's id. */
  readonly key: string
  readonly schema: JsonObject
  readonly mock: JsonObject
  /** Members of the body; a value is a template, if it is not the argument of that name. */
  readonly writable: JsonObject
  readonly required: ReadonlyArray<string>
  readonly defaults?: Readonly<Record<string, string>>
  /** Whether the list has pages. */
  readonly paged: boolean
  readonly filters?: JsonObject
}

const answer = ({ plural, schema }: XeroResource): JsonObject => record({ [plural]: list(schema) }, plural)

/** The list as it was before its items were named, for workflows that are bound to it. */
export const defineUnpagedXeroList = (one: XeroResource): ActionManifest & { readonly version: number } => {
  const { pagination: _, ...list } = defineXeroList(one)
  return { ...list, version: 1 }
}

export const defineXeroList = (one: XeroResource): ActionManifest => ({
  name: `list${one.plural}`,
  ...(one.paged ? {} : { version: 2 }),
  title: `List ${one.plural.toLowerCase()}`,
  request: {
    method: "GET",
    path: `/${one.plural}`,
    headers: { ...xeroHeaders, "If-Modified-Since": "{{args.modifiedSince}}" },
    query: {
      ...(one.paged ? { page: "{{args.page ?? 1}}", pageSize: "{{args.pageSize ?? 100}}" } : {}),
      ...fromArgs("where", "order", ...Object.keys(one.filters ?? {}))
    },
    queryStyle: "comma"
  },
  response: xeroResponse,
  pagination: one.paged
    ? {
        type: "page",
        param: "page",
        sizeParam: "pageSize",
        size: 100,
        items: `$.${one.plural}`,
        totalPages: "$.pagination.pageCount"
      }
    : // Xero answers all at once.
      { type: "link", items: `$.${one.plural}`, next: "$.pagination.next" },
  inputSchema: args({
    where: text,
    order: text,
    modifiedSince: time,
    ...(one.paged ? { page: { type: "integer", minimum: 1 }, pageSize: upTo(1_000) } : {}),
    ...one.filters
  }),
  outputSchema: answer(one),
  mocks: [
    {
      name: "one",
      output: {
        [one.plural]: [one.mock],
        ...(one.paged ? { pagination: { page: 1, pageSize: 100, pageCount: 1, itemCount: 1 } } : {})
      }
    }
  ]
})

export const defineXeroGet = (one: XeroResource): ActionManifest => ({
  name: `get${one.name}`,
  title: `Get one of the ${one.plural.toLowerCase()}`,
  request: { method: "GET", path: `/${one.plural}/{{args.${one.key}}}`, headers: xeroHeaders },
  response: { ...xeroResponse, map: `$.${one.plural}[0]` },
  inputSchema: args({ [one.key]: text }, one.key),
  outputSchema: one.schema,
  mocks: [{ name: "one", output: one.mock }]
})

const bodyOf = (one: XeroResource): JsonObject => ({ ...fromArgs(...Object.keys(one.writable)), ...one.defaults })

export const defineXeroCreate = (one: XeroResource): ActionManifest => ({
  name: `create${one.name}`,
  title: `Create one of the ${one.plural.toLowerCase()}`,
  request: { method: "PUT", path: `/${one.plural}`, headers: xeroHeaders, body: { [one.plural]: [bodyOf(one)] } },
  response: { ...xeroResponse, map: `$.${one.plural}[0]` },
  idempotency: xeroIdempotency,
  inputSchema: args(one.writable, ...one.required),
  outputSchema: one.schema,
  mocks: [{ name: "one", output: one.mock }]
})

export const defineXeroUpdate = (one: XeroResource): ActionManifest => ({
  name: `update${one.name}`,
  title: `Change one of the ${one.plural.toLowerCase()}`,
  request: {
    method: "POST",
    path: `/${one.plural}/{{args.${one.key}}}`,
    headers: xeroHeaders,
    body: { [one.plural]: [fromArgs(one.key, ...Object.keys(one.writable))] }
  },
  response: { ...xeroResponse, map: `$.${one.plural}[0]` },
  idempotency: xeroIdempotency,
  inputSchema: args({ [one.key]: text, ...one.writable }, one.key),
  outputSchema: one.schema,
  mocks: [{ name: "one", output: one.mock }]
})
