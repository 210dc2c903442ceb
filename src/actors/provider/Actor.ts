/**
 * The owner of a limit that a provider counts over all connections of a connector. Handles messages one at a time and
 * stores each lease before it answers, so that the next owner knows of it.
 */
import { Entity } from "@effect/cluster"
import { Clock, Duration, Effect } from "effect"
import {
  extendLeases,
  leaseCalls,
  observeQuota,
  reportUse,
  type SharedState
} from "../../domain/connection/SharedLimiter.js"
import { ProviderWindows, type StoredWindow } from "../ports/connection/ProviderWindows.js"
import { Unavailable } from "../../domain/Failure.js"
import { ProviderLimit } from "./Protocol.js"

const maxAttempts = 3

export const layer = ProviderLimit.toLayer(
  Effect.gen(function* () {
    const windows = yield* ProviderWindows
    const { entityId } = yield* Entity.CurrentAddress
    const [organisation = "", connector = ""] = entityId.split("|")
    let cached: StoredWindow | undefined

    /** Decides on the stored state and saves the result; decides again when another owner saved first. */
    const decideAndStore = Effect.fnUntraced(function* <A extends { readonly state: SharedState }>(
      decide: (state: SharedState, now: number) => A
    ) {
      for (let n = 0; n < maxAttempts; n++) {
        const window = cached ?? (yield* windows.load(organisation, connector))
        const decided = decide(window.state, yield* Clock.currentTimeMillis)
        const next = { state: decided.state, revision: window.revision + 1 }
        cached = undefined
        const stored = yield* windows.save(organisation, connector, { ...next, revision: window.revision })
        if (!stored) continue
        cached = next
        return decided
      }
      return yield* new Unavailable({ reason: "the limit is being changed elsewhere", retryAfterSeconds: 1 })
    })

    return ProviderLimit.of({
      LeaseCalls: ({ payload: { limits, ...asked } }) =>
        Effect.map(
          decideAndStore((state, now) => leaseCalls(limits, state, asked, now)),
          (answer) =>
            answer._tag === "Leased"
              ? { _tag: "Leased", count: answer.lease.count, at: answer.lease.at }
              : { _tag: "WaitUntil", at: answer.at }
        ),
      Report: ({ payload: { leases, limits, reading } }) =>
        Effect.asVoid(
          decideAndStore((state, now) => {
            const reported = leases.reduce((all, one) => reportUse(limits, all, one, now), state)
            return { state: reading === null ? reported : observeQuota(reported, reading, now) }
          })
        ),
      Keep: ({ payload: { forMillis, ids } }) =>
        Effect.asVoid(decideAndStore((state, now) => ({ state: extendLeases(state, ids, now + forMillis) })))
    })
  }),
  { maxIdleTime: Duration.minutes(1), disableFatalDefects: true }
)
