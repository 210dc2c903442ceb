/** Schema of an action: how its arguments become a request, and the answer a result. Contract: connector definition. */
import { Schema } from "effect"
import { Condition } from "../expression/Condition.js"
import { withDefault, optionalList, optional, required, partWithDefault } from "./Members.js"
import { Json, JsonObject } from "../Json.js"
import { connectedCall } from "../Limits.js"

const text = Schema.String
const members = withDefault(
  Schema.Union(text, Schema.Record({ key: text, value: Json })),
  () => ({}),
  "An object of templates, or one template whose value is an object. Members with the value null are left out."
)

export const ActionMethod = Schema.Literal(
  "GET",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "HEAD",
  "OPTIONS",
  // Methods of the transport smtp.
  "SEND",
  "VERIFY"
)

/** How a list or an object is written as query parameters or form members. */
export const ListStyle = Schema.Literal(
  "repeat",
  "comma",
  "space",
  "tab",
  "pipe",
  "brackets",
  "indexed",
  "json",
  // An object's members are parameters of their own; lists are repeated.
  "members"
)
export type ListStyle = typeof ListStyle.Type

/**
 * The request, written in templates over `args.*`, `connection.config.*` and `idempotencyKey`. A value cannot change the
 * request's structure: in a path it is one segment (or several, with `pathValues: "segments"`), in a query one value.
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
    "`segment`: slashes of a value in the path are encoded. `segments`: a value may be several segments."
  ),
  query: members,
  queryStyle: withDefault(
    ListStyle,
    () => "repeat" as const,
    "How lists in the query are written; `queryStyles` overrides it for single parameters."
  ),
  queryStyles: withDefault(
    Schema.Record({ key: text, value: ListStyle }),
    () => ({}),
    "The style of single parameters, by name."
  ),
  queryTexts: optional(
    Schema.Array(text),
    "Parameters in a query language that writes texts in quotes: quotes and backslashes of their values get a backslash before them."
  ),
  headers: members,
  cookies: optional(
    Schema.Record({ key: text, value: Json }),
    "Templates by the name of the cookie. Values are percent-encoded; cookies with the value null are left out."
  ),
  body: withDefault(Json, () => null, "Every string in it is a template. null: no body."),
  bodyType: withDefault(Schema.Literal("json", "form", "multipart", "text", "base64"), () => "json" as const),
  contentType: optional(text, "The content type, if it is not the default of `bodyType`."),
  formStyle: withDefault(ListStyle, () => "brackets" as const, "How lists and objects in a form are written."),
  formStyles: optional(
    Schema.Record({ key: text, value: ListStyle }),
    "The style of single members of a form, by name; it overrides `formStyle`."
  ),
  keepNulls: withDefault(
    Schema.Boolean,
    () => false,
    "Whether a member of the body whose template yields null is sent as null instead of left out."
  ),
  increments: optional(
    Schema.Array(text),
    "Paths into the body to numbers that are sent raised by one: a version that is replaced becomes the next one."
  ),
  joinLists: optional(
    Schema.Boolean,
    "Whether the items of a list that is an item of another one are put in its place in the body, and items without a value left out."
  )
}).annotations({ identifier: "ActionRequest" })
export type ActionRequest = typeof ActionRequest.Type

/** How the answer is read: its result, or how an error is recognised. */
export const ActionResponse = Schema.Struct({
  map: optional(
    Schema.Union(text, JsonObject),
    "A path into the body, or an object of templates over `body`, `status`, `headers` and `args`. Absent: the whole body."
  ),
  type: withDefault(
    Schema.Literal("json", "text", "base64", "auto"),
    () => "json" as const,
    "`auto`: by the content type. `json`: other types are an error, except an empty body."
  ),
  errorWhen: optional(
    Condition,
    "A condition over the body: an answer with a success status that meets it is an error."
  ),
  errorMessage: optional(text, "A path into the body. Absent or empty: the usual places are searched."),
  errorCode: optional(text, "A path into the body. Absent: the usual places are searched."),
  authCodes: optionalList(text, "Values of the code that mean that the credential is refused."),
  transientCodes: optionalList(text, "Values of the code that mean that a retry may succeed."),
  finalCodes: optionalList(text, "Values of the code that mean that a retry cannot succeed."),
  notFoundCodes: optional(
    Schema.Array(text),
    "Values of the code that mean that there is no such record: the answer counts as one with the status 404."
  )
}).annotations({ identifier: "ActionResponse" })
export type ActionResponse = typeof ActionResponse.Type

/** How a list continues on its next page. */
export const Pagination = Schema.Struct({
  type: required(
    Schema.Literal("cursor", "link", "offset", "page"),
    "`cursor`: `next` is the next page's cursor. `link`: `next` is the next page's URL, or rel=next of the Link headers; it may be relative to the URL that answered. `offset`, `page`: counted up until a page is empty, has fewer than `size` items, or `hasMore` is false."
  ),
  next: optional(text, "A path into the body; negative indexes count from the end: `$.data[-1].id`."),
  nextHeader: optional(text, "The response header with the next page, instead of `next`."),
  param: optional(
    text,
    "The argument for the cursor, offset or page. A link without `param` is followed as it is, on the same origin only."
  ),
  linkParam: optional(
    text,
    "With `link` and `param`: the query parameter of the link that is the argument's value; default `param`."
  ),
  items: optional(
    text,
    "Where a page has its items: a path into the body for `offset` and `page`, into the result for `.pages` and `.all`; `[*]` stands for every item of a list on the way. Absent: the result is the list."
  ),
  hasMore: optional(text, "A path into the body: false ends the list; while it is true, an empty page does not."),
  total: optional(text, "A path to the number of all items."),
  totalPages: optional(text, "A path to the number of all pages, up to which an empty page does not end the list."),
  sizeParam: optional(text, "The argument with the size of a page."),
  size: optional(Schema.Int.pipe(Schema.positive()), "The size of a page if `sizeParam` is absent."),
  first: optional(Schema.NonNegativeInt, "The first page or offset; default 1 and 0.")
}).annotations({ identifier: "Pagination" })
export type Pagination = typeof Pagination.Type

/** A result for mocked runs. */
export const Mock = Schema.Struct({
  name: text,
  input: optional(
    Json,
    "The mock is for calls whose arguments have these members and values. Absent: for all other calls."
  ),
  output: required(Json, "The result of the call.")
}).annotations({ identifier: "Mock" })

/** One action of a connector. */
export const ActionDefinition = Schema.Struct({
  name: required(text, "A letter and up to 127 letters, digits and _. Code calls the action by this name."),
  version: withDefault(
    Schema.Int.pipe(Schema.positive()),
    () => 1,
    "Incremented when a changed action is published. A workflow keeps the version with which it was published."
  ),
  title: optional(text),
  description: optional(text),
  readOnly: optional(Schema.Boolean, "Whether the action changes nothing. Absent: true for GET, HEAD and OPTIONS."),
  request: ActionRequest,
  response: partWithDefault(ActionResponse, () => ActionResponse.make({})),
  pagination: optional(Pagination),
  idempotency: optional(
    Schema.Struct({
      header: optional(text),
      query: optional(text),
      maxLength: optional(Schema.Int.pipe(Schema.positive()), "A longer key is cut to this many characters.")
    }),
    "The header or query parameter for the provider's idempotency key. With it, a call can be retried safely."
  ),
  inputSchema: withDefault(JsonObject, () => ({ type: "object" }), "JSON Schema of the arguments."),
  outputSchema: withDefault(JsonObject, () => ({}), "JSON Schema of the result."),
  timeoutMs: withDefault(Schema.Int.pipe(Schema.between(100, connectedCall.longestMillis)), () => 30_000),
  mocks: optionalList(Mock, "Results for mocked runs.")
}).annotations({ identifier: "ActionDefinition" })
export type ActionDefinition = typeof ActionDefinition.Type
