/** The time of a change, as records hold it. */
import { DateTime, Effect } from "effect"

/** Now, in RFC 3339 with milliseconds, UTC. */
export const timestamp: Effect.Effect<string> = Effect.map(DateTime.now, DateTime.formatIso)
