/** Completes the library's document by what the routes declare and the texts say. */
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import type { Route } from "../pipeline/Routes.js"
import { answersOf, isProxy, refusalAnswers, type Schemas, withBug } from "./Answers.js"
import { answerHeaders, requestHeaders, requestHeadersOf } from "./Headers.js"
import type { OperationText } from "./OperationText.js"
import { parameters } from "./Parameters.js"
import { readable } from "./Schemas.js"
import { tags } from "./Tags.js"

export interface Texts {
  readonly [operation: string]: OperationText
}

const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})
const list = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])

const parameter = (told: Json): Json => {
  const { description, name, schema = {}, ...rest } = members(told)
  const words = typeof name === "string" ? parameters[name] : undefined
  return { name: name ?? "", ...rest, description: words ?? description ?? "", schema: readable(schema) }
}

const contentOf = (content: Json | undefined, example: Json | undefined): JsonObject =>
  Object.fromEntries(
    Object.entries(members(content)).map(([type, told]) => [
      type,
      {
        ...members(told),
        schema: readable(members(told)["schema"] ?? {}),
        ...(example === undefined ? {} : { example })
      }
    ])
  )

/** The proxy takes any body, of any type. */
const anyBody = (example: Json): Json => ({
  description: "The body for the provider, of any type.",
  required: false,
  content: { "application/json": { schema: {}, example }, "*/*": { schema: {} } }
})

const bodyOf = (told: Json | undefined, route: Route, { example }: OperationText): JsonObject => {
  if (isProxy(route)) return example === undefined ? {} : { requestBody: anyBody(example) }
  if (told === undefined) return {}
  return { requestBody: { ...members(told), content: contentOf(members(told)["content"], example) } }
}

const answerOf = (answer: Json): Json => {
  const { content, ...rest } = members(answer)
  return content === undefined ? answer : { ...rest, content: contentOf(content, undefined) }
}

const operation = (told: Json, route: Route, text: OperationText, schemas: Schemas): Json => {
  const { parameters: inline, requestBody, responses, security: _, summary: _old, ...rest } = members(told)
  const headers = requestHeadersOf(route).map((name) => ({ $ref: `#/components/parameters/${name}` }))
  const answers = Object.entries(answersOf(responses, route, text, schemas))
  return {
    ...rest,
    summary: text.summary,
    description: text.description,
    parameters: [...list(inline).map(parameter), ...headers],
    ...bodyOf(requestBody, route, text),
    responses: Object.fromEntries(answers.map(([status, answer]) => [status, answerOf(answer)]))
  }
}

const tag = (told: Json): Json => {
  const { name } = members(told)
  const descriptions: { readonly [name: string]: string } = tags
  return typeof name === "string" ? { name, description: descriptions[name] ?? "" } : told
}

/** Whether a part of a document refers to a component. */
const refersTo = (text: string, kind: string, name: string): boolean => text.includes(`"#/components/${kind}/${name}"`)

const used = (components: JsonObject, kind: string, text: string): JsonObject =>
  Object.fromEntries(Object.entries(components).filter(([name]) => refersTo(text, kind, name)))

/** The schemas that a document refers to, over any number of steps. */
const usedSchemas = (schemas: Schemas, text: string): Schemas => {
  const found = used(schemas, "schemas", text)
  const more = used(schemas, "schemas", text + JSON.stringify(found))
  return Object.keys(more).length === Object.keys(found).length
    ? found
    : usedSchemas(schemas, text + JSON.stringify(more))
}

/** `texts` has every operation of `routes`, by its id. */
export const completed = (document: JsonObject, routes: ReadonlyArray<Route>, texts: Texts): JsonObject => {
  const byId = new Map(routes.map((route) => [`${route.group}.${route.name}`, route]))
  const told = members(members(document["components"])["schemas"])
  const schemas = withBug(Object.fromEntries(Object.entries(told).map(([name, schema]) => [name, readable(schema)])))
  const complete = (item: Json): Json => {
    const { operationId } = members(item)
    const route = typeof operationId === "string" ? byId.get(operationId) : undefined
    const text = typeof operationId === "string" ? texts[operationId] : undefined
    return route === undefined || text === undefined ? item : operation(item, route, text, schemas)
  }
  const paths = Object.fromEntries(
    Object.entries(members(document["paths"])).map(([path, item]) => [
      path,
      Object.fromEntries(Object.entries(members(item)).map(([method, one]) => [method, complete(one)]))
    ])
  )
  const text = JSON.stringify(paths)
  const responses = used(refusalAnswers(schemas), "responses", text)
  const all = text + JSON.stringify(responses)
  return {
    ...document,
    tags: list(document["tags"]).map(tag),
    paths,
    components: {
      ...members(document["components"]),
      schemas: usedSchemas(schemas, all),
      parameters: used(requestHeaders, "parameters", all),
      headers: used(answerHeaders, "headers", all),
      responses
    }
  }
}
