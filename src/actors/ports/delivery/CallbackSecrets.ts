/** The secrets that sign a workspace's callbacks: `whsec_…`, created on first use, rotated with an overlap. */
import { type Effect, type Redacted, Context } from "effect"
import type { NotFound, Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId, SpaceId } from "../../../domain/Ids.js"

type SecretAccess<A> = (organisation: OrganisationId, space: SpaceId) => Effect.Effect<A, NotFound | Unavailable>

/** Each method joins the caller's transaction. */
export class CallbackSecrets extends Context.Tag("svc/CallbackSecrets")<
  CallbackSecrets,
  {
    /** The current secret. */
    readonly current: SecretAccess<Redacted.Redacted>
    /** All secrets that receivers may still use, the current one first: sign with each. */
    readonly valid: SecretAccess<ReadonlyArray<Redacted.Redacted>>
    /** Creates and returns a new secret; the previous one stays valid for the overlap. Specification: Limits. */
    readonly rotate: SecretAccess<Redacted.Redacted>
  }
>() {}
