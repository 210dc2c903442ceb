/**
 * Checks answers against the OpenAPI documents: status, content type and JSON. It reads the files in docs/openapi,
 * which is faster than a request; the check `generated` proves that they equal the served documents.
 */
import { dereference, type Schema, validate } from "@cfworker/json-schema"
import { hash } from "node:crypto"
import { readFileSync } from "node:fs"
import { isObject, type Json, type JsonObject } from "../../src/domain/Json.js"

const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})

interface Operation {
  readonly method: string
  readonly path: string
  readonly pattern: RegExp
  readonly responses: JsonObject
  readonly document: Document
}

interface Document {
  readonly components: JsonObject
  /** The document's schemas by their absolute references. */
  readonly lookup: Record<string, Schema | boolean>
}

interface Answered {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly text: string
}

/** The parameter `path` of the proxy matches all remaining segments; any other parameter matches one segment. */
const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path
      .replaceAll(/[.]/g, "\\$&")
      .replace("{path}", ".*")
      .replaceAll(/\{\w+\}/g, "[^/]+")}/*$`
  )

const operationsOf = (name: string): ReadonlyArray<Operation> => {
  const parsed: unknown = JSON.parse(readFileSync(`docs/openapi/${name}.json`, "utf8"))
  if (!isSchema(parsed) || !isObject(parsed)) return []
  const text: JsonObject = parsed
  const document = { components: members(text["components"]), lookup: dereference(parsed) }
  return Object.entries(members(text["paths"])).flatMap(([path, item]) =>
    Object.entries(members(item)).map(([method, told]) => ({
      method: method.toUpperCase(),
      path,
      pattern: patternOf(path),
      responses: members(members(told)["responses"]),
      document
    }))
  )
}

const parameters = ({ path }: Operation): number => path.split("{").length

const isSchema = (value: unknown): value is Schema => isObject(value)

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Hashes of bodies that conformed to their schema. Many answers of tests differ in the ids of requests and records only:
 * the value of an id does not matter to a schema, its prefix and its length do.
 */
const conforming = new WeakMap<Schema, Set<string>>()

const hashOf = (text: string): string =>
  hash("sha1", text.replaceAll(/\b([a-z]+_)[0-9a-hjkmnp-tv-z]{26}\b/g, "$1"), "base64")

const bodyViolation = (operation: Operation, answer: JsonObject, { headers, text }: Answered): string | undefined => {
  const content = members(answer["content"])
  if (Object.keys(content).length === 0) return text === "" ? undefined : "has a body, and is told to have none"
  const type = (headers["content-type"] ?? "").split(";")[0]?.trim() ?? ""
  const told = content[type] ?? content["*/*"]
  if (told === undefined) return `is ${type}, and told to be ${Object.keys(content).join(" or ")}`
  if (!/[/+]json$/.test(type)) return undefined
  // The same object as in the document, since the library identifies schemas by object.
  const schema: unknown = members(told)["schema"]
  const hashed = hashOf(text)
  if (isSchema(schema) && conforming.get(schema)?.has(hashed) === true) return undefined
  const body = jsonOf(text)
  if (body === undefined) return text === "" && content["*/*"] !== undefined ? undefined : "is not JSON"
  if (!isSchema(schema)) return "has no schema"
  const checked = (isShort: boolean) => validate(body, schema, "2020-12", operation.document.lookup, isShort)
  // Almost every answer is valid: all its errors are collected only if there is one.
  if (checked(true).valid) {
    conforming.set(schema, (conforming.get(schema) ?? new Set()).add(hashed))
    return undefined
  }
  return checked(false)
    .errors.map(({ error, instanceLocation }) => `${instanceLocation}: ${error}`)
    .join("; ")
}

const violationOf = (operation: Operation, answered: Answered): string | undefined => {
  const { responses } = operation
  const status = String(answered.status)
  const told = responses[status] ?? responses[`${status.charAt(0)}XX`] ?? responses["default"]
  if (told === undefined) return `is not told of: there are ${Object.keys(responses).join(", ")}`
  const { $ref } = members(told)
  const shared = members(operation.document.components["responses"])
  return bodyViolation(
    operation,
    members(typeof $ref === "string" ? shared[$ref.split("/").at(-1) ?? ""] : told),
    answered
  )
}

/** Read once in a process, whose test files share modules: that takes longer than many a test. */
let operations: ReadonlyArray<Operation> | undefined

/** Checks the answers of one service. Skips what is in no document: pages, and paths that do not exist. */
export const makeDocumentCheck = () => {
  /** How the answer violates its document; `undefined` if it conforms. */
  return (method: string, target: string, answered: Answered): string | undefined => {
    const path = target.split("?")[0] ?? ""
    if (!path.startsWith("/api/v1/")) return undefined
    // Paths without parameters take precedence, as in the service.
    operations ??= ["a", "b", "c", "embed"]
      .flatMap(operationsOf)
      .sort((one, other) => parameters(one) - parameters(other))
    const matching = operations.filter((operation) => operation.method === method && operation.pattern.test(path))
    // Surfaces B and C share paths, and differ in their errors; embed sessions get less.
    const found = matching.filter((operation) => operation.path === matching[0]?.path)
    const violations = found.map((operation) => violationOf(operation, answered))
    const violation = violations.includes(undefined) ? undefined : violations[0]
    return violation === undefined ? undefined : `${method} ${target}: ${answered.status} ${violation}`
  }
}
