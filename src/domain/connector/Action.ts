/** One call that a connector offers: arguments → request, answer → result. Contract: connector definition. */
import { Schema } from "effect"
import { Json, JsonObject } from "./PlainJson.js"
import { Condition } from "./Condition.js"

const text = Schema.String
const maybe = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.optionalWith(schema, { exact: true })
const members = Schema.optionalWith(Schema.Union(text, Schema.Record({ key: text, value: Json })), {
  default: () => ({})
})

export const ActionMethod = Schema.Literal(
  "GET",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "HEAD",
  "OPTIONS",
  // Of the transport smtp.
  "SEND",
  "VERIFY"
)

/** How a list or an object becomes query parameters or form members. */
export const ListStyle = Schema.Literal("repeat", "comma", "space", "pipe", "brackets", "indexed", "json")
export type ListStyle = typeof ListStyle.Type

/**
 * Templates over `args.*`, `connection.config.*` and `idempotencyKey`. A value never leaves its place: in a path it is
 * one segment (with `pathValues: "segments"` several, none of them a dot segment), in a query one value.
 * Members whose template yields null are left out of query and headers; so are they of a body, unless `keepNulls`.
 */
export const ActionRequest = Schema.Struct({
  method: ActionMethod,
  path: text,
  pathValues: Schema.optionalWith(Schema.Literal("segment", "segments"), { default: () => "segment" as const }),
  /** An object of templates, or one template that yields an object. */
  query: members,
  /** How lists in the query are written, where `queryStyles` does not say otherwise. */
  queryStyle: Schema.optionalWith(ListStyle, { default: () => "repeat" as const }),
  queryStyles: Schema.optionalWith(Schema.Record({ key: text, value: ListStyle }), { default: () => ({}) }),
  headers: members,
  body: Schema.optionalWith(Json, { default: () => null }),
  bodyType: Schema.optionalWith(Schema.Literal("json", "form", "multipart", "text", "base64"), {
    default: () => "json" as const
  }),
  /** The content type, where it is not the usual one of `bodyType`. */
  contentType: maybe(text),
  formStyle: Schema.optionalWith(ListStyle, { default: () => "brackets" as const }),
  keepNulls: Schema.optionalWith(Schema.Boolean, { default: () => false })
})
export type ActionRequest = typeof ActionRequest.Type

export const ActionResponse = Schema.Struct({
  /** A path into the body, or an object of templates over `body`, `status`, `headers` and `args`. Absent: the whole body. */
  map: maybe(Schema.Union(text, JsonObject)),
  /** `auto` goes by the content type; `json` refuses everything else but an empty body. */
  type: Schema.optionalWith(Schema.Literal("json", "text", "base64", "auto"), { default: () => "json" as const }),
  /** Over the body: a success status that is an error nevertheless. */
  errorWhen: maybe(Condition),
  errorMessage: maybe(text),
  errorCode: maybe(text),
  /** Values of the code that mean that the credential is refused, that a later try may succeed, or that none will. */
  authCodes: Schema.optionalWith(Schema.Array(text), { default: () => [] }),
  transientCodes: Schema.optionalWith(Schema.Array(text), { default: () => [] }),
  finalCodes: Schema.optionalWith(Schema.Array(text), { default: () => [] })
})
export type ActionResponse = typeof ActionResponse.Type

export const Pagination = Schema.Struct({
  /**
   * `cursor`: `next` is the next page's cursor. `link`: `next` is the next page's URL, or the Link header's `rel=next`.
   * `offset`, `page`: counted on until a page is empty, short of `size` items, or `hasMore` is false.
   */
  type: Schema.Literal("cursor", "link", "offset", "page"),
  /** A path into the body, negative places allowed: `$.data[-1].id`. */
  next: maybe(text),
  /** The response header that tells the next page, instead of `next`. */
  nextHeader: maybe(text),
  /** The argument that carries it on. A link without `param` is followed as it is, on the same origin only. */
  param: maybe(text),
  /** With `link` and `param`: the query parameter of the link that is the argument's value; default `param`. */
  linkParam: maybe(text),
  items: maybe(text),
  hasMore: maybe(text),
  /** The number of all items, or with `page` of all pages. */
  total: maybe(text),
  totalPages: maybe(text),
  /** The argument that holds the size of a page, and the size where it is absent. */
  sizeParam: maybe(text),
  size: maybe(Schema.Int.pipe(Schema.positive())),
  /** The first page or offset; default 1 and 0. */
  first: maybe(Schema.NonNegativeInt)
})
export type Pagination = typeof Pagination.Type

export const Mock = Schema.Struct({ name: text, input: maybe(Json), output: Json })

export const ActionDefinition = Schema.Struct({
  name: text,
  version: Schema.optionalWith(Schema.Int.pipe(Schema.positive()), { default: () => 1 }),
  title: maybe(text),
  description: maybe(text),
  /** Absent: what GET and HEAD are. */
  readOnly: maybe(Schema.Boolean),
  request: ActionRequest,
  response: Schema.optionalWith(ActionResponse, { default: () => ActionResponse.make({}) }),
  pagination: maybe(Pagination),
  /** Where the provider takes an idempotency key: a header or a query parameter. A longer key is cut to `maxLength`. */
  idempotency: maybe(
    Schema.Struct({ header: maybe(text), query: maybe(text), maxLength: maybe(Schema.Int.pipe(Schema.positive())) })
  ),
  inputSchema: Schema.optionalWith(JsonObject, { default: () => ({ type: "object" }) }),
  outputSchema: Schema.optionalWith(JsonObject, { default: () => ({}) }),
  timeoutMs: Schema.optionalWith(Schema.Int.pipe(Schema.between(100, 600_000)), { default: () => 30_000 }),
  mocks: Schema.optionalWith(Schema.Array(Mock), { default: () => [] })
})
export type ActionDefinition = typeof ActionDefinition.Type
