/** Use cases of the audit trail: list its entries, verify their chain. Read-only. Contract: audit. */
import { Effect, Schema } from "effect"
import { ActorType } from "../../domain/audit/Audit.js"
import type { CallContext } from "./CallContext.js"
import { type AuditQuery, AuditTrail } from "../ports/AuditTrail.js"
import type { Principal } from "./Caller.js"
import { listQuery, optionalText, bounds, type PageRequest, Pages, sizeOf, filtersOf } from "./Pages.js"

export const AuditList = listQuery({
  customer_id: optionalText,
  actor_type: Schema.optional(ActorType),
  actor_id: optionalText,
  action: optionalText,
  resource_type: optionalText,
  resource_id: optionalText
})
type AuditList = typeof AuditList.Type

/** A key for some customers reads their entries and its own; a request that names a customer reads that customer's. */
const reachOf = ({ bounds, customers, id }: Principal): Pick<AuditQuery, "reach"> =>
  customers === "all" ? {} : { reach: { customers: [...customers], actorId: bounds.customers === "all" ? null : id } }

const make = Effect.gen(function* () {
  const trail = yield* AuditTrail
  const pages = yield* Pages

  return {
    /** The entries that the caller reaches, newest first. */
    list: Effect.fnUntraced(function* ({ caller }: CallContext, params: AuditList) {
      const size = sizeOf(params)
      const range = bounds(params)
      const position = yield* pages.position(params.cursor)
      const entries = yield* trail.list(caller.organisationId, {
        ...filtersOf({
          customerId: params.customer_id,
          actorType: params.actor_type,
          actorId: params.actor_id,
          action: params.action,
          resourceType: params.resource_type,
          resourceId: params.resource_id
        }),
        ...reachOf(caller),
        ...(range.after === undefined ? {} : { from: range.after }),
        ...(range.before === undefined ? {} : { to: range.before }),
        ...(position === undefined ? {} : { before: position.id }),
        limit: size + 1
      })
      return yield* pages.pageOf(entries, size, ({ at, id }) => ({ createdAt: at, id }))
    }),

    /** Recomputes the chain between two times. */
    verify: Effect.fnUntraced(function* ({ caller }: CallContext, params: Pick<PageRequest, "from" | "to">) {
      const range = bounds(params)
      return yield* trail.verify(caller.organisationId, range.after, range.before)
    })
  }
})

export class AuditLog extends Effect.Service<AuditLog>()("svc/AuditLog", { effect: make }) {}
