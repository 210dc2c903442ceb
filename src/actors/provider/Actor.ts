/**
 * The owner of a limit that a provider counts over all connections of a connector. Each lease is stored before it answers,
 * so that the next owner knows of it.
 */
import { Entity } from "@effect/cluster"
import { Duration, Effect } from "effect"
import { ProviderWindows } from "../ports/connection/ProviderWindows.js"
import { makeStoredLimit } from "../StoredLimit.js"
import { ProviderLimit } from "./Protocol.js"

export const layer = ProviderLimit.toLayer(
  Effect.gen(function* () {
    const windows = yield* ProviderWindows
    const { entityId } = yield* Entity.CurrentAddress
    const [organisation = "", connector = ""] = entityId.split("|")
    const limit = makeStoredLimit(windows, { organisation, connector })

    return ProviderLimit.of({
      LeaseCalls: ({ payload: { limits, ...asked } }) => limit.lease(limits, asked),
      Report: ({ payload: { leases, limits, reading } }) => limit.report(limits, leases, reading),
      Keep: ({ payload: { forMillis, ids } }) => limit.keep(ids, forMillis)
    })
  }),
  { maxIdleTime: Duration.minutes(1), disableFatalDefects: true }
)
