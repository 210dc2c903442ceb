/** The organisation's actor grants nodes their parts of its limits; Postgres counts what was granted. */
import { Entity } from "@effect/cluster"
import { Duration, Effect } from "effect"
import type { OrganisationId } from "../../domain/Ids.js"
import { Ownership } from "../ports/Ownership.js"
import { PlaceHoldings } from "../ports/organisation/PlaceHoldings.js"
import { RateWindows } from "../ports/organisation/RateLimits.js"
import { OrganisationLimits } from "./Protocol.js"

/** A lease is a quarter of a node's share of the remaining calls, so that no node takes the rest of a window alone. */
const leaseShare = 4

export const layer = OrganisationLimits.toLayer(
  Effect.gen(function* () {
    const windows = yield* RateWindows
    const holdings = yield* PlaceHoldings
    const { nodes } = yield* Ownership
    const { entityId } = yield* Entity.CurrentAddress
    // Entities of this kind are addressed by organisation ids only.
    const organisation = entityId as string as OrganisationId
    /** Remaining calls of each bucket's current window, as of the last lease. */
    const left = new Map<string, { readonly minute: number; readonly calls: number }>()

    const size = (bucket: string, minute: number, limit: number, most: number): number => {
      const known = left.get(bucket)
      const remaining = known?.minute === minute ? known.calls : limit
      return Math.max(1, Math.min(most, Math.floor(remaining / (leaseShare * nodes()))))
    }

    return OrganisationLimits.of({
      LeaseCalls: ({ payload: { bucket, limit, minute, most } }) =>
        windows
          .take(organisation, bucket, minute, size(bucket, minute, limit, most), limit)
          .pipe(Effect.tap((lease) => Effect.sync(() => left.set(bucket, { minute, calls: lease.left })))),
      GiveBack: ({ payload: { bucket, calls, limit, minute } }) =>
        Effect.ignore(windows.take(organisation, bucket, minute, -calls, limit)),
      HoldPlaces: ({ payload }) => Effect.map(holdings.hold({ ...payload, organisation }), (held) => ({ held }))
    })
  }),
  { concurrency: "unbounded", maxIdleTime: Duration.minutes(5), disableFatalDefects: true }
)
