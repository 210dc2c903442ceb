/** Refuses credentials of every kind: counts the refusals, records those of known callers, and paces those over a limit. */
import { Effect } from "effect"
import type { Principal } from "../../actors/management/Caller.js"
import { AuditTrail } from "../../actors/ports/AuditTrail.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { actorOf, type Caller } from "../../domain/access/Caller.js"
import { credentialResourceOf } from "../../domain/access/CallerKind.js"
import { type Failure, Unauthorized } from "../../domain/Failure.js"
import type { LazyRequest, RequestHead } from "../Wire.js"
import type { KnownCredential } from "./Credentials.js"
import { RefusalCounters, subscriberOf } from "./RefusalCounters.js"

/** Under which a refusal of a known caller is counted. */
export const counterKey = ({ id }: Caller, ip: string) => `${subscriberOf(ip)}|${id}`

/** Refuses credentials. `addressOf`: the client's address of a request. */
export const makeRefusals = Effect.fnUntraced(function* (addressOf: (request: RequestHead) => string) {
  const trail = yield* AuditTrail
  const identifiers = yield* Identifiers
  const refusals = yield* RefusalCounters

  /** Fails, and records the refused use of a known credential in its organisation's audit trail. */
  const refuseAndAudit = (caller: Principal, failure: Failure, now: number): Effect.Effect<never, Failure> => {
    const { id, kind, name, organisationId, requestId } = caller
    const type = credentialResourceOf(kind)
    trail.countRefusal({
      id: identifiers.next("aud"),
      organisationId,
      at: new Date(now).toISOString(),
      actor: actorOf(caller),
      action: `${type}.use`,
      resource: { type, id, name },
      customerId: null,
      outcome: "denied",
      requestId,
      changes: [{ path: "error", before: null, after: "code" in failure ? failure.code : failure._tag }],
      count: 1
    })
    return Effect.fail(failure)
  }

  /** Fails for a credential that does not exist; counted for the sender's address. */
  const refuseUnknown = (request: RequestHead, message: string, now: number): Effect.Effect<never, Failure> => {
    const from = subscriberOf(addressOf(request))
    const exceeded = refusals.unknownCredentials.exceeded(from, now)
    refusals.unknownCredentials.count(from, now)
    return exceeded === undefined
      ? Effect.fail(new Unauthorized({ code: "UNAUTHORIZED", message }))
      : refusals.failInTurn(exceeded)
  }

  /** Verifies the request, unless this caller and address have sent too many wrong signatures in this minute. */
  const verifyWithinLimit = (
    verify: NonNullable<KnownCredential["verify"]>,
    caller: Principal,
    request: LazyRequest,
    now: number
  ) => {
    const counted = counterKey(caller, caller.ip)
    const exceeded = refusals.signatures.exceeded(counted, now)
    if (exceeded !== undefined)
      return Effect.catchAll(refuseAndAudit(caller, exceeded, now), () => refusals.failInTurn(exceeded))
    return Effect.catchAll(verify(request, now), (failure) => {
      if (failure._tag !== "Unauthorized") return Effect.fail(failure)
      if (failure.code === "IDENTITY_HMAC_INVALID") refusals.signatures.count(counted, now)
      return refuseAndAudit(caller, failure, now)
    })
  }

  return { refuseAndAudit, refuseUnknown, verifyWithinLimit }
})
