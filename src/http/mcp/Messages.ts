/**
 * Reads the JSON-RPC messages of a request to a tool gateway: one, or a batch of protocol version 2025-03-26. What of them is
 * wrong by itself the library that speaks the protocol answers.
 */
import { Either } from "effect"
import { isObject, type Json } from "../../domain/Json.js"
import { firstRounded, hasLongDigits, isSchemaBound } from "../../domain/LargeIntegers.js"
import { bodyBytes } from "../../domain/Limits.js"
import { InvalidRequest } from "../../domain/Failure.js"
import { readJson, roundedRefusal } from "../JsonBody.js"
import type { RawReply, RawRequest } from "../Wire.js"
import { messageRefusal, rpcCodes } from "./GatewayRules.js"
import type { Failure } from "../../domain/Failure.js"

/** The most messages of a batch. */
const batchSize = 20

/** The version whose clients send batches; it has no header that names it. */
const batchVersion = "2025-03-26"

/** The messages of a request. */
export interface Messages {
  /** One message, or those of a batch. */
  readonly body: Json
  /** How many of them want an answer. */
  readonly requests: number
}

/** Whether an integer at this path may be rounded: in a bound of a schema, and in a document that is imported. */
const mayBeRounded = (path: string): boolean => isSchemaBound(path) || /(?:^|\.)arguments\.source(?:\.|\[|$)/.test(path)

const idOf = (message: Json): string | number | undefined => {
  if (!isObject(message) || typeof message["method"] !== "string") return undefined
  const id = message["id"]
  return typeof id === "string" || typeof id === "number" ? id : undefined
}

const refused = (code: number, message: string) => Either.left(messageRefusal(400, { code, message }))

const readBatch = (batch: ReadonlyArray<Json>, version: string): Either.Either<Messages, RawReply> => {
  if (version !== batchVersion)
    return refused(rpcCodes.invalidRequest, `protocol version ${version.slice(0, 40)} has no batches: send one message`)
  if (batch.length === 0 || batch.length > batchSize)
    return refused(rpcCodes.invalidRequest, `a batch has from 1 to ${batchSize} messages, not ${batch.length}`)
  const ids = batch.map(idOf).filter((id) => id !== undefined)
  const repeated = ids.find((id, at) => ids.indexOf(id) !== at)
  if (repeated !== undefined)
    return refused(
      rpcCodes.invalidRequest,
      `two requests of the batch have the id ${JSON.stringify(repeated).slice(0, 80)}`
    )
  // Notifications have no effect here: each request stands alone, so that there is nothing to cancel or to begin.
  const isNotification = (message: Json) => isObject(message) && "method" in message && !("id" in message)
  const body = ids.length === 0 ? batch : batch.filter((message) => !isNotification(message))
  return Either.right({ body, requests: ids.length })
}

/** The messages; left: the reply that refuses them, or the failure of a body that is none of the protocol. */
export const readMessages = (request: RawRequest): Either.Either<Messages, RawReply | Failure> => {
  const body = readJson(request, bodyBytes.management, (text, value) => {
    const rounded = hasLongDigits(request.body) ? firstRounded(text, mayBeRounded) : undefined
    return rounded === undefined ? Either.right(value) : Either.left(roundedRefusal(rounded, "send it as text"))
  })
  if (Either.isLeft(body))
    return body.left instanceof InvalidRequest ? refused(rpcCodes.parse, body.left.message) : Either.left(body.left)
  const value = body.right
  if (value === undefined) return refused(rpcCodes.parse, "the body is empty: send a JSON-RPC message")
  if (Array.isArray(value)) return readBatch(value, request.headers["mcp-protocol-version"] ?? batchVersion)
  return Either.right({ body: value, requests: idOf(value) === undefined ? 0 : 1 })
}
