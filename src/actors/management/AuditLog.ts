/** Use cases of the audit trail: list its entries, verify their chain. Read-only. Contract: audit. */
import { Context, Effect, Layer } from "effect"
import { type AuditQuery, AuditTrail, type AuditVerification } from "../ports/AuditTrail.js"
import type { SealedEntry } from "../../domain/audit/Audit.js"
import type { UseCase } from "./CallContext.js"
import type { Principal } from "./Caller.js"
import { bounds, type PageRequest, type PageOf, Pages, sizeOf } from "./Pages.js"
import { filtersOf } from "./Pages.js"

export interface AuditListParams extends PageRequest {
  readonly customer_id?: string | undefined
  readonly actor_type?: string | undefined
  readonly actor_id?: string | undefined
  readonly action?: string | undefined
  readonly resource_type?: string | undefined
  readonly resource_id?: string | undefined
}

export class AuditLog extends Context.Tag("svc/AuditLog")<
  AuditLog,
  {
    /** The entries that the caller reaches, newest first. */
    readonly list: UseCase<[params: AuditListParams], PageOf<SealedEntry>>
    /** Recomputes the chain between two times. */
    readonly verify: UseCase<[params: Pick<PageRequest, "from" | "to">], AuditVerification>
  }
>() {}

/** A key for some customers reads their entries and its own; a request that names a customer reads that customer's. */
const reachOf = ({ bounds, customers, id }: Principal): Pick<AuditQuery, "reach"> =>
  customers === "all" ? {} : { reach: { customers: [...customers], actorId: bounds.customers === "all" ? null : id } }

export const layer = Layer.effect(
  AuditLog,
  Effect.gen(function* () {
    const trail = yield* AuditTrail
    const pages = yield* Pages

    return AuditLog.of({
      list: Effect.fnUntraced(function* ({ caller }, params) {
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

      verify: Effect.fnUntraced(function* ({ caller }, params) {
        const range = bounds(params)
        return yield* trail.verify(caller.organisationId, range.after, range.before)
      })
    })
  })
)
