/**
 * A tool that calls an operation of the REST surfaces, by whose row the call is guarded, decoded, audited and answered. A row
 * says where each argument goes. Contract: tool gateways.
 */
import { Either } from "effect"
import { didYouMean } from "../../domain/ClosestName.js"
import { invalid, type ValidationFailed } from "../../domain/Failure.js"
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { headerBytes } from "../../domain/Limits.js"
import type { Contract } from "../operation/Contract.js"
import type { RawReply, RawRequest, RequestHead } from "../Wire.js"
import type { OfferedTool, ToolAnswer } from "./ToolProtocol.js"

/** An argument of a tool: its JSON Schema, and whether the call must have it. */
export interface ToolArgument {
  readonly schema: JsonObject
  readonly isRequired: boolean
}

/**
 * Where an argument goes in the request of the operation. `body`: a member of the body by its path, as in `import.source`.
 * `wholeBody`: it is the body. `version`: the record's version that must be the current one.
 */
export type ArgumentPlace =
  | { readonly path: string }
  | { readonly query: string }
  | { readonly body: string }
  | "wholeBody"
  | "version"

/** The operation of a call, and where its arguments go; those without a place do not concern it. */
export interface OperationUse {
  readonly operation: Contract
  readonly places: { readonly [argument: string]: ArgumentPlace }
  /** Used only by calls that have this argument. */
  readonly when?: string
  /** Parameters of the query of every call, unless an argument has them. */
  readonly query?: { readonly [parameter: string]: string }
}

/** A row of a gateway's table. */
export interface OperationTool extends Omit<OfferedTool, "annotations" | "inputSchema"> {
  readonly arguments: { readonly [name: string]: ToolArgument }
  /** In the order in which they are looked at; the last has no `when`. */
  readonly uses: readonly [OperationUse, ...ReadonlyArray<OperationUse>]
  /** It deletes, or ends something that cannot be begun again. */
  readonly isDestructive?: boolean
  /** It reaches other systems than this service. */
  readonly isOpenWorld?: boolean
}

/** The tool, as clients see it. */
export const offeredTool = (tool: OperationTool): OfferedTool => {
  const [{ operation }] = tool.uses
  const inputs = Object.entries(tool.arguments)
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(inputs.map(([name, { schema }]) => [name, schema])),
      required: inputs.flatMap(([name, { isRequired }]) => (isRequired ? [name] : [])),
      additionalProperties: false
    },
    annotations: {
      readOnlyHint: operation.method === "GET" || tool.name.endsWith("_discover"),
      destructiveHint: tool.isDestructive === true,
      idempotentHint: ["GET", "PUT", "DELETE"].includes(operation.method),
      openWorldHint: tool.isOpenWorld === true
    }
  }
}

// --- Calls ---

const isOfType: { readonly [type: string]: (value: Json) => boolean } = {
  string: (value) => typeof value === "string",
  integer: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === "boolean",
  object: isObject,
  array: Array.isArray
}

/** What is wrong with the value of an argument; the operation checks the rest. */
const valueMistake = ({ schema }: ToolArgument, value: Json): string | undefined => {
  const { enum: choices, type } = schema
  const types = Array.isArray(type) ? type : [type ?? "object"]
  if (!types.some((one) => isOfType[String(one)]?.(value) === true)) return `must be of the type ${types.join(" or ")}`
  return Array.isArray(choices) && !choices.includes(value) ? `must be one of ${choices.join(", ")}` : undefined
}

const mistakeIn = ({ arguments: inputs }: OperationTool, sent: JsonObject): ValidationFailed | undefined => {
  for (const [name, argument] of Object.entries(inputs)) {
    const value = sent[name] ?? null
    if (value === null && argument.isRequired) return invalid(name, "REQUIRED", "is required")
    const message = value === null ? undefined : valueMistake(argument, value)
    if (message !== undefined) return invalid(name, "INVALID_VALUE", message)
  }
  const unknown = Object.keys(sent).find((name) => !Object.hasOwn(inputs, name))
  return unknown === undefined
    ? undefined
    : invalid(
        unknown.slice(0, 100),
        "UNKNOWN_FIELD",
        `is no argument of this tool.${didYouMean(unknown, Object.keys(inputs))}`
      )
}

/** The object with the value at the path, whose earlier parts are objects. */
const withMember = (object: JsonObject, path: string, value: Json): JsonObject => {
  const [name = "", ...rest] = path.split(".")
  if (rest.length === 0) return { ...object, [name]: value }
  const inner = object[name]
  return { ...object, [name]: withMember(isObject(inner ?? null) ? (inner as JsonObject) : {}, rest.join("."), value) }
}

/** The request of an operation for which a tool was called. */
export interface ToolRequest {
  readonly use: OperationUse
  readonly params: { readonly [name: string]: string }
  readonly request: RawRequest
}

const encoder = new TextEncoder()

const useOf = ({ uses }: OperationTool, sent: JsonObject): OperationUse =>
  uses.find(({ when }) => when === undefined || (sent[when] ?? null) !== null) ?? uses[0]

/** The request of a call whose arguments are wrong, which is guarded as the others are before it is refused. */
export const unreadRequest = (tool: OperationTool, head: RequestHead, sent: JsonObject): ToolRequest => {
  const use = useOf(tool, sent)
  const { method, path } = use.operation
  const request = { method, target: path, headers: {}, remoteAddress: head.remoteAddress, body: new Uint8Array() }
  return { use, params: {}, request }
}

/** The request that a call asks for. `head`: of the request that has the call; of its headers none is taken over. */
export const toolRequest = (
  tool: OperationTool,
  head: RequestHead,
  sent: JsonObject
): Either.Either<ToolRequest, ValidationFailed> => {
  const mistake = mistakeIn(tool, sent)
  if (mistake !== undefined) return Either.left(mistake)
  const use = useOf(tool, sent)
  const { operation, places } = use
  const params: { [name: string]: string } = {}
  const query = new URLSearchParams(use.query)
  const headers: { [name: string]: string } = {}
  let body: Json = {}
  for (const [name, place] of Object.entries(places)) {
    const value = sent[name] ?? null
    if (value === null) continue
    if (place === "wholeBody") body = value
    else if (place === "version") headers["if-match"] = `"${String(value)}"`
    else if ("body" in place) body = withMember(isObject(body) ? body : {}, place.body, value)
    else if ("query" in place) query.set(place.query, String(value))
    // It is taken literally, also a slash or a question mark.
    else params[place.path] = encodeURIComponent(String(value))
    if (value === "" && typeof place === "object" && "path" in place)
      return Either.left(invalid(name, "REQUIRED", "must not be empty"))
  }
  const text = query.toString()
  if (text.length > headerBytes)
    return Either.left(invalid("", "TOO_LONG", `the arguments have more than ${headerBytes} characters in all`))
  const path = operation.path.replace(/:(\w+)/g, (_, name: string) => params[name] ?? "")
  const hasBody = operation.input.body !== undefined && operation.method !== "GET"
  return Either.right({
    use,
    params,
    request: {
      method: operation.method,
      target: text === "" ? path : `${path}?${text}`,
      headers: hasBody ? { ...headers, "content-type": "application/json" } : headers,
      remoteAddress: head.remoteAddress,
      body: hasBody ? encoder.encode(JSON.stringify(body)) : new Uint8Array()
    }
  })
}

// --- Answers ---

/** The largest text of an answer that agents are given as such, in characters; the rest is in the structured value only. */
export const answerCharacters = 64 * 1024

const cutText = (text: string): string =>
  text.length <= answerCharacters
    ? text
    : `${text.slice(0, answerCharacters)}… (cut: the answer has ${text.length} characters, which structuredContent has in full)`

/** The longest answer that is also given as a value, in characters of JSON: each copy of it is made on the main loop. */
const structuredCharacters = 1024 * 1024

const decoder = new TextDecoder()

const textIn = ({ body }: RawReply): string =>
  typeof body === "string" ? body : body instanceof Uint8Array ? decoder.decode(body) : ""

const valueIn = (text: string): Json => (text === "" ? null : (JSON.parse(text) as Json))

/** The answer whose value would be too large: its beginning. What the call did stays done. */
const longAnswer = (text: string): ToolAnswer => ({
  isError: false,
  text: `${text.slice(0, answerCharacters)}… (cut: the answer has ${text.length} characters, and a tool gives at most ${structuredCharacters}; the API gives all of it)`,
  structured: undefined
})

/** The record without its envelope, with the number of its changes where its own `version` is another; a list as it is. */
const recordIn = (value: JsonObject, etag: string | undefined): JsonObject => {
  const data = value["data"] ?? null
  const record = Object.keys(value).length === 1 && isObject(data) ? data : value
  const revision = /^"(\d+)"$/.exec(etag ?? "")?.[1]
  return revision === undefined || isObject(data) === false || data["version"] === Number(revision)
    ? record
    : { ...record, revision: Number(revision) }
}

/** The name of the argument that became a member of the request: `source[0]` for `import.source[0]`. */
const argumentPath = ({ places }: OperationUse, path: string): string => {
  for (const [argument, place] of Object.entries(places)) {
    const member = typeof place === "string" ? "" : "body" in place ? place.body : "query" in place ? place.query : ""
    const rest = path.slice(member.length)
    if (member !== "" && path.startsWith(member) && /^(?:[.[]|$)/.test(rest)) return `${argument}${rest}`
  }
  return path
}

/** The refusal of an operation, with the names of arguments instead of those of the members that they became. */
const refusalIn = (error: JsonObject, use: OperationUse): JsonObject => {
  const { details, message } = error
  if (!Array.isArray(details) || typeof message !== "string") return error
  const [first] = details
  const before = isObject(first) ? String(first["path"]) : ""
  const after = argumentPath(use, before)
  return {
    ...error,
    message: before !== "" && message.startsWith(`${before} `) ? `${after}${message.slice(before.length)}` : message,
    details: details.map((one) =>
      isObject(one) && typeof one["path"] === "string" ? { ...one, path: argumentPath(use, one["path"]) } : one
    )
  }
}

/** The answer to a call, from the reply of its operation. */
export const toolAnswer = (reply: RawReply, use: OperationUse): ToolAnswer => {
  const json = textIn(reply)
  if (reply.status < 400 && json.length > structuredCharacters) return longAnswer(json)
  const value = valueIn(json)
  if (reply.status >= 400) {
    const error = isObject(value) ? refusalIn(value, use) : { message: "the call was refused" }
    return { isError: true, text: JSON.stringify(error), structured: error }
  }
  const structured = isObject(value) ? recordIn(value, reply.headers["etag"]) : { done: true }
  return { isError: false, text: cutText(JSON.stringify(structured)), structured }
}
