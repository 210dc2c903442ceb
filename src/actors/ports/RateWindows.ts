/** What each minute has granted so far, kept where a crash cannot lose it. */
import type { Effect } from "effect"
import { Context } from "effect"
import type { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"

export class RateWindows extends Context.Tag("svc/RateWindows")<
  RateWindows,
  {
    /**
     * Takes up to `wanted` calls out of a bucket's minute and answers how many it got: the sum of all answers never
     * exceeds `limit`. `minute`: Unix milliseconds of its start; a negative `wanted` gives calls back.
     */
    readonly take: (
      organisation: OrganisationId,
      bucket: string,
      minute: number,
      wanted: number,
      limit: number
    ) => Effect.Effect<{ readonly got: number; readonly left: number }, Unavailable>
  }
>() {}
