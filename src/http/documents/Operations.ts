/** Completes the library's OpenAPI document with texts, headers, errors and examples, and removes unreferenced components. */
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import type { Contract } from "../operation/Contract.js"
import { answersOf, isProxy, errorAnswers, type Schemas, addUnexpectedErrors } from "./Answers.js"
import { answerHeaders, requestHeaders, requestHeadersOf } from "./Headers.js"
import { groupDescriptions } from "../operations/Surfaces.js"
import { sharedParameters } from "./Parameters.js"
import { portableSchema } from "./Schemas.js"

const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})
const list = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])

const completeParameter = (source: Json, { parameters }: Contract): Json => {
  const { description = "", name = "", schema = {}, ...rest } = members(source)
  const words = { ...sharedParameters, ...parameters }[String(name)]
  return { name, ...rest, description: words ?? description, schema: portableSchema(schema) }
}

const contentOf = (content: Json | undefined, example: Json | undefined): JsonObject =>
  Object.fromEntries(
    Object.entries(members(content)).map(([type, source]) => [
      type,
      {
        ...members(source),
        schema: portableSchema(members(source)["schema"] ?? {}),
        ...(example === undefined ? {} : { example })
      }
    ])
  )

/** The request body of the proxy, which takes any media type. */
const anyBody = (example: Json): Json => ({
  description: "The body for the provider, of any type.",
  required: false,
  content: { "application/json": { schema: {}, example }, "*/*": { schema: {} } }
})

const bodyOf = (source: Json | undefined, operation: Contract): JsonObject => {
  const { example } = operation
  if (isProxy(operation)) return example === undefined ? {} : { requestBody: anyBody(example) }
  if (source === undefined) return {}
  return { requestBody: { ...members(source), content: contentOf(members(source)["content"], example) } }
}

const completeAnswer = (answer: Json): Json => {
  const { content, ...rest } = members(answer)
  return content === undefined ? answer : { ...rest, content: contentOf(content, undefined) }
}

const completeOperation = (source: Json, operation: Contract, schemas: Schemas): Json => {
  const { parameters: inline, requestBody, responses, security: _, summary: _old, ...rest } = members(source)
  const headers = requestHeadersOf(operation).map((name) => ({ $ref: `#/components/parameters/${name}` }))
  const answers = Object.entries(answersOf(responses, operation, schemas))
  return {
    ...rest,
    summary: operation.summary,
    description: operation.description,
    parameters: [...list(inline).map((one) => completeParameter(one, operation)), ...headers],
    ...bodyOf(requestBody, operation),
    responses: Object.fromEntries(answers.map(([status, answer]) => [status, completeAnswer(answer)]))
  }
}

const completeTag = (source: Json): Json => {
  const { name } = members(source)
  return typeof name === "string" ? { name, description: groupDescriptions[name] ?? "" } : source
}

/** Whether JSON text of a document refers to a component. */
const refersTo = (text: string, kind: string, name: string): boolean => text.includes(`"#/components/${kind}/${name}"`)

const referencedComponents = (components: JsonObject, kind: string, text: string): JsonObject =>
  Object.fromEntries(Object.entries(components).filter(([name]) => refersTo(text, kind, name)))

/** The schemas that JSON text refers to, directly or through other schemas. */
const referencedSchemas = (schemas: Schemas, text: string): Schemas => {
  const found = referencedComponents(schemas, "schemas", text)
  const more = referencedComponents(schemas, "schemas", text + JSON.stringify(found))
  return Object.keys(more).length === Object.keys(found).length
    ? found
    : referencedSchemas(schemas, text + JSON.stringify(more))
}

/** The completed document of the operations. */
export const completeDocument = (document: JsonObject, operations: ReadonlyArray<Contract>): JsonObject => {
  const byId = new Map(operations.map((one) => [`${one.group}.${one.name}`, one]))
  const source = members(members(document["components"])["schemas"])
  const schemas = addUnexpectedErrors(
    Object.fromEntries(Object.entries(source).map(([name, schema]) => [name, portableSchema(schema)]))
  )
  const complete = (item: Json): Json => {
    const { operationId } = members(item)
    const operation = typeof operationId === "string" ? byId.get(operationId) : undefined
    return operation === undefined ? item : completeOperation(item, operation, schemas)
  }
  const paths = Object.fromEntries(
    Object.entries(members(document["paths"])).map(([path, item]) => [
      path,
      Object.fromEntries(Object.entries(members(item)).map(([method, one]) => [method, complete(one)]))
    ])
  )
  const text = JSON.stringify(paths)
  const responses = referencedComponents(errorAnswers(schemas), "responses", text)
  const all = text + JSON.stringify(responses)
  return {
    ...document,
    tags: list(document["tags"]).map(completeTag),
    paths,
    components: {
      ...members(document["components"]),
      schemas: referencedSchemas(schemas, all),
      parameters: referencedComponents(requestHeaders, "parameters", all),
      headers: referencedComponents(answerHeaders, "headers", all),
      responses
    }
  }
}
