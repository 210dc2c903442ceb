/** The tenant actor: one per organisation. It decides how large a lease is; the database counts what was granted. */
import { Entity } from "@effect/cluster"
import { Duration, Effect } from "effect"
import type { OrganisationId } from "../../domain/Ids.js"
import { RateWindows } from "../ports/RateWindows.js"
import { Tenant } from "./Protocol.js"

/** A lease is a quarter of a node's share of what is left, so that no node can keep the rest of a minute to itself. */
const leaseShare = 4

export const layer = (options: { readonly nodes: () => number }) =>
  Tenant.toLayer(
    Effect.gen(function* () {
      const windows = yield* RateWindows
      const { entityId } = yield* Entity.CurrentAddress
      // Entities of this kind are addressed by organisation ids only.
      const organisation = entityId as string as OrganisationId
      /** What was left of each bucket's current minute when it was last asked for. */
      const left = new Map<string, { readonly minute: number; readonly calls: number }>()

      const size = (bucket: string, minute: number, limit: number, most: number): number => {
        const known = left.get(bucket)
        const remaining = known?.minute === minute ? known.calls : limit
        return Math.max(1, Math.min(most, Math.floor(remaining / (leaseShare * options.nodes()))))
      }

      return Tenant.of({
        LeaseCalls: ({ payload: { bucket, limit, minute, most } }) =>
          windows.take(organisation, bucket, minute, size(bucket, minute, limit, most), limit).pipe(
            Effect.tap((lease) => Effect.sync(() => left.set(bucket, { minute, calls: lease.left }))),
            Effect.mapError(() => "unavailable" as const)
          ),
        GiveBack: ({ payload: { bucket, calls, limit, minute } }) =>
          Effect.ignore(windows.take(organisation, bucket, minute, -calls, limit))
      })
    }),
    { concurrency: "unbounded", maxIdleTime: Duration.minutes(5), disableFatalDefects: true }
  )
