/**
 * Start-time fair queueing. Each waiting run of an organisation is tagged one step behind the one before it, and the
 * smallest tag starts first, so a flood waits behind itself. No tag lies before what is being started now, so an
 * organisation that was quiet gains nothing from it.
 */
import { Context, Effect, Layer } from "effect"
import { WriterSql } from "./Pools.js"

const maxOrganisations = 10_000

export class VirtualTags extends Context.Tag("svc/VirtualTags")<
  VirtualTags,
  {
    readonly next: (organisation: string, priority: number) => number
    /** Told the tag of a run that starts. */
    readonly started: (tag: number) => void
  }
>() {}

export const layer = Layer.effect(
  VirtualTags,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    // What waits from before a restart keeps its place.
    const [row] = yield* sql<{ tag: number }>`SELECT COALESCE(min(vtag), 0)::float8 AS tag FROM outbox`
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
