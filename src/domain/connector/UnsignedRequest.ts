/**
 * Arguments → unsigned request. Pure: nothing is sent and no credential is known here.
 * Whatever the arguments are, no value leaves its place in path, query, header or body. Contract: connector definition.
 */
import { Either } from "effect"
import type { Json, JsonObject } from "../Json.js"
import type { ActionDefinition } from "./Action.js"
import { actionBaseUrl, expressionName, ownOrigin } from "./BaseUrl.js"
import { type Content, contentOf } from "./RequestContent.js"
import type { ConnectorDefinition } from "./Definition.js"
import { linkToFollow } from "./Pagination.js"
import {
  type CallMistake,
  encodeHeader,
  isDotSegment,
  isObject,
  callMistake,
  encodePathValue,
  encodeQueryPairs
} from "./ValueEncoding.js"
import { evaluate, render, renderMembers, cachedTemplate } from "./Template.js"

export interface CallInput {
  readonly args: Json
  readonly config: { readonly [name: string]: Json }
  /** The same for every attempt of one call; sent where the action has a place for it. */
  readonly idempotencyKey: string
}

export interface UnsignedRequest {
  readonly method: string
  readonly url: string
  /** Scheme, host and port: what the credential is granted for. */
  readonly origin: string
  /** Names in lower case, each once. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: string | Uint8Array | null
  readonly timeoutMillis: number
}

type Headers = UnsignedRequest["headers"]

/** The request of one call. Left: the arguments or the connection's config do not make one. */
export const buildRequest = (
  definition: ConnectorDefinition,
  action: ActionDefinition,
  input: CallInput
): Either.Either<UnsignedRequest, CallMistake> => {
  const scope: JsonObject = {
    args: input.args,
    connection: { config: input.config },
    idempotencyKey: input.idempotencyKey.slice(0, action.idempotency?.maxLength)
  }
  return Either.gen(function* () {
    const base = yield* actionBaseUrl(definition, action, input.config)
    const link = yield* linkToFollow(action, input.args, base.origin)
    const url = link ?? `${base.origin}${yield* targetOf(action, base.path, scope)}`
    const content = yield* contentOf(action, scope)
    const headers = yield* headersOf(action, content, scope)
    return {
      method: action.request.method,
      url,
      origin: base.origin,
      headers,
      body: content.body,
      timeoutMillis: action.timeoutMs
    }
  })
}

// --- Path and query ---

const targetOf = (action: ActionDefinition, basePath: string, scope: JsonObject): Either.Either<string, CallMistake> =>
  Either.gen(function* () {
    const { path, query } = yield* pathOf(action, scope)
    const joined = path === "" || path === "/" ? `${basePath}${path}` : `${basePath}/${path.replace(/^\//, "")}`
    const pairs = [...(query === "" ? [] : [query]), ...(yield* queryOf(action, scope))]
    return `${joined === "" ? "/" : joined}${pairs.length === 0 ? "" : `?${pairs.join("&")}`}`
  })

/** The path with its values, and the query that it may have in plain text. */
const pathOf = (
  { request }: ActionDefinition,
  scope: JsonObject
): Either.Either<{ readonly path: string; readonly query: string }, CallMistake> => {
  const text = request.path.slice(ownOrigin(request.path)?.length ?? 0)
  let path = ""
  for (const part of cachedTemplate(text)) {
    if (part._tag === "Text") path += part.text
    else {
      const value = evaluate(part.operands, scope)
      const name = expressionName(part.operands)
      const encoded = path.includes("?")
        ? Either.right(encodeURIComponent(String(value ?? "").toWellFormed()))
        : encodePathValue(value, name, request.pathValues === "segments")
      if (Either.isLeft(encoded)) return Either.left(encoded.left)
      path += encoded.right
    }
  }
  const [before = "", ...query] = path.split("?")
  if (path.includes("#")) return callMistake("request.path", "has a fragment")
  if (before.split(/[/\\]/).some(isDotSegment)) return callMistake("request.path", 'has "." or ".." as a part')
  return Either.right({ path: before, query: query.join("?") })
}

const queryOf = (action: ActionDefinition, scope: JsonObject): Either.Either<ReadonlyArray<string>, CallMistake> =>
  Either.gen(function* () {
    const { idempotency, request } = action
    const pairs: Array<string> = []
    for (const [name, value] of Object.entries(yield* renderObject(request.query, scope, "request.query"))) {
      const style = Object.hasOwn(request.queryStyles, name) ? request.queryStyles[name] : undefined
      pairs.push(...(yield* encodeQueryPairs(name, value, style ?? request.queryStyle, `query.${name}`)))
    }
    if (idempotency?.query !== undefined) {
      pairs.push(
        ...(yield* encodeQueryPairs(idempotency.query, scope["idempotencyKey"] ?? null, "repeat", "idempotencyKey"))
      )
    }
    return pairs
  })

/** An object of templates, or the one template that yields the whole object; members without a value are left out. */
const renderObject = (
  members: string | JsonObject,
  scope: JsonObject,
  path: string
): Either.Either<JsonObject, CallMistake> => {
  if (typeof members !== "string") return Either.right(renderMembers(members, scope))
  const value = render(members, scope)
  if (value === null) return Either.right({})
  return isObject(value) ? Either.right(value) : callMistake(path, "must be an object")
}

// --- Headers ---

const headersOf = (
  action: ActionDefinition,
  content: Content,
  scope: JsonObject
): Either.Either<Headers, CallMistake> =>
  Either.gen(function* () {
    const headers = new Map<string, string>([["accept", accepts[action.response.type]]])
    if (content.type !== null) headers.set("content-type", content.type)
    for (const [name, value] of Object.entries(yield* renderObject(action.request.headers, scope, "request.headers"))) {
      if (value === null) continue
      const [key, text] = yield* encodeHeader(name, value, `headers.${name}`)
      headers.set(key, text)
    }
    if (action.idempotency?.header !== undefined) {
      const [key, text] = yield* encodeHeader(
        action.idempotency.header,
        scope["idempotencyKey"] ?? "",
        "idempotencyKey"
      )
      headers.set(key, text)
    }
    return [...headers]
  })

const accepts = { json: "application/json", text: "*/*", base64: "*/*", auto: "*/*" } as const
