/** The port `FailedJobs` in memory. */
import { Effect, Layer } from "effect"
import { FailedJobs } from "../../src/actors/ports/FailedJobs.js"
import type { Unavailable } from "../../src/domain/Failure.js"

const tries = 3

/** `away`: while it returns a failure, nothing can be recorded. */
export const makeFailedJobs = (away: () => Unavailable | undefined = () => undefined) => {
  const failures = new Map<string, number>()
  const whileThere = <A>(work: () => A): Effect.Effect<A, Unavailable> =>
    Effect.suspend(() => {
      const failure = away()
      return failure === undefined ? Effect.sync(work) : Effect.fail(failure)
    })
  const jobOf = (id: string) => ({
    id,
    failures: failures.get(id) ?? 0,
    isSetAside: (failures.get(id) ?? 0) >= tries
  })
  const layer = Layer.succeed(
    FailedJobs,
    FailedJobs.of({
      record: (_task, { id }) =>
        whileThere(() => {
          failures.set(id, (failures.get(id) ?? 0) + 1)
          return jobOf(id)
        }),
      forget: (_task, id) => whileThere(() => void failures.delete(id)),
      of: () => whileThere(() => [...failures.keys()].map(jobOf)),
      setAside: Effect.succeed([])
    })
  )
  return { failures, layer }
}
