/** Builds the actions that list, read, create and change an object of Stripe. */
import type { JsonObject } from "../../Json.js"
import {
  args,
  type ActionManifest,
  flag,
  fromArgs,
  integer,
  list,
  record,
  text,
  texts,
  upTo
} from "../SchemaShorthands.js"

/** A range `{gte, gt, lte, lt}` in Unix seconds, or one time. */
export const creationTimeFilter: JsonObject = {
  anyOf: [integer, args({ gt: integer, gte: integer, lt: integer, lte: integer })]
}
export const metadata: JsonObject = { type: "object", additionalProperties: { type: ["string", "number", "boolean"] } }

interface StripeObject {
  /** The name in lower case: `customer`. */
  readonly one: string
  /** The name in an action's name: `Customer`. */
  readonly singular: string
  readonly plural: string
  readonly path: string
  readonly schema: JsonObject
  readonly mock: JsonObject
  /** The filters of a list. */
  readonly filters: JsonObject
}

const form = { bodyType: "form", formStyle: "indexed" } as const
const idempotency = { header: "Idempotency-Key", maxLength: 255 }
/** The API version of requests and of events; without it, they have the account's own version. */
export const apiVersion = "2025-08-27.basil"
const version = { "Stripe-Version": apiVersion }

/** Stripe's errors are in the member `error`. */
const response = { errorMessage: "$.error.message", errorCode: "$.error.code" } as const

export const defineStripeList = (object: StripeObject): ActionManifest => ({
  name: `list${object.plural}`,
  title: `List ${object.one}s`,
  request: {
    method: "GET",
    path: object.path,
    headers: version,
    query: {
      limit: "{{args.limit ?? 100}}",
      ...fromArgs("starting_after", "ending_before", "expand", ...Object.keys(object.filters))
    },
    queryStyle: "indexed"
  },
  response,
  pagination: {
    type: "cursor",
    items: "$.data",
    next: "$.data[-1].id",
    hasMore: "$.has_more",
    param: "starting_after"
  },
  inputSchema: args({
    limit: upTo(100),
    starting_after: text,
    ending_before: text,
    expand: texts,
    ...object.filters
  }),
  outputSchema: record({ object: text, data: list(object.schema), has_more: flag }, "data", "has_more"),
  mocks: [{ name: "one", output: { object: "list", data: [object.mock], has_more: false } }]
})

export const defineStripeGet = (object: StripeObject): ActionManifest => ({
  name: `get${object.singular}`,
  title: `Get a ${object.one}`,
  request: {
    method: "GET",
    path: `${object.path}/{{args.id}}`,
    headers: version,
    query: fromArgs("expand"),
    queryStyle: "indexed"
  },
  response,
  inputSchema: args({ id: text, expand: texts }, "id"),
  outputSchema: object.schema,
  mocks: [{ name: "one", output: object.mock }]
})

export const defineStripeCreate = (
  object: StripeObject,
  writable: JsonObject,
  ...required: ReadonlyArray<string>
): ActionManifest => ({
  name: `create${object.singular}`,
  title: `Create a ${object.one}`,
  request: {
    method: "POST",
    path: object.path,
    headers: version,
    body: fromArgs(...Object.keys(writable), "metadata", "expand"),
    ...form
  },
  response,
  idempotency,
  inputSchema: args({ ...writable, metadata, expand: texts }, ...required),
  outputSchema: object.schema,
  mocks: [{ name: "one", output: object.mock }]
})

export const defineStripeUpdate = (object: StripeObject, writable: JsonObject): ActionManifest => ({
  name: `update${object.singular}`,
  title: `Update a ${object.one}`,
  request: {
    method: "POST",
    path: `${object.path}/{{args.id}}`,
    headers: version,
    body: fromArgs(...Object.keys(writable), "metadata", "expand"),
    ...form
  },
  response,
  idempotency,
  inputSchema: args({ id: text, ...writable, metadata, expand: texts }, "id"),
  outputSchema: object.schema,
  mocks: [{ name: "one", output: object.mock }]
})

/** An operation such as `POST /payment_intents/{id}/capture`. */
export const defineStripeOperation = (
  object: StripeObject,
  verb: string,
  title: string,
  writable: JsonObject = {}
): ActionManifest => ({
  name: `${verb}${object.singular}`,
  title,
  request: {
    method: "POST",
    path: `${object.path}/{{args.id}}/${verb}`,
    headers: version,
    body: fromArgs(...Object.keys(writable)),
    ...form
  },
  response,
  idempotency,
  inputSchema: args({ id: text, ...writable }, "id"),
  outputSchema: object.schema,
  mocks: [{ name: "one", output: object.mock }]
})

export const defineStripeDelete = (object: StripeObject, title = `Delete a ${object.one}`): ActionManifest => ({
  name: `delete${object.singular}`,
  title,
  request: { method: "DELETE", path: `${object.path}/{{args.id}}`, headers: version },
  response,
  inputSchema: args({ id: text }, "id"),
  outputSchema: record({ id: text, deleted: flag }),
  mocks: [{ name: "deleted", output: { id: object.mock["id"] ?? "", deleted: true } }]
})

/** Reads an object that exists once in an account. */
export const defineStripeSingleton = (
  name: string,
  title: string,
  path: string,
  schema: JsonObject,
  mock: JsonObject
): ActionManifest => ({
  name,
  title,
  request: { method: "GET", path, headers: version },
  response,
  inputSchema: args(),
  outputSchema: schema,
  mocks: [{ name: "one", output: mock }]
})
