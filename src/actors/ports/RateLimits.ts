/** How many calls a key and its organisation may make in a calendar minute (UTC): exactly that many. */
import type { Effect } from "effect"
import { Context } from "effect"
import type { RateLimited, Unavailable } from "../../domain/Failure.js"
import type { ApiKeyId, OrganisationId } from "../../domain/Ids.js"

/** The tighter of the two windows. `resetAt`: Unix seconds. */
export interface Admission {
  readonly limit: number
  readonly remaining: number
  readonly resetAt: number
}

export interface Ceilings {
  readonly organisationId: OrganisationId
  readonly keyId: ApiKeyId
  /** Calls per minute; `null` for no ceiling. */
  readonly key: number | null
  readonly plan: number | null
}

export class RateLimits extends Context.Tag("svc/RateLimits")<
  RateLimits,
  {
    /** Takes one call; `null` where nothing limits the caller. */
    readonly admit: (ceilings: Ceilings) => Effect.Effect<Admission | null, RateLimited | Unavailable>
  }
>() {}
