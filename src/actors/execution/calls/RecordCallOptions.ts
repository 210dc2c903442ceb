/** The options of a call of records: `svc.unified.<category>.<entity>.<verb>(args, options)`. Contract: runtime calls. */
import type { JsonObject } from "../../../domain/Json.js"
import type { CallRetry } from "../../ports/connection/ConnectedCalls.js"
import { optionMistake, type OptionTests, retryOf, sharedOptions } from "./ConnectorCallOptions.js"

/** What a call of records asks for besides its arguments. */
export interface RecordCallOptions {
  /** A connection's label, alias or id; null: the customer's. */
  readonly connection: string | null
  /** The connector's slug; null: any that serves the model. */
  readonly provider: string | null
  /** The fingerprint that the record must have; null: any. */
  readonly ifMatch: string | null
  readonly idempotencyKey: string | null
  /** Whether a creation is sent again although an earlier answer was lost. */
  readonly isRepeated: boolean
  readonly retry: CallRetry
  readonly timeoutMillis: number | null
}

const options: OptionTests = {
  ...sharedOptions,
  provider: [(value) => typeof value === "string", "provider is a connector's slug"],
  ifMatch: [(value) => typeof value === "string", "ifMatch is the version that a record was read with"],
  repeat: [(value) => typeof value === "boolean", "repeat is true or false"]
}

/** An option that may be left empty, checked before. */
const optionText = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null)

/** The options of a call, or what is wrong with them. An option that is null is absent. */
export const recordCallOptions = (given: JsonObject): RecordCallOptions | string => {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  const mistake = optionMistake(options, set)
  if (mistake !== undefined) return mistake
  const { connection, idempotencyKey, ifMatch, provider, repeat, retry, timeoutMs } = set
  return {
    connection: optionText(connection),
    provider: optionText(provider),
    ifMatch: optionText(ifMatch),
    idempotencyKey: optionText(idempotencyKey),
    isRepeated: repeat === true,
    retry: retryOf(retry),
    timeoutMillis: typeof timeoutMs === "number" ? timeoutMs : null
  }
}
