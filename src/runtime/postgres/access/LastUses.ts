/** When credentials were last used, in Unix milliseconds, until it is written: in batches, every two seconds. */
import { Effect } from "effect"
import { backgroundTask, repeatEvery } from "../../../actors/BackgroundTask.js"
import type { Sql } from "../database/Sql.js"

const writeInterval = "2 seconds"

interface LastUses {
  /** What is not yet written, or was written a moment ago. */
  readonly get: (id: string) => number | undefined
  readonly record: (id: string, now: number) => void
}

/**
 * `task`: its name among the background tasks. `write`: the statement that writes uses, of which the first parameter is a
 * JSON array of `id` and `at`. A failed write is repeated with the next.
 */
export const makeLastUses = Effect.fnUntraced(function* (sql: Sql, task: string, write: string) {
  const lastUsed = new Map<string, number>()
  /** Those of the pass before, which a cached row may not have yet. */
  let earlier: ReadonlyMap<string, number> = new Map()

  const writeUses = Effect.suspend(() => {
    const uses = new Map(lastUsed)
    earlier = uses
    lastUsed.clear()
    if (uses.size === 0) return Effect.void
    const rows = JSON.stringify(Array.from(uses, ([id, at]) => ({ id, at: new Date(at).toISOString() })))
    return Effect.tapErrorCause(sql.unsafe(write, [rows]), () =>
      Effect.sync(() => {
        for (const [id, at] of uses) if (!lastUsed.has(id)) lastUsed.set(id, at)
      })
    )
  })

  const { reportWaiting, run } = yield* backgroundTask(task, writeUses)
  const pass = Effect.zipRight(
    run,
    Effect.suspend(() => reportWaiting(lastUsed.size > 0))
  )
  yield* repeatEvery(writeInterval, pass, "later")
  yield* Effect.addFinalizer(() => run)
  return {
    get: (id) => lastUsed.get(id) ?? earlier.get(id),
    record: (id, now) => void lastUsed.set(id, now)
  } satisfies LastUses
})
