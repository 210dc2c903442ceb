/**
 * Builds the request of an action from its arguments, without credential and signature. Pure.
 * No argument can change the structure of path, query, headers or body. Contract: connector definition.
 */
import { Either } from "effect"
import { type Json, type JsonObject, isObject } from "../../Json.js"
import type { ActionDefinition } from "../Action.js"
import { actionBaseUrl, expressionName, ownOrigin } from "./BaseUrl.js"
import { type Content, contentOf } from "./RequestContent.js"
import type { ConnectorDefinition } from "../Definition.js"
import { withoutPageMemory } from "./PageMemory.js"
import { linkToFollow } from "./Pagination.js"
import {
  type CallMistake,
  encodeCookies,
  encodeHeader,
  encodeItems,
  isDotSegment,
  callMistake,
  encodePathValue,
  encodeQueryPairs
} from "./ValueEncoding.js"
import { asText, evaluate, render, renderMembers, renderText, cachedTemplate } from "../../expression/Template.js"

/** The input of one call. */
export interface CallInput {
  readonly args: Json
  readonly config: { readonly [name: string]: Json }
  /** The same for every attempt of a call; sent if the action declares where. */
  readonly idempotencyKey: string
}

/** A request before its credential is injected. */
export interface UnsignedRequest {
  readonly method: string
  readonly url: string
  /** Scheme, host and port, to which the credential is sealed. */
  readonly origin: string
  /** Names are lower case and unique. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: string | Uint8Array | null
  readonly timeoutMillis: number
}

type Headers = UnsignedRequest["headers"]

/** The request of one call. Left: the mistake in the arguments or in the connection's config. */
export const buildRequest = (
  definition: ConnectorDefinition,
  action: ActionDefinition,
  input: CallInput
): Either.Either<UnsignedRequest, CallMistake> => {
  const scope: JsonObject = {
    args: withoutPageMemory(input.args),
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

/** The rendered path, and the query that the path has in plain text. */
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
        ? Either.right(encodeItems(value))
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
    const query = withQuotedTexts(request, yield* renderObject(request.query, scope, "request.query"), scope)
    for (const [name, value] of Object.entries(query)) {
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

/** The query with the parameters of `queryTexts` rendered again, so that no value ends a text in quotes. */
const withQuotedTexts = (
  { query, queryTexts = [] }: ActionDefinition["request"],
  rendered: JsonObject,
  scope: JsonObject
): JsonObject => {
  if (typeof query === "string") return rendered
  const escaped = queryTexts.flatMap((name): ReadonlyArray<readonly [string, Json]> => {
    const template = Object.hasOwn(query, name) ? query[name] : undefined
    return typeof template === "string" && Object.hasOwn(rendered, name)
      ? [[name, renderText(template, scope, (value) => asText(value).replace(/[\\'"]/g, "\\$&"))]]
      : []
  })
  return { ...rendered, ...Object.fromEntries(escaped) }
}

/** Renders an object of templates, or one template whose value is an object; members without a value are left out. */
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
    const cookies = encodeCookies(renderMembers(action.request.cookies ?? {}, scope))
    if (cookies.length > 0) headers.set("cookie", [headers.get("cookie") ?? [], ...cookies].flat().join("; "))
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
