/** Completes the responses of operations with descriptions and headers; errors become shared responses of the document. */
import { isList, isObject, type Json, type JsonObject } from "../../domain/Json.js"
import type { Contract } from "../operation/Contract.js"
import { headerReferences, providerHeaders, errorHeaders, successHeaders } from "./Headers.js"

const errorDescriptions: { readonly [status: string]: string } = {
  400: "The request is malformed: its JSON, a header, a parameter or a cursor.",
  401: "The caller is not authenticated: its key or signature is missing, wrong, revoked or expired.",
  403: "The caller may not do this, from this address, for this customer, or within its plan.",
  404: "There is no such record, or the key does not reach it.",
  408: "The run took longer than its caller can wait.",
  409: "The request contradicts the state of a record, or a request before it.",
  413: "The body is too large.",
  415: "The body is not of a type that is taken: JSON, and at the receiver of webhooks forms and JSON as text.",
  422: "The request is well-formed and its content is not valid. `details` names each place and what to send.",
  429: "There were too many requests. `retry-after` says when to try again.",
  500: "A bug of the service. Report the request id.",
  502: "The provider failed.",
  503: "The service cannot answer now. `retry-after` says when to try again.",
  504: "The provider took too long."
}

const prefix = "#/components/schemas/"
const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})

/** The schema of an answer's JSON body. */
const schemaOf = (answer: Json | undefined): JsonObject =>
  members(members(members(members(answer)["content"])["application/json"])["schema"])

const nameOf = (schema: JsonObject): string | undefined => {
  const { $ref } = schema
  return typeof $ref === "string" && $ref.startsWith(prefix) ? $ref.slice(prefix.length) : undefined
}

/** The schemas of a document, by name. */
export interface Schemas {
  readonly [name: string]: Json
}

// --- Errors ---

/** Adds a 500 schema for each 503 schema that has none: the two differ in code and status only. */
export const addUnexpectedErrors = (schemas: Schemas): Schemas => {
  const bugs = Object.entries(schemas)
    .filter(([name]) => name.endsWith("NotNow"))
    .map(([name, schema]): readonly [string, Json] => {
      const properties = members(members(schema)["properties"])
      const code = { ...members(properties["code"]), description: "INTERNAL_ERROR" }
      const statusCode = { ...members(properties["statusCode"]), enum: [500] }
      return [
        name.replace("NotNow", "Unexpected"),
        { ...members(schema), properties: { ...properties, code, statusCode } }
      ]
    })
  return { ...schemas, ...Object.fromEntries(bugs.filter(([name]) => schemas[name] === undefined)) }
}

const statusOf = (schema: Json): string | undefined => {
  const { enum: allowed } = members(members(members(schema)["properties"])["statusCode"])
  return Array.isArray(allowed) && allowed.length === 1 ? String(allowed[0]) : undefined
}

/** A shared response for each error schema, under the schema's name. */
export const errorAnswers = (schemas: Schemas): JsonObject =>
  Object.fromEntries(
    Object.entries(schemas).flatMap(([name, schema]) => {
      const status = statusOf(schema)
      return status === undefined
        ? []
        : [
            [
              name,
              {
                description: errorDescriptions[status] ?? "",
                headers: headerReferences(errorHeaders(status)),
                content: { "application/json": { schema: { $ref: `${prefix}${name}` } } }
              }
            ]
          ]
    })
  )

/** A response of the proxy, whose status may be the service's own or the provider's. */
const errorOrProviderAnswer = (status: string, name: string): Json => ({
  description: `${errorDescriptions[status] ?? ""} Or the provider's own answer: then it has the header x-svc-connection-id.`,
  headers: headerReferences([...errorHeaders(status), "x-svc-connection-id"]),
  content: {
    "application/json": {
      schema: { anyOf: [{ $ref: `${prefix}${name}` }, { description: "The provider's own answer." }] }
    },
    "*/*": { schema: {} }
  }
})

/** A response of a flow, which may answer with the same status. */
const errorOrFlowAnswer = (status: string, name: string): Json => ({
  description: `${errorDescriptions[status] ?? ""} Or what the flow's response says.`,
  headers: headerReferences(errorHeaders(status)),
  content: {
    "application/json": {
      schema: { anyOf: [{ $ref: `${prefix}${name}` }, { description: "What the flow's response says." }] }
    }
  }
})

const flowsAnswer = (operation: Contract): Json => ({
  description: "What the flow's response says, with its status.",
  headers: headerReferences(successHeaders(operation, "200", false)),
  content: { "application/json": { schema: {} } }
})

const unexpectedErrorAnswer = (answers: JsonObject): JsonObject => {
  const unavailable = nameOf(schemaOf(answers["503"]))
  const schema = { $ref: `${prefix}${unavailable?.replace("NotNow", "Unexpected") ?? ""}` }
  return { "500": { content: { "application/json": { schema } } } }
}

// --- Responses of an operation ---

/** Whether the answer's data is one record with an id and a version, or may be one. */
const hasVersion = (answer: Json, schemas: Schemas): boolean => {
  const { anyOf, ...schema } = schemaOf(answer)
  return [schema, ...(isList(anyOf) ? anyOf : [])].some((one) => {
    const data = members(members(members(one)["properties"])["data"])
    const properties = members(members(schemas[nameOf(data) ?? ""])["properties"])
    return properties["id"] !== undefined && properties["version"] !== undefined
  })
}

const providersAnswer: Json = {
  description: "The provider's unchanged answer, with any status, headers and body.",
  headers: headerReferences(providerHeaders),
  content: { "*/*": { schema: {} } }
}

/** Whether the operation forwards requests to a provider. */
export const isProxy = ({ form }: Contract): boolean => form.idempotency === "none"

/** Whether the operation answers what a flow says, with any status. */
const hasOwnAnswers = ({ form }: Contract): boolean => form.answers === "own"

/** The contents of an answer that may have one of several media types. */
const contentOf = (answer: Json, { outputs }: Contract, status: string): JsonObject => {
  const { otherTypes = [] } = outputs.find((one) => String(one.status) === status) ?? {}
  const text = { schema: { type: "string" } }
  return otherTypes.length === 0
    ? {}
    : {
        content: {
          ...members(members(answer)["content"]),
          ...Object.fromEntries(otherTypes.map((type) => [type, type === "application/json" ? { schema: {} } : text]))
        }
      }
}

/** The responses of an operation, from the library's and the operation's words. */
export const answersOf = (source: Json | undefined, operation: Contract, schemas: Schemas): JsonObject => {
  const answers = { ...unexpectedErrorAnswer(members(source)), ...members(source) }
  const described = Object.entries(answers).flatMap(([status, answer]): ReadonlyArray<readonly [string, Json]> => {
    const name = nameOf(schemaOf(answer))
    if (Number(status) < 400) {
      if (isProxy(operation)) return []
      const description = operation.answers[Number(status)] ?? ""
      const headers = headerReferences(successHeaders(operation, status, hasVersion(answer, schemas)))
      return [[status, { ...members(answer), ...contentOf(answer, operation, status), description, headers }]]
    }
    if (name === undefined) return [[status, answer]]
    if (isProxy(operation)) return [[status, errorOrProviderAnswer(status, name)]]
    return [
      [status, hasOwnAnswers(operation) ? errorOrFlowAnswer(status, name) : { $ref: `#/components/responses/${name}` }]
    ]
  })
  return {
    ...Object.fromEntries(described),
    ...(isProxy(operation) ? { "2XX": providersAnswer, default: providersAnswer } : {}),
    ...(hasOwnAnswers(operation) ? { default: flowsAnswer(operation) } : {})
  }
}
