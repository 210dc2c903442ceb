/**
 * The service with a kill point: `SVC_TEST_KILL=point:n` kills it by SIGKILL when it reaches the point the nth time. With
 * `SVC_TEST_HANG=point` whatever reaches that point stays there. With
 * `SVC_TEST_ENCODED=1` it does nothing in place: each message to its own actors is encoded and decoded.
 */
import { Effect, Exit } from "effect"
import { Faults, type FaultPoint } from "../../src/actors/ports/Faults.js"
import { InPlace } from "../../src/actors/ports/InPlace.js"
import type { KeepCompiled } from "../../src/runtime/program/CompiledCode.js"
import { loadService, startService } from "../../src/runtime/program/Start.js"

const [point, count] = (process.env["SVC_TEST_KILL"] ?? ":0").split(":")
let left = Number(count)

const at = (passed: FaultPoint) => (passed === process.env["SVC_TEST_HANG"] ? Effect.never : killAt(passed))

const killAt = (passed: FaultPoint) =>
  Effect.sync(() => {
    if (passed !== point) return
    left -= 1
    if (left === 0) process.kill(process.pid, "SIGKILL")
  })

export const main = (keepCompiled?: KeepCompiled): void => {
  const fiber = Effect.runFork(
    startService({ keepCompiled }).pipe(
      Effect.provideService(Faults, { at }),
      Effect.provideService(InPlace, process.env["SVC_TEST_ENCODED"] !== "1")
    )
  )
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => fiber.unsafeInterruptAsFork(fiber.id()))
  fiber.addObserver((exit) => {
    if (Exit.isFailure(exit) && !Exit.isInterrupted(exit)) process.stderr.write(`${String(exit.cause)}\n`)
    process.exit()
  })
}

/** Loads the modules without running the service, so that V8's compiled code can be cached. */
export const load = loadService
