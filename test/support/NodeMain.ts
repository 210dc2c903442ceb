/**
 * A further node on the database of a running service: everything but the database's lock and the server. It has the kill
 * points of `FaultyMain.ts`.
 */
import { Effect, Exit, Layer, Logger } from "effect"
import { Faults, type FaultPoint } from "../../src/actors/ports/Faults.js"
import { readConfig } from "../../src/runtime/configuration/Config.js"
import { layerBeside } from "../../src/runtime/program/Layers.js"
import { serviceLayer } from "../../src/runtime/program/Service.js"
import * as Logging from "../../src/runtime/telemetry/Logging.js"

const [point, count] = (process.env["SVC_TEST_KILL"] ?? ":0").split(":")
let left = Number(count)

const at = (passed: FaultPoint) =>
  Effect.sync(() => {
    if (passed !== point) return
    left -= 1
    if (left === 0) process.kill(process.pid, "SIGKILL")
  })

const node = Effect.gen(function* () {
  const config = yield* readConfig()
  return yield* Effect.scoped(
    Effect.gen(function* () {
      yield* Layer.build(Layer.provideMerge(serviceLayer, layerBeside(config)))
      yield* Effect.logInfo("service.ready")
      return yield* Effect.never
    })
  ).pipe(
    Effect.provide(Layer.merge(Logging.layer(config.logFormat), Logger.minimumLogLevel(config.logLevel))),
    Effect.withTracerEnabled(false)
  )
})

export const main = (): void => {
  const fiber = Effect.runFork(Effect.provideService(node, Faults, { at }))
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => fiber.unsafeInterruptAsFork(fiber.id()))
  fiber.addObserver((exit) => {
    if (Exit.isFailure(exit) && !Exit.isInterrupted(exit)) process.stderr.write(`${String(exit.cause)}\n`)
    process.exit(0)
  })
}

/** All modules are loaded with this one. */
export const load = (): Promise<void> => Promise.resolve()
