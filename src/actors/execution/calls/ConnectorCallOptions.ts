/** The options of a connector call: `svc.connector.<slug>.<action>(args, options)`. Contract: runtime calls. */
import { Schema } from "effect"
import type { Json } from "../../../domain/Json.js"
import { Retry } from "../../../domain/run/Execution.js"
import { isObject } from "../../../domain/Json.js"
import { connectedCall } from "../../../domain/Limits.js"

export interface ConnectorCallOptions {
  /** A connection's label or id; `null`: the customer's default one. */
  readonly connection: string | null
  readonly idempotencyKey: string | null
  readonly timeoutMillis: number | null
  /** Replaces the connector's rule; `none`: one attempt. */
  readonly retry: Partial<Retry> | "none" | null
  /** A version of the action instead of the bound one. */
  readonly version: number | null
  /** The result is the page's items and the next page's arguments; the prelude asks for it to iterate. */
  readonly isPaged: boolean
}

const isRetry = Schema.is(Schema.Union(Schema.Boolean, Schema.partialWith(Retry, { exact: true })))

/** What each option may be, and what is said of another value. */
const options: { readonly [name: string]: readonly [test: (value: Json) => boolean, message: string] } = {
  connection: [(value) => typeof value === "string", "connection is a label or an id"],
  idempotencyKey: [(value) => typeof value === "string" && value !== "", "idempotencyKey is a text that is not empty"],
  timeoutMs: [
    (value) => typeof value === "number" && value >= 1 && value <= connectedCall.longestMillis,
    `timeoutMs is a number from 1 to ${connectedCall.longestMillis}`
  ],
  retry: [
    isRetry,
    "retry is true, false, or has maxAttempts (1 to 10), backoff, initialMs, coefficient, maxMs and jitter"
  ],
  version: [
    (value) => Number.isInteger(value) && Number(value) >= 1,
    "version is the number of a version of the action"
  ],
  page: [() => true, ""]
}

/** The options of a call, or what is wrong with them. */
export const connectorCallOptions = (value: Json | undefined): ConnectorCallOptions | string => {
  const given = value ?? {}
  if (!isObject(given)) return "the options are an object"
  for (const [name, one] of Object.entries(given)) {
    const option = Object.hasOwn(options, name) ? options[name] : undefined
    if (option === undefined)
      return `there is no option ${name}: there are connection, idempotencyKey, timeoutMs, retry, version`
    if (!option[0](one)) return option[1]
  }
  const { connection = null, idempotencyKey = null, page, retry, timeoutMs = null, version = null } = given
  return {
    // Checked above.
    connection: connection as string | null,
    idempotencyKey: idempotencyKey as string | null,
    timeoutMillis: timeoutMs as number | null,
    retry: typeof retry === "object" ? (retry as Partial<Retry>) : retry === false ? "none" : null,
    version: version as number | null,
    isPaged: page === true
  }
}
