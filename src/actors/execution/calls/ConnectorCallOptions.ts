/** The options of a connector call: `svc.connector.<slug>.<action>(args, options)`. Contract: runtime calls. */
import { Schema } from "effect"
import { isObject, type Json, type JsonObject } from "../../../domain/Json.js"
import { Retry } from "../../../domain/run/Execution.js"
import { connectedCall } from "../../../domain/Limits.js"
import type { CallRetry } from "../../ports/connection/ConnectedCalls.js"

export interface ConnectorCallOptions {
  /** A connection's label or id; `null`: the customer's default one. */
  readonly connection: string | null
  readonly idempotencyKey: string | null
  readonly timeoutMillis: number | null
  readonly retry: CallRetry
  /** A version of the action instead of the bound one. */
  readonly version: number | null
  /** The result is the page's items and the next page's arguments; the prelude asks for it to iterate. */
  readonly isPaged: boolean
}

const isRetry = Schema.is(Schema.Union(Schema.Boolean, Schema.partialWith(Retry, { exact: true })))

/** What each option may be, and what is said of another value. */
export interface OptionTests {
  readonly [name: string]: readonly [test: (value: Json) => boolean, message: string]
}

/** Options of connectors' actions and of calls of records. */
export const sharedOptions: OptionTests = {
  connection: [(value) => typeof value === "string", "connection is a label or an id"],
  idempotencyKey: [(value) => typeof value === "string" && value !== "", "idempotencyKey is a text that is not empty"],
  timeoutMs: [
    (value) => typeof value === "number" && value >= 1 && value <= connectedCall.longestMillis,
    `timeoutMs is a number from 1 to ${connectedCall.longestMillis}`
  ],
  retry: [
    isRetry,
    "retry is true, false, or has maxAttempts (1 to 10), backoff, initialMs, coefficient, maxMs and jitter"
  ]
}

const options: OptionTests = {
  ...sharedOptions,
  version: [
    (value) => Number.isInteger(value) && Number(value) >= 1,
    "version is the number of a version of the action"
  ],
  page: [() => true, ""]
}

/** What is wrong with the options of a call; `undefined` if nothing is. `page` is the prelude's own. */
export const optionMistake = (tests: OptionTests, given: JsonObject): string | undefined => {
  for (const [name, one] of Object.entries(given)) {
    const option = Object.hasOwn(tests, name) ? tests[name] : undefined
    if (option === undefined) {
      const names = Object.keys(tests).filter((known) => known !== "page")
      return `there is no option ${name.slice(0, 60)}: there are ${names.join(", ")}`
    }
    if (!option[0](one)) return option[1]
  }
  return undefined
}

/** The retries that a call asks for. */
export const retryOf = (retry: Json | undefined): CallRetry =>
  typeof retry === "object" ? (retry as Partial<Retry>) : retry === false ? "none" : null

/** The options of a call, or what is wrong with them. */
export const connectorCallOptions = (value: Json | undefined): ConnectorCallOptions | string => {
  const given = value ?? {}
  if (!isObject(given)) return "the options are an object"
  const mistake = optionMistake(options, given)
  if (mistake !== undefined) return mistake
  const { connection = null, idempotencyKey = null, page, retry, timeoutMs = null, version = null } = given
  return {
    // Checked above.
    connection: connection as string | null,
    idempotencyKey: idempotencyKey as string | null,
    timeoutMillis: timeoutMs as number | null,
    retry: retryOf(retry),
    version: version as number | null,
    isPaged: page === true
  }
}
