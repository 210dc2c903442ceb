/** Completes the library's OpenAPI document with texts, headers, errors and examples, and removes unreferenced components. */
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import type { Contract } from "../operation/Contract.js"
import { answersOf, isProxy, errorAnswers, type Schemas, addUnexpectedErrors } from "./Answers.js"
import { answerHeaders, requestHeaders, requestHeadersOf } from "./Headers.js"
import { parameterDescriptions } from "./Parameters.js"
import { portableSchema } from "./Schemas.js"

const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})
const list = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])

const completeParameter = (source: Json): Json => {
  const { description, name, schema = {}, ...rest } = members(source)
  const words = typeof name === "string" ? parameterDescriptions[name] : undefined
  return { name: name ?? "", ...rest, description: words ?? description ?? "", schema: portableSchema(schema) }
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
    parameters: [...list(inline).map(completeParameter), ...headers],
    ...bodyOf(requestBody, operation),
    responses: Object.fromEntries(answers.map(([status, answer]) => [status, completeAnswer(answer)]))
  }
}

const completeTag = (source: Json): Json => {
  const { name } = members(source)
  const descriptions: { readonly [name: string]: string } = tagDescriptions
  return typeof name === "string" ? { name, description: descriptions[name] ?? "" } : source
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

/** Descriptions of the groups of operations, by name; a test fails if one is missing. */
export const tagDescriptions: { readonly [group: string]: string } = {
  execution: "Starting runs of workflows.",
  run: "Starting runs of workflows, from surface C.",
  flow: "Flows, called by their names.",
  unified: "Records in one form, of whichever provider a customer has connected.",
  fieldMaps: "Overrides of the maps between providers' records and common ones.",
  models: "The common models of records, as JSON Schemas.",
  proxy: "A provider's own API, called through a customer's connection.",
  tenantWorkflows: "A tenant's own flows, and those of the organisation, which are read.",
  tenantExecutions: "Runs for a tenant.",
  credentials: "A tenant's stored credentials; each belongs to one connection.",
  tenantEnvironments: "Where versions are deployed for a tenant.",
  tenantReleases: "Versions of several workflows that are deployed together for a tenant.",
  tenantEvents: "What arrived from outside for a tenant, and what became of it.",
  tenantDeadLetters: "A tenant's events, runs and deliveries that were given up.",
  organisations: "The owner of everything else: its settings, plan and status.",
  workspaces: "Parts of an organisation. Keys, workflows and state belong to one.",
  customers: "The organisation's own customers, for whom runs act.",
  workflows: "Code with a name: a draft, and versions that publishing freezes.",
  drafts: "Earlier states of a workflow's draft, and tests of its steps.",
  environments: "Where versions are deployed: `test`, `live` and others, of the organisation or of a customer.",
  releases: "Versions of several workflows that are deployed together, promoted and rolled back.",
  triggers: "What starts workflows: webhooks, schedules, and events of connectors and of the service.",
  events: "What arrived from outside, and what became of it.",
  deadLetters: "Events, runs and deliveries that were given up, with their payloads.",
  executions: "Runs of workflows with their input, steps and output.",
  apiKeys: "Credentials for programs: permissions, customers, addresses and expiry.",
  me: "Who is calling, and what it may do.",
  sessions: "Browsers in which the person who calls is signed in.",
  users: "People of the organisation.",
  roles: "Sets of permissions for people.",
  secrets: "Values that workflows read by name; no record shows them.",
  callbackSecret: "The secret with which callbacks are signed.",
  config: "Values in five levels, from the platform to a customer.",
  connectors: "Systems described as data: authentication, actions, events and entities.",
  authProviders: "OAuth clients of the organisation, for connectors that need one.",
  connections: "Customers' accounts at connectors. Records never hold the credential.",
  installations: "Integrations that are installed for customers.",
  webhookEndpoints: "Endpoints that receive the organisation's events, signed with secrets of their own.",
  approvals: "Questions of runs to people, and their decisions.",
  notifications: "Messages for the people of the organisation.",
  quota: "What the organisation and its customers use of their limits.",
  cluster: "The nodes of the service, and who holds which part of the work.",
  watch: "Streams that tell which records change, while they change.",
  audit: "The record of all changes, reads and refusals, as a chain of hashes."
}
