/** The trail as its readers ask for it. */
import { Effect } from "effect"
import { type AuditQuery, AuditTrail } from "../../actors/ports/AuditTrail.js"
import { Current } from "../auth/Authenticated.js"
import { reaches } from "../../actors/management/Caller.js"
import { ResourceApi } from "./Api.js"
import { bounds, Pages, sizeOf } from "../../actors/management/Pages.js"
import { group } from "../pipeline/Dispatch.js"

/** The filters that were given. */
const filters = (asked: { readonly [K in keyof AuditQuery]?: AuditQuery[K] | undefined }): Partial<AuditQuery> =>
  Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined && value !== ""))

export const AuditLive = group(ResourceApi, "audit", (handlers) =>
  Effect.gen(function* () {
    const trail = yield* AuditTrail
    const listing = yield* Pages

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const { caller } = yield* Current
          const size = sizeOf(urlParams)
          const range = bounds(urlParams)
          if (range instanceof Error) return yield* range
          const position = yield* listing.position(urlParams.cursor)
          const entries = yield* trail.list(caller.organisationId, {
            ...filters({
              customerId: urlParams.customer_id,
              actorType: urlParams.actor_type,
              actorId: urlParams.actor_id,
              action: urlParams.action,
              resourceType: urlParams.resource_type,
              resourceId: urlParams.resource_id,
              from: range.after,
              to: range.before,
              before: position?.id
            }),
            limit: size + 1
          })
          const page = yield* listing.pageOf(entries, size, ({ at, id }) => ({ createdAt: at, id }))
          return {
            ...page,
            // A key for some customers reads of these, and what it did itself.
            data: page.data.filter(({ actor, customerId }) =>
              customerId === null
                ? caller.customers === "all" || actor.id === caller.key.id
                : reaches(caller, customerId)
            )
          }
        })
      )
      .handle("verify", ({ urlParams }) =>
        Effect.gen(function* () {
          const { caller } = yield* Current
          const range = bounds(urlParams)
          if (range instanceof Error) return yield* range
          return { data: yield* trail.verify(caller.organisationId, range.after, range.before) }
        })
      )
  })
)
