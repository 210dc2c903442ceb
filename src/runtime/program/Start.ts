/** `svc start`: runs the service from reading its configuration until it is stopped. */
import { Duration, Effect, Layer, Logger, Option, Runtime, RuntimeFlags, RuntimeFlagsPatch, type Scope } from "effect"
import {
  environment,
  readConfig,
  readLogFormat,
  type ServiceConfig,
  Settings,
  withPort
} from "../configuration/Config.js"
import { layers } from "./Layers.js"
import { freePort } from "../process/Port.js"
import { unreachableError } from "../postgres/database/UnreachableDatabase.js"
import { planDescriptors } from "../process/Descriptors.js"
import { forgetFiberRoots } from "./FiberRoots.js"
import { littleMemory, memoryLimit } from "../process/MemoryLimit.js"
import { OperatorError } from "../process/OperatorError.js"
import * as Logging from "../telemetry/Logging.js"
import { type KeepCompiled, keepCompiledCode } from "./CompiledCode.js"
import { markPhase, markStop, stopPhases, takePhases } from "./Phases.js"
import { sandbox } from "./Processes.js"

/**
 * The service's modules, in parts: between two of them the event loop turns, so that Postgres and the first runner, which
 * are other processes, start meanwhile.
 */
export const loadService = async () => {
  for (const part of [
    () => import("../../domain/connector/Definition.js"),
    () => import("../../actors/execution/calls/HostCalls.js"),
    () => import("../cluster/SingleNode.js"),
    () => import("../../actors/execution/Sweep.js"),
    () => import("../../domain/connectors/index.js"),
    () => import("../../actors/connection/Actor.js"),
    () => import("../../http/operations/Execution.js"),
    () => import("../../http/operations/Surfaces.js"),
    () => import("../http/Surfaces.js"),
    () => import("../egress/Egress.js"),
    () => import("../http/Front.js")
  ]) {
    await turn()
    await part()
  }
  await turn()
  return { ...(await import("./Service.js")), ...(await import("./Server.js")), ...(await import("./FirstStart.js")) }
}

/** One turn of the event loop, with its input and output. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** `listener`: the scope in which the server listens; it closes last, so that requests are refused until the end. */
const run = Effect.fnUntraced(function* (config: ServiceConfig, listener: Scope.Scope, keepCompiled?: KeepCompiled) {
  // Layers that two builds share are built once.
  const memoMap = yield* Layer.makeMemoMap
  const scope = yield* Effect.scope
  const { ahead, base } = layers(config)
  const begin = <A, E>(layer: Layer.Layer<A, E>) =>
    Effect.forkScoped(Effect.exit(Layer.buildWithMemoMap(layer, memoMap, scope)))
  yield* begin(base)
  yield* begin(ahead)
  yield* begin(Layer.provide(sandbox, Layer.succeed(Settings, config)))
  const { prepareFirstStart, printGreeting, serverAfter, serviceLayer } = yield* Effect.promise(loadService)
  yield* markPhase("service loaded")
  const serving = Effect.gen(function* () {
    const { prepared: made } = yield* serverAfter(prepareFirstStart(config, config.publicUrl), listener)
    if (Option.isSome(made)) yield* printGreeting(config, made.value)
    yield* Effect.annotateLogs(Effect.logInfo("service.ready"), {
      url: config.publicUrl,
      afterMillis: Math.round(performance.now())
    })
    yield* Effect.annotateLogs(Effect.logDebug("service.start_phases"), takePhases())
    if (keepCompiled !== undefined) yield* keepCompiledCode(keepCompiled)
    return yield* Effect.never
  })
  const context = yield* Layer.buildWithMemoMap(Layer.provideMerge(serviceLayer, base), memoMap, scope)
  return yield* Effect.provide(Effect.scoped(serving), context)
})

/** Logs how long the stop took once everything that is opened after this is closed. */
const logStop = Effect.addFinalizer(() =>
  Effect.suspend(() => {
    const stop = stopPhases()
    if (stop === undefined) return Effect.void
    const { afterMillis, phases } = stop
    return Effect.zipRight(
      Effect.annotateLogs(Effect.logInfo("service.stopped"), { afterMillis }),
      Effect.annotateLogs(Effect.logDebug("service.stop_phases"), phases)
    )
  })
)

/** Ends the process if a stop takes longer than the grace: what is stored stays, and the next start takes it up. */
const endOverdueStop = (grace: Duration.Duration) =>
  Effect.flatMap(Effect.runtime(), (runtime) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const end = () => {
          const told = Effect.annotateLogs(Effect.logError("service.stop_overdue"), stopPhases() ?? {})
          Runtime.runFork(runtime)(told).addObserver(() => process.exit(1))
        }
        const begin = () => {
          markStop()
          setTimeout(end, Duration.toMillis(grace)).unref()
        }
        for (const signal of stopSignals) process.once(signal, begin)
        return begin
      }),
      (begin) => Effect.sync(() => stopSignals.forEach((signal) => process.off(signal, begin)))
    )
  )

const stopSignals = ["SIGINT", "SIGTERM"] as const

/** Exports what the body logs, measures and traces, if a collector is configured. */
const exported = <A, E, R>(config: ServiceConfig, body: Effect.Effect<A, E, R>) =>
  Option.isNone(config.otlpUrl)
    ? body
    : Effect.flatMap(
        Effect.promise(() => import("../telemetry/Tracing.js")),
        ({ exporter }) => Effect.provide(body, exporter(config))
      )

/** Refuses a start with too few file descriptors, and warns of too little memory, each with the figure. */
const checkResources = Effect.fnUntraced(function* (config: ServiceConfig) {
  yield* Effect.try({
    try: () => planDescriptors(config),
    catch: (error) => (error instanceof OperatorError ? error : new OperatorError({ message: String(error) }))
  })
  const little = littleMemory(memoryLimit())
  if (little !== undefined) yield* Effect.annotateLogs(Effect.logWarning("service.little_memory"), little)
})

/** Runs until interrupted; then drains and closes everything that it opened. `flags`: variables that go before others. */
export const startService = (keepCompiled?: KeepCompiled, flags: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    forgetFiberRoots()
    yield* markPhase("loaded")
    const asked = yield* readConfig(environment(flags))
    yield* checkResources(asked)
    const config = asked.port === 0 ? withPort(asked, yield* freePort(asked.host)) : asked
    const running = Effect.gen(function* () {
      yield* endOverdueStop(config.shutdownGrace)
      yield* logStop
      const listener = yield* Effect.scope
      return yield* Effect.scoped(run(config, listener, keepCompiled))
    })
    return yield* exported(config, Effect.scoped(running)).pipe(
      Effect.provide(Logger.minimumLogLevel(config.logLevel)),
      Effect.withTracerEnabled(false),
      // Effect's metrics of fibers cost more than most fibers do, and are not used.
      Effect.withRuntimeFlagsPatch(RuntimeFlagsPatch.disable(RuntimeFlags.RuntimeMetrics))
    )
  }).pipe(
    (body) => Effect.flatMap(readLogFormat(), (format) => Effect.provide(body, Logging.layer(format))),
    Effect.catchTags({
      SqlError: unreachableError,
      NotFound: ({ what }) => new OperatorError({ message: `The ${what} is not there.` }),
      Unavailable: ({ reason }) => new OperatorError({ message: `svc cannot start: ${reason}.` })
    })
  )
