/** Compares the request and the result of an action with the operation of a provider's document that it calls. */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import type { ActionDefinition } from "../Action.js"
import { listAt, objectAt } from "../import/OpenApiDocument.js"
import { answerPath } from "./AnswerPlaces.js"
import { type PartComparison, type Findings, makeFindings } from "./Difference.js"
import { type FoundOperation, stepsOf } from "./PathMatch.js"
import type { DocumentedBody, DocumentedParameter } from "./PublishedOperation.js"
import { findMember, partsOf, requiredMembers, type SchemaList, type SchemaStep, typesOf } from "./SchemaMembers.js"
import { argumentSchema, isAlwaysValue, sentMembers, textOfSteps } from "./SentMembers.js"

/** The differences of one action. `schemas`: those that the action's refer to. */
export const compareAction = (
  action: ActionDefinition,
  schemas: JsonObject,
  { document, operation }: FoundOperation
): PartComparison => {
  const findings = makeFindings(action.name)
  compareParameters(action, operation.parameters, findings)
  compareBody(action, schemas, { document, operation }, findings)
  compareResult(action, schemas, { document, operation }, findings)
  return findings.comparison()
}

// --- Parameters ---

/** Headers that svc sends itself, or that credentials are. */
const ownHeaders = new Set(["accept", "authorization", "content-type", "content-length", "user-agent"])

const compareParameters = (
  action: ActionDefinition,
  parameters: ReadonlyArray<DocumentedParameter>,
  findings: Findings
): void => {
  const { path, query } = action.request
  if (typeof query === "string") findings.skip("request.query", "it is one value of an argument")
  const sent = new Map<string, Json>(typeof query === "string" ? [] : Object.entries(query))
  for (const [, name = ""] of (path.split("?")[1] ?? "").matchAll(/(?:^|&)([^=&]+)=/g)) sent.set(name, "always")
  if (action.idempotency?.query !== undefined) sent.set(action.idempotency.query, "always")
  for (const name of sent.keys()) {
    const found = parameters.find((one) => one.in === "query" && isNamed(one.name, name))
    const elsewhere = parameters.find((one) => one.name === name)
    if (found === undefined && elsewhere !== undefined)
      findings.add("PARAMETER_PLACE", `request.query.${name}`, elsewhere.in)
    else if (found === undefined) findings.add("UNKNOWN_PARAMETER", `request.query.${name}`)
  }
  compareRequired(action, parameters, sent, findings)
}

/** Compares the parameters that the provider requires with those that are sent. */
const compareRequired = (
  action: ActionDefinition,
  parameters: ReadonlyArray<DocumentedParameter>,
  sentQuery: ReadonlyMap<string, Json>,
  findings: Findings
): void => {
  const { headers, query } = action.request
  const sentHeaders = new Map<string, Json>(
    (typeof headers === "string" ? [] : Object.entries(headers)).map(([name, value]) => [name.toLowerCase(), value])
  )
  if (action.idempotency?.header !== undefined) sentHeaders.set(action.idempotency.header.toLowerCase(), "always")
  for (const one of parameters.filter(({ isRequired }) => isRequired)) {
    const name = one.name.toLowerCase()
    if (one.in === "query" && typeof query !== "string") note(one.name, sentQuery.get(one.name), "query")
    if (one.in === "header" && typeof headers !== "string" && !ownHeaders.has(name))
      note(one.name, sentHeaders.get(name), "headers")
  }
  function note(name: string, value: Json | undefined, where: string) {
    if (value === undefined) findings.add("MISSING_PARAMETER", `request.${where}.${name}`)
    else if (typeof value === "string" && !isAlwaysValue(value, action))
      findings.add("OPTIONAL_PARAMETER", `request.${where}.${name}`)
  }
}

/** A parameter that is an object has names such as `filter[since]`. */
const isNamed = (documented: string, sent: string): boolean =>
  documented === sent || documented.replace(/\[\]$/, "") === sent.replace(/\[.*$/, "")

// --- Body ---

const compareBody = (
  action: ActionDefinition,
  schemas: JsonObject,
  { document, operation }: FoundOperation,
  findings: Findings
): void => {
  const { body } = action.request
  if (body === null) {
    if (operation.isBodyRequired) findings.add("MISSING_BODY", "request.body")
    return
  }
  if (operation.bodies.length === 0) return findings.add("UNKNOWN_BODY", "request.body")
  const taken = bodyOfType(action, operation.bodies)
  if (taken === undefined)
    return findings.add(
      "BODY_TYPE",
      "request.bodyType",
      `it has ${operation.bodies.map(({ type }) => type).join(", ")}`
    )
  if (taken.schema === undefined) return findings.skip("request.body", "the document has no schema of it")
  const members = sentMembers(action, schemas)
  if (members.length === 0) findings.skip("request.body", "its members are those of an argument")
  const absent: Array<string> = []
  for (const { path, schema } of members) {
    const place = textOfSteps(path)
    if (absent.some((one) => place.startsWith(one))) continue
    const found = findMember(document, [taken.schema], path)
    if (found.tag === "absent") {
      absent.push(place)
      findings.add("UNKNOWN_MEMBER", `request.body.${place}`)
    } else if (found.tag === "open") findings.skip(`request.body.${place}`, "the document leaves its members open")
    else if (schema !== undefined) compareValues(document, found.schemas, schema, `request.body.${place}`, findings)
  }
  for (const name of requiredMembers(document, taken.schema)) {
    const sent = members.filter(({ path }) => path[0] === name)
    if (sent.length === 0 && members.length > 0) findings.add("MISSING_MEMBER", `request.body.${name}`)
    else if (sent.length > 0 && !sent.some(({ isAlwaysSent }) => isAlwaysSent))
      findings.add("OPTIONAL_MEMBER", `request.body.${name}`)
  }
}

/** The documented body in the action's encoding. */
export const bodyOfType = (
  { request }: ActionDefinition,
  bodies: ReadonlyArray<DocumentedBody>
): DocumentedBody | undefined => {
  const isFitting = (type: string): boolean => {
    if (type.startsWith("*/*")) return true
    if (request.contentType !== undefined && type.startsWith(request.contentType.split(";")[0] ?? "")) return true
    switch (request.bodyType) {
      case "json":
        return /^[a-z]+\/(?:[\w.+-]*\+)?json\b/i.test(type)
      case "form":
        return type.startsWith("application/x-www-form-urlencoded")
      case "multipart":
        return type.startsWith("multipart/")
      case "text":
      case "base64":
        return !/json|urlencoded|multipart/.test(type)
    }
  }
  return bodies.find(({ type }) => isFitting(type))
}

/** Compares types and words of a value that the action sends with those that the document has for it. */
const compareValues = (
  document: FoundOperation["document"],
  documented: SchemaList,
  schema: JsonObject,
  at: string,
  findings: Findings
): void => {
  const parts = partsOf(document, documented) ?? []
  const types = new Set(parts.flatMap(typesOf))
  const own = typesOf(schema).filter((type) => type !== "null")
  const isTaken = (type: string) =>
    types.has(type) || (type === "integer" && types.has("number")) || (type === "number" && types.has("integer"))
  if (types.size > 0 && own.length > 0 && !own.some(isTaken))
    findings.add("OTHER_TYPE", at, `${[...types].join(", ")} instead of ${own.join(", ")}`)
  const words = new Set(parts.flatMap((part) => listAt(part, "enum")))
  const unknown = listAt(schema, "enum").filter((word) => word !== null && !words.has(word))
  if (words.size > 0 && unknown.length > 0 && parts.every((part) => Object.hasOwn(part, "enum")))
    findings.add("UNKNOWN_WORD", at, unknown.map(String).join(", "))
}

// --- Result ---

const maxDepth = 6

/** Compares the members that the action's schema names of its result, and the paths by which lists go on. */
const compareResult = (
  action: ActionDefinition,
  schemas: JsonObject,
  { document, operation }: FoundOperation,
  findings: Findings
): void => {
  if (operation.answer === undefined) return
  const isRead = (path: ReadonlyArray<SchemaStep>): boolean =>
    findMember(document, [operation.answer], path).tag !== "absent"
  const walk = (schema: Json | undefined, path: ReadonlyArray<SchemaStep>, depth: number) => {
    const found = isObject(schema) && typeof schema["$ref"] === "string" ? argumentSchema(schema, [], schemas) : schema
    if (!isObject(found) || depth > maxDepth) return
    const at = answerPath(action, path)
    if (path.length > 0 && at !== undefined && !isRead(at))
      return findings.add("UNREAD_MEMBER", `outputSchema.${textOfSteps(path)}`)
    for (const [name, below] of Object.entries(objectAt(found, "properties"))) walk(below, [...path, name], depth + 1)
    if (isObject(found["items"])) walk(found["items"], [...path, null], depth + 1)
  }
  walk(action.outputSchema, [], 0)
  const { pagination } = action
  if (pagination === undefined) return
  const items = pagination.items === undefined ? undefined : stepsOf(pagination.items)
  const itemsAt = items === undefined ? undefined : answerPath(action, items)
  if (itemsAt !== undefined && !isRead(itemsAt)) findings.add("UNREAD_MEMBER", "pagination.items", pagination.items)
  for (const member of ["next", "hasMore", "total", "totalPages"] as const) {
    const steps = pagination[member] === undefined ? undefined : stepsOf(pagination[member])
    if (steps !== undefined && !isRead(steps)) findings.add("UNREAD_MEMBER", `pagination.${member}`, pagination[member])
  }
}
