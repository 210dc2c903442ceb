/**
 * The port `Computations` over jailed worker processes, which start with the first job and end after an idle time.
 * Accounts are served round-robin, one job of each at a time, and so are the organisations of an account, so that an
 * account's slowest job delays others by at most that job's deadline.
 */
import { Effect, Layer } from "effect"
import {
  type ComputationName,
  Computations,
  type ComputationTable,
  TooCostly
} from "../../actors/ports/Computations.js"
import { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { computationLimits } from "./ComputationLimits.js"
import { makePoolLog } from "../jail/PoolLog.js"
import type { JobEnd } from "./WorkerProcess.js"
import { type ComputationsOptions, type JobRefusal, WorkerPool } from "./WorkerPool.js"
import { ShareOwners } from "../../actors/ports/organisation/ShareOwners.js"

export const layer = (options: ComputationsOptions): Layer.Layer<Computations, never, ShareOwners> =>
  Layer.scoped(
    Computations,
    Effect.gen(function* () {
      const shareOwners = yield* ShareOwners
      const log = yield* makePoolLog("computing")
      const pool = yield* Effect.acquireRelease(
        Effect.sync(() => new WorkerPool(options, log)),
        (workers) => Effect.sync(() => workers.stop())
      )

      const compute = <Name extends ComputationName>(
        name: Name,
        organisation: OrganisationId,
        input: ComputationTable[Name]["input"]
      ): Effect.Effect<ComputationTable[Name]["output"], TooCostly | Unavailable> =>
        Effect.flatMap(shareOwners.of(organisation), (owner) =>
          Effect.async((resume) =>
            pool.submit({
              owner,
              name,
              input,
              onEnded: (end) => resume(toResult<Name>(name, end))
            })
          )
        )

      return Computations.of({ compute })
    })
  )

// --- Private ---

const toUnavailable = (reason: string) => new Unavailable({ reason, retryAfterSeconds: 1 })

const toResult = <Name extends ComputationName>(name: Name, end: JobEnd | JobRefusal) => {
  const tooCostly = (exceeded: TooCostly["exceeded"]) =>
    new TooCostly({ computation: name, exceeded, allowedMillis: computationLimits.millis[name] })
  switch (end.tag) {
    case "Done":
      // The worker's table has the same types as the port's.
      return Effect.succeed(end.output as ComputationTable[Name]["output"])
    case "TooMuchTime":
      return tooCostly("time")
    case "TooMuchMemory":
      return tooCostly("memory")
    case "Refused":
      return toUnavailable(end.reason)
    case "Defect":
      return Effect.die(new Error(`the computation ${name} failed: ${end.frames}`))
  }
}
