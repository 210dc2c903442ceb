/** `svc start`: runs the service from reading its configuration until it is stopped. */
import { Effect, Layer, Logger, Option, RuntimeFlags, RuntimeFlagsPatch } from "effect"
import { readConfig, Settings, withPort } from "../configuration/Config.js"
import { layer } from "./Layers.js"
import { freePort } from "../process/Port.js"
import { unreachableError } from "../postgres/UnreachableDatabase.js"
import { OperatorError } from "../process/OperatorError.js"
import { sandbox, serverAfter, serviceLayer } from "./Service.js"
import * as Logging from "../telemetry/Logging.js"
import { exporter } from "../telemetry/Tracing.js"
import { printGreeting, prepareFirstStart } from "./FirstStart.js"
import { markPhase, takePhases } from "./Phases.js"

/** Runs until interrupted; then drains and closes everything that it opened. */
export const startService = Effect.gen(function* () {
  yield* markPhase("loaded")
  const asked = yield* readConfig()
  const config = asked.port === 0 ? withPort(asked, yield* freePort(asked.host)) : asked
  const run = Effect.gen(function* () {
    const { prepared: made } = yield* serverAfter(prepareFirstStart(config, config.publicUrl))
    if (Option.isSome(made)) yield* printGreeting(config, made.value)
    yield* Effect.annotateLogs(Effect.logInfo("service.ready"), {
      url: config.publicUrl,
      afterMillis: Math.round(performance.now())
    })
    yield* Effect.annotateLogs(Effect.logDebug("service.start_phases"), takePhases())
    return yield* Effect.never
  })
  // The same layer as in the services, so that it is built once.
  const early = Layer.provide(sandbox, Layer.succeed(Settings, config))
  return yield* Effect.scoped(run).pipe(
    Effect.provide(Layer.provideMerge(serviceLayer, Layer.merge(layer(config), early))),
    Effect.provide(exporter(config)),
    Effect.provide(Layer.merge(Logging.layer(config.logFormat), Logger.minimumLogLevel(config.logLevel))),
    Effect.withTracerEnabled(false),
    // Effect's metrics of fibers cost more than most fibers do, and are not used.
    Effect.withRuntimeFlagsPatch(RuntimeFlagsPatch.disable(RuntimeFlags.RuntimeMetrics))
  )
}).pipe(
  Effect.catchTags({
    SqlError: unreachableError,
    NotFound: ({ what }) => new OperatorError({ message: `The ${what} is not there.` }),
    Unavailable: ({ reason }) => new OperatorError({ message: `svc cannot start: ${reason}.` })
  })
)
