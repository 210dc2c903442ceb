/** Stores values that may be used once. */
import { type Effect, Context, type Duration } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"

export class Nonces extends Context.Tag("svc/Nonces")<
  Nonces,
  {
    /** `false` when the nonce was used within its lifetime. */
    readonly use: (
      organisation: OrganisationId,
      nonce: string,
      lifetime: Duration.Duration
    ) => Effect.Effect<boolean, Unavailable>
  }
>() {}
