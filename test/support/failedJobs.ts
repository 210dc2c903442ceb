/** The port `FailedJobs` in memory, and what the log says of a job that is set aside. */
import { Effect, Layer } from "effect"
import { FailedJobs } from "../../src/actors/ports/FailedJobs.js"
import type { Unavailable } from "../../src/domain/Failure.js"
import { announce } from "./LogExpectations.js"

const tries = 3

/** A job of the task will fail until it is set aside. */
export const announceSetAside = (task: string): void => {
  for (const event of ["job_failed", "job_set_aside"])
    announce(new RegExp(`background_task\\.${event}.*${task.replace(".", "\\.")}`), { required: true })
}

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
