/** Writes the audit entry of an exchange whose handler did not write one: reads, refusals, failures and plain successes. */
import { DateTime, Effect } from "effect"
import { actorOf } from "../../domain/access/Caller.js"
import { AuditTrail } from "../../actors/ports/AuditTrail.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import type { Failure } from "../../domain/Failure.js"
import type { Exchange } from "./Exchange.js"

/** How a request ended that did not succeed. */
type Ending = Failure | "defect" | "interrupted"

const isDenial = (end: Ending): boolean => typeof end === "object" && end._tag === "Forbidden"
const limitTags: ReadonlySet<string> = new Set([
  "RateLimited",
  "TooManyRuns",
  "TooManyWatches",
  "TooManyCalls",
  "QuotaExceeded"
])
const isLimit = (end: Ending | undefined): boolean => typeof end === "object" && limitTags.has(end._tag)

const errorText = (end: Ending): string => {
  if (end === "defect") return "INTERNAL_ERROR"
  if (end === "interrupted") return "the caller disconnected"
  return "code" in end ? end.code : end._tag
}

const errorChange = (end: Ending) => ({ path: "error", before: null, after: errorText(end) })

/** Makes the function that audits an exchange. `failure`: how it ended, if it did not succeed. */
export const makeExchangeAudit = Effect.gen(function* () {
  const trail = yield* AuditTrail
  const identifiers = yield* Identifiers

  /** Audits reads, refusals and successes without an entry; a change writes its own entry in its transaction. */
  return (exchange: Exchange | undefined, failure: Ending | undefined): Effect.Effect<void> => {
    if (exchange === undefined) return Effect.void
    const { isAudited, caller, changes, customerId, params, route, subject } = exchange
    const policy = route.audit
    if (policy === undefined || policy._tag === "NotAudited" || (failure === undefined && isAudited)) return Effect.void
    return Effect.map(DateTime.now, (now) => {
      const resource = subject ?? { type: policy.resource, id: Object.values(params)[0] ?? null, name: null }
      const entry = {
        id: identifiers.next("aud"),
        organisationId: caller.organisationId,
        at: DateTime.formatIso(now),
        actor: actorOf(caller),
        action: policy._tag === "Audited" ? policy.action : `${policy.resource}.read`,
        resource,
        customerId,
        outcome: failure === undefined ? "success" : isDenial(failure) ? "denied" : "failure",
        requestId: caller.requestId,
        changes: failure === undefined ? changes : [...changes, errorChange(failure)],
        count: 1
      } as const
      if (failure === undefined && policy._tag === "Read") return trail.countRead(entry)
      // A client can exceed a limit any number of times, so these refusals are counted in one entry.
      return isLimit(failure) ? trail.countRefusal(entry) : trail.append(entry)
    })
  }
})
