/** How callers are answered when a call of a provider fails: on the proxy and on the unified API. Contract: errors. */
import { Clock, Effect } from "effect"
import type { RecordCallFailed } from "../../ports/unified/UnifiedRecords.js"
import type { CallFailed } from "../../ports/connection/ConnectedCalls.js"
import {
  ConnectionInactive,
  type Failure,
  ProviderFailed,
  ProviderLimited,
  ProviderTimedOut
} from "../../../domain/Failure.js"

/** The failure that the caller gets for a failed call, which may be one already. `now`: Unix milliseconds. */
const failureOf = (connector: string, now: number, failed: CallFailed | Failure): Failure => {
  switch (failed._tag) {
    case "Postponed":
      return new ProviderLimited({ connector, retryAfterSeconds: Math.max(1, Math.ceil((failed.at - now) / 1000)) })
    case "ProviderRefused": {
      const { body, category, message, status } = failed.failure
      return category === "timeout"
        ? new ProviderTimedOut({ connector, message })
        : new ProviderFailed({ connector, status, body, message })
    }
    case "ConnectionNotActive":
      return new ConnectionInactive({ message: failed.message })
    default:
      return failed
  }
}

/** Answers failed calls of a record's provider. */
export const answerRecordFailures = <A, R>(
  call: Effect.Effect<A, RecordCallFailed | Failure, R>
): Effect.Effect<A, Failure, R> =>
  Effect.catchTag(call, "RecordCallFailed", ({ connector, failed }) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(failureOf(connector, now, failed)))
  )

/** Answers failed calls of a connector. */
export const answerCallFailures = <A, R>(
  connector: string,
  call: Effect.Effect<A, CallFailed | Failure, R>
): Effect.Effect<A, Failure, R> =>
  Effect.catchAll(call, (failed) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(failureOf(connector, now, failed)))
  )
