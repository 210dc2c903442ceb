/** One call that a connector offers: arguments → request, answer → result. Contract: connector definition. */
import { Schema } from "effect"
import { Condition } from "./Condition.js"
import { filled, list, maybe, needed, part } from "./Members.js"
import { Json, JsonObject } from "../Json.js"
import { connectedCall } from "../Limits.js"

const text = Schema.String
const members = filled(
  Schema.Union(text, Schema.Record({ key: text, value: Json })),
  () => ({}),
  "An object of templates, or one template that yields an object. Members whose template yields null are left out."
)

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
 */
export const ActionRequest = Schema.Struct({
  method: ActionMethod,
  path: needed(
    text,
    "Begins with / below the base URL, or with https:// and a host in plain text. A template over `args.*` and `connection.config.*`."
  ),
  pathValues: filled(
    Schema.Literal("segment", "segments"),
    () => "segment" as const,
    "Whether a value in the path is one segment, its slashes encoded, or may be several."
  ),
  query: members,
  queryStyle: filled(
    ListStyle,
    () => "repeat" as const,
    "How lists in the query are written, where `queryStyles` does not say otherwise."
  ),
  queryStyles: filled(Schema.Record({ key: text, value: ListStyle }), () => ({}), "By the parameter's name."),
  headers: members,
  body: filled(Json, () => null, "Every text in it is a template. null: no body."),
  bodyType: filled(Schema.Literal("json", "form", "multipart", "text", "base64"), () => "json" as const),
  contentType: maybe(text, "The content type, where it is not the usual one of `bodyType`."),
  formStyle: filled(ListStyle, () => "brackets" as const, "How lists and objects in a form are written."),
  keepNulls: filled(
    Schema.Boolean,
    () => false,
    "Whether a member of the body whose template yields null is sent as null instead of left out."
  )
}).annotations({ identifier: "ActionRequest" })
export type ActionRequest = typeof ActionRequest.Type

export const ActionResponse = Schema.Struct({
  map: maybe(
    Schema.Union(text, JsonObject),
    "A path into the body, or an object of templates over `body`, `status` and `headers`. Absent: the whole body."
  ),
  type: filled(
    Schema.Literal("json", "text", "base64", "auto"),
    () => "json" as const,
    "`auto` goes by the content type; `json` refuses everything else but an empty body."
  ),
  errorWhen: maybe(Condition, "Over the body: a success status that is an error nevertheless."),
  errorMessage: maybe(text, "A path into the body. Absent or empty: the usual places are searched."),
  errorCode: maybe(text, "A path into the body. Absent: the usual places are searched."),
  authCodes: list(text, "Values of the code that mean that the credential is refused."),
  transientCodes: list(text, "Values of the code that mean that a later try may succeed."),
  finalCodes: list(text, "Values of the code that mean that no later try will do better.")
}).annotations({ identifier: "ActionResponse" })
export type ActionResponse = typeof ActionResponse.Type

export const Pagination = Schema.Struct({
  type: needed(
    Schema.Literal("cursor", "link", "offset", "page"),
    "`cursor`: `next` is the next page's cursor. `link`: `next` is the next page's URL, or the Link header's rel=next. `offset`, `page`: counted on until a page is empty, short of `size` items, or `hasMore` is false."
  ),
  next: maybe(text, "A path into the body, negative places allowed: `$.data[-1].id`."),
  nextHeader: maybe(text, "The response header that tells the next page, instead of `next`."),
  param: maybe(
    text,
    "The argument that carries it on. A link without `param` is followed as it is, on the same origin only."
  ),
  linkParam: maybe(
    text,
    "With `link` and `param`: the query parameter of the link that is the argument's value; default `param`."
  ),
  items: maybe(
    text,
    "Where a page has its items: a path into the body for `offset` and `page`, into the result for `.pages` and `.all`. Absent: the result is the list."
  ),
  hasMore: maybe(text, "A path into the body: false ends the list."),
  total: maybe(text, "A path to the number of all items."),
  totalPages: maybe(text, "A path to the number of all pages."),
  sizeParam: maybe(text, "The argument that holds the size of a page."),
  size: maybe(Schema.Int.pipe(Schema.positive()), "The size of a page where `sizeParam` is absent."),
  first: maybe(Schema.NonNegativeInt, "The first page or offset; default 1 and 0.")
}).annotations({ identifier: "Pagination" })
export type Pagination = typeof Pagination.Type

export const Mock = Schema.Struct({
  name: text,
  input: maybe(Json, "Only for calls whose arguments have these members with these values. Absent: for all others."),
  output: needed(Json, "The result of the call.")
}).annotations({ identifier: "Mock" })

export const ActionDefinition = Schema.Struct({
  name: needed(text, "A letter and up to 127 letters, digits and _. Code calls it by this name."),
  version: filled(
    Schema.Int.pipe(Schema.positive()),
    () => 1,
    "Counted on by publishing where the action has changed. Workflows stay with the version they were published with."
  ),
  title: maybe(text),
  description: maybe(text),
  readOnly: maybe(Schema.Boolean, "Whether it changes nothing. Absent: what GET, HEAD and OPTIONS are."),
  request: ActionRequest,
  response: part(ActionResponse, () => ActionResponse.make({})),
  pagination: maybe(Pagination),
  idempotency: maybe(
    Schema.Struct({
      header: maybe(text),
      query: maybe(text),
      maxLength: maybe(Schema.Int.pipe(Schema.positive()), "A longer key is cut to so many characters.")
    }),
    "Where the provider takes an idempotency key: a header or a query parameter. A call is then repeated without harm."
  ),
  inputSchema: filled(JsonObject, () => ({ type: "object" }), "JSON Schema of the arguments."),
  outputSchema: filled(JsonObject, () => ({}), "JSON Schema of the result."),
  timeoutMs: filled(Schema.Int.pipe(Schema.between(100, connectedCall.longestMillis)), () => 30_000),
  mocks: list(Mock, "Results for runs that call nobody.")
}).annotations({ identifier: "ActionDefinition" })
export type ActionDefinition = typeof ActionDefinition.Type
