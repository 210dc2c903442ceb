/** One call that a connector offers: arguments → request, answer → result. Contract: connector definition. */
import { Schema } from "effect"
import { Condition } from "./Condition.js"
import { withDefault, optionalList, optional, required, partWithDefault } from "./Members.js"
import { Json, JsonObject } from "../Json.js"

const text = Schema.String
const members = withDefault(
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
  path: required(
    text,
    "Begins with / below the base URL, or with https:// and a host in plain text. A template over `args.*` and `connection.config.*`."
  ),
  pathValues: withDefault(
    Schema.Literal("segment", "segments"),
    () => "segment" as const,
    "Whether a value in the path is one segment, its slashes encoded, or may be several."
  ),
  query: members,
  queryStyle: withDefault(
    ListStyle,
    () => "repeat" as const,
    "How lists in the query are written, where `queryStyles` does not say otherwise."
  ),
  queryStyles: withDefault(Schema.Record({ key: text, value: ListStyle }), () => ({}), "By the parameter's name."),
  headers: members,
  body: withDefault(Json, () => null, "Every text in it is a template. null: no body."),
  bodyType: withDefault(Schema.Literal("json", "form", "multipart", "text", "base64"), () => "json" as const),
  contentType: optional(text, "The content type, where it is not the usual one of `bodyType`."),
  formStyle: withDefault(ListStyle, () => "brackets" as const, "How lists and objects in a form are written."),
  keepNulls: withDefault(
    Schema.Boolean,
    () => false,
    "Whether a member of the body whose template yields null is sent as null instead of left out."
  )
}).annotations({ identifier: "ActionRequest" })
export type ActionRequest = typeof ActionRequest.Type

export const ActionResponse = Schema.Struct({
  map: optional(
    Schema.Union(text, JsonObject),
    "A path into the body, or an object of templates over `body`, `status` and `headers`. Absent: the whole body."
  ),
  type: withDefault(
    Schema.Literal("json", "text", "base64", "auto"),
    () => "json" as const,
    "`auto` goes by the content type; `json` refuses everything else but an empty body."
  ),
  errorWhen: optional(Condition, "Over the body: a success status that is an error nevertheless."),
  errorMessage: optional(text, "A path into the body. Absent or empty: the usual places are searched."),
  errorCode: optional(text, "A path into the body. Absent: the usual places are searched."),
  authCodes: optionalList(text, "Values of the code that mean that the credential is refused."),
  transientCodes: optionalList(text, "Values of the code that mean that a later try may succeed."),
  finalCodes: optionalList(text, "Values of the code that mean that no later try will do better.")
}).annotations({ identifier: "ActionResponse" })
export type ActionResponse = typeof ActionResponse.Type

export const Pagination = Schema.Struct({
  type: required(
    Schema.Literal("cursor", "link", "offset", "page"),
    "`cursor`: `next` is the next page's cursor. `link`: `next` is the next page's URL, or the Link header's rel=next. `offset`, `page`: counted on until a page is empty, short of `size` items, or `hasMore` is false."
  ),
  next: optional(text, "A path into the body, negative places allowed: `$.data[-1].id`."),
  nextHeader: optional(text, "The response header that tells the next page, instead of `next`."),
  param: optional(
    text,
    "The argument that carries it on. A link without `param` is followed as it is, on the same origin only."
  ),
  linkParam: optional(
    text,
    "With `link` and `param`: the query parameter of the link that is the argument's value; default `param`."
  ),
  items: optional(
    text,
    "Where a page has its items: a path into the body for `offset` and `page`, into the result for `.pages` and `.all`. Absent: the result is the list."
  ),
  hasMore: optional(text, "A path into the body: false ends the list."),
  total: optional(text, "A path to the number of all items."),
  totalPages: optional(text, "A path to the number of all pages."),
  sizeParam: optional(text, "The argument that holds the size of a page."),
  size: optional(Schema.Int.pipe(Schema.positive()), "The size of a page where `sizeParam` is absent."),
  first: optional(Schema.NonNegativeInt, "The first page or offset; default 1 and 0.")
}).annotations({ identifier: "Pagination" })
export type Pagination = typeof Pagination.Type

export const Mock = Schema.Struct({
  name: text,
  input: optional(Json, "Only for calls whose arguments have these members with these values. Absent: for all others."),
  output: required(Json, "The result of the call.")
}).annotations({ identifier: "Mock" })

export const ActionDefinition = Schema.Struct({
  name: required(text, "A letter and up to 127 letters, digits and _. Code calls it by this name."),
  version: withDefault(
    Schema.Int.pipe(Schema.positive()),
    () => 1,
    "Counted on by publishing where the action has changed. Workflows stay with the version they were published with."
  ),
  title: optional(text),
  description: optional(text),
  readOnly: optional(Schema.Boolean, "Whether it changes nothing. Absent: what GET, HEAD and OPTIONS are."),
  request: ActionRequest,
  response: partWithDefault(ActionResponse, () => ActionResponse.make({})),
  pagination: optional(Pagination),
  idempotency: optional(
    Schema.Struct({
      header: optional(text),
      query: optional(text),
      maxLength: optional(Schema.Int.pipe(Schema.positive()), "A longer key is cut to so many characters.")
    }),
    "Where the provider takes an idempotency key: a header or a query parameter. A call is then repeated without harm."
  ),
  inputSchema: withDefault(JsonObject, () => ({ type: "object" }), "JSON Schema of the arguments."),
  outputSchema: withDefault(JsonObject, () => ({}), "JSON Schema of the result."),
  timeoutMs: withDefault(Schema.Int.pipe(Schema.between(100, 600_000)), () => 30_000),
  mocks: optionalList(Mock, "Results for runs that call nobody.")
}).annotations({ identifier: "ActionDefinition" })
export type ActionDefinition = typeof ActionDefinition.Type
