/** How the tool gateways refuse: in the form of JSON-RPC, with the error of the other surfaces as its data. Contract: errors. */
import type { Json } from "../../domain/Json.js"
import { errorBody, errorReply, errorRow } from "../ErrorRows.js"
import { defaultRules, type SurfaceRules } from "../pipeline/Pipeline.js"
import { jsonReply, type RawReply } from "../Wire.js"

/** The codes of JSON-RPC 2.0 that the gateways answer. `refused`: an error of the service. */
export const rpcCodes = {
  parse: -32700,
  invalidRequest: -32600,
  invalidParams: -32602,
  internal: -32603,
  refused: -32000
} as const

const codeOf = (status: number): number => {
  if (status >= 500 && status !== 503) return rpcCodes.internal
  return [400, 413, 415, 422].includes(status) ? rpcCodes.invalidRequest : rpcCodes.refused
}

/** The reply to messages that are refused as a whole, which names none of them. */
export const messageRefusal = (
  status: number,
  error: { readonly code: number; readonly message: string; readonly data?: Json }
): RawReply => jsonReply(status, { jsonrpc: "2.0", id: null, error })

const replyOf: SurfaceRules["errorReply"] = (row, requestId) => {
  const data = errorBody(row, requestId)
  const error = { code: codeOf(row.status), message: row.message, data: data as Json }
  const { headers } = errorReply(row, requestId)
  const reply = messageRefusal(row.status, error)
  return { ...reply, headers: { ...headers, ...reply.headers } }
}

/** The rules that the pipeline applies to the gateways that are known by a URL alone. */
export const gatewayRules: SurfaceRules = {
  ...defaultRules,
  isOpenToPages: false,
  isKnownByUrl: true,
  keyHint: "send Authorization: Bearer <key>, x-svc-api-key: <key>, or api_key in the URL",
  failureReply: (failure, requestId, now) => replyOf(errorRow(failure, now), requestId),
  errorReply: replyOf
}
