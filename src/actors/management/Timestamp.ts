/** The time of a change, in the form that records store. */
import { DateTime, Effect } from "effect"

/** Now, in RFC 3339 with milliseconds, UTC. */
export const timestamp: Effect.Effect<string> = Effect.map(DateTime.now, DateTime.formatIso)
