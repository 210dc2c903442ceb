/** Counts the calls that each window has granted, in Postgres. */
import type { Effect } from "effect"
import { Context } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"

export class RateWindows extends Context.Tag("svc/RateWindows")<
  RateWindows,
  {
    /**
     * Takes up to `wanted` calls of a bucket's window; the sum of all granted calls never exceeds `limit`. `minute`: the
     * window's start in Unix milliseconds. A negative `wanted` returns calls.
     */
    readonly take: (
      organisation: OrganisationId,
      bucket: string,
      minute: number,
      wanted: number,
      limit: number
    ) => Effect.Effect<{ readonly granted: number; readonly left: number }, Unavailable>
  }
>() {}
