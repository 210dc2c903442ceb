/**
 * The owner of a provider's limit. Messages come one after the other; what is granted is stored before it is answered,
 * so that whoever owns the limit next knows of it.
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
import { ProviderWindows, type StoredWindow } from "../ports/ProviderWindows.js"
import { ProviderLimit } from "./Protocol.js"

const attempts = 3

export const layer = ProviderLimit.toLayer(
  Effect.gen(function* () {
    const windows = yield* ProviderWindows
    const { entityId } = yield* Entity.CurrentAddress
    const [organisation = "", connector = ""] = entityId.split("|")
    let held: StoredWindow | undefined

    /** Decides on what is stored, and again where another owner was quicker. */
    const changed = <A extends { readonly state: SharedState }>(decide: (state: SharedState, now: number) => A) =>
      Effect.gen(function* () {
        for (let n = 0; n < attempts; n++) {
          const window = held ?? (yield* windows.load(organisation, connector))
          const decided = decide(window.state, yield* Clock.currentTimeMillis)
          const next = { state: decided.state, revision: window.revision + 1 }
          held = undefined
          const stored = yield* windows.save(organisation, connector, { ...next, revision: window.revision })
          if (!stored) continue
          held = next
          return decided
        }
        return yield* Effect.fail("unavailable" as const)
      }).pipe(Effect.mapError(() => "unavailable" as const))

    return ProviderLimit.of({
      LeaseCalls: ({ payload: { limits, ...asked } }) =>
        Effect.map(
          changed((state, now) => leaseCalls(limits, state, asked, now)),
          (answer) =>
            answer._tag === "Leased"
              ? { _tag: "Leased", count: answer.lease.count, at: answer.lease.at }
              : { _tag: "WaitUntil", at: answer.at }
        ),
      Report: ({ payload: { leases, limits, reading } }) =>
        Effect.asVoid(
          changed((state, now) => {
            const reported = leases.reduce((all, one) => reportUse(limits, all, one, now), state)
            return { state: reading === null ? reported : observeQuota(reported, reading, now) }
          })
        ),
      Keep: ({ payload: { forMillis, ids } }) =>
        Effect.asVoid(changed((state, now) => ({ state: extendLeases(state, ids, now + forMillis) })))
    })
  }),
  { maxIdleTime: Duration.minutes(1), disableFatalDefects: true }
)
