/** The options of a connector call: `svc.connector.<slug>.<action>(args, options)`. Contract: runtime calls. */
import type { Json } from "../../../domain/Json.js"
import { isObject } from "../../../domain/Json.js"
import { connectedCall } from "../../../domain/Limits.js"

export interface ConnectorCallOptions {
  /** A connection's label or id; `null`: the customer's default one. */
  readonly connection: string | null
  readonly idempotencyKey: string | null
  readonly timeoutMillis: number | null
  readonly retries: boolean
  /** The result is the page's items and the next page's arguments; the prelude asks for it to iterate. */
  readonly isPaged: boolean
}

const optionNames = new Set(["connection", "idempotencyKey", "timeoutMs", "retry", "page"])

/** The options of a call, or what is wrong with them. */
export const connectorCallOptions = (value: Json | undefined): ConnectorCallOptions | string => {
  if (value === undefined || value === null) {
    return { connection: null, idempotencyKey: null, timeoutMillis: null, retries: true, isPaged: false }
  }
  if (!isObject(value)) return "the options are an object"
  const unknown = Object.keys(value).find((name) => !optionNames.has(name))
  if (unknown !== undefined)
    return `there is no option ${unknown}: there are connection, idempotencyKey, timeoutMs, retry`
  const { connection, idempotencyKey, page, retry, timeoutMs } = value
  if (connection !== undefined && typeof connection !== "string") return "connection is a label or an id"
  if (idempotencyKey !== undefined && (typeof idempotencyKey !== "string" || idempotencyKey === ""))
    return "idempotencyKey is a text that is not empty"
  if (
    timeoutMs !== undefined &&
    (typeof timeoutMs !== "number" || !(timeoutMs >= 1 && timeoutMs <= connectedCall.longestMillis))
  )
    return `timeoutMs is a number from 1 to ${connectedCall.longestMillis}`
  if (retry !== undefined && typeof retry !== "boolean") return "retry is true or false"
  return {
    connection: connection ?? null,
    idempotencyKey: idempotencyKey ?? null,
    timeoutMillis: timeoutMs ?? null,
    retries: retry !== false,
    isPaged: page === true
  }
}
