/** The secrets with which a workspace's callbacks are signed: `whsec_…`, made when first needed, replaced with an overlap. */
import type { Effect, Redacted } from "effect"
import { Context } from "effect"
import type { NotFound, Unavailable } from "../../domain/Failure.js"
import type { OrganisationId, SpaceId } from "../../domain/Ids.js"

type Asked<A> = (organisation: OrganisationId, space: SpaceId) => Effect.Effect<A, NotFound | Unavailable>

/** Each joins the transaction that it is called in. */
export class CallbackSecrets extends Context.Tag("svc/CallbackSecrets")<
  CallbackSecrets,
  {
    /** The secret in force. */
    readonly current: Asked<Redacted.Redacted>
    /** All that a receiver may still expect, the one in force first: sign with each of them. */
    readonly valid: Asked<ReadonlyArray<Redacted.Redacted>>
    /** Makes a new one, and returns it; the one before stays valid for the overlap. Specification: Limits. */
    readonly rotate: Asked<Redacted.Redacted>
  }
>() {}
