/**
 * Start-time fair queueing. Each queued run of an organisation gets a tag one higher than the one before it, and the
 * lowest tag starts first, so that a burst delays only its own organisation. No new tag is lower than that of the run
 * started last, so that an idle organisation earns no credit.
 */
import { Context, Effect, Layer } from "effect"
import { WriterSql } from "./Pools.js"

const maxOrganisations = 10_000

export class VirtualTags extends Context.Tag("svc/VirtualTags")<
  VirtualTags,
  {
    /** The tag of a run that is queued now. */
    readonly next: (organisation: string, priority: number) => number
    /** Records the tag of a run that has started. */
    readonly started: (tag: number) => void
  }
>() {}

export const layer = Layer.effect(
  VirtualTags,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    // Runs that were queued before a restart keep their place.
    const [row] = yield* sql<{ tag: number }>`SELECT COALESCE(min(vtag), 0)::float8 AS tag FROM start_queue`
    const last = new Map<string, number>()
    let current = row?.tag ?? 0
    return VirtualTags.of({
      next: (organisation, priority) => {
        const key = `${organisation}|${priority}`
        const tag = Math.max(current, last.get(key) ?? 0) + 1
        last.set(key, tag)
        if (last.size > maxOrganisations) last.clear()
        return tag
      },
      started: (tag) => {
        current = Math.max(current, tag)
      }
    })
  })
)
