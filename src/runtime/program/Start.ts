/** `svc start`: runs the service from reading its configuration until it is stopped. */
import { Duration, Effect, Layer, Logger, Option, Runtime, RuntimeFlags, RuntimeFlagsPatch, type Scope } from "effect"
import {
  environment,
  ownUrl,
  readConfig,
  readLogFormat,
  servesRequests,
  type ServiceConfig,
  Settings,
  withPort
} from "../configuration/Config.js"
import type { SqlError } from "@effect/sql/SqlError"
import type { NotFound, Unavailable } from "../../domain/Failure.js"
import type { SupervisorLink } from "../process/SupervisorLink.js"
import { layers } from "./Layers.js"
import { freePort } from "../process/Port.js"
import { ConnectTimeout, StartWait } from "../postgres/database/pool/ConnectTimeout.js"
import { unreachableError } from "../postgres/database/UnreachableDatabase.js"
import { planDescriptors } from "../process/Descriptors.js"
import { forgetFiberRoots } from "./FiberRoots.js"
import { littleMemory, memoryLimit } from "../process/MemoryLimit.js"
import { OperatorError } from "../process/OperatorError.js"
import { lowerPriority } from "../process/StartPriority.js"
import { stopSignals } from "../process/StopSignals.js"
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
  const { warnOfReservedNames } = await import("./ReservedNames.js")
  const start = { ...(await import("./Server.js")), ...(await import("./FirstStart.js")), warnOfReservedNames }
  return { ...(await import("./Service.js")), ...start }
}

/** One turn of the event loop, with its input and output. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** How the service is started. */
export interface StartOptions {
  /** Keeps the compiled code; absent if the program runs from it. */
  readonly keepCompiled?: KeepCompiled | undefined
  /** Variables that go before others. */
  readonly flags?: Readonly<Record<string, string>>
  /** To the supervisor of which this process is a node. */
  readonly link?: SupervisorLink
}

/** `listener`: the scope in which the server listens; it closes last, so that requests are refused until the end. */
const run = Effect.fnUntraced(function* (
  config: ServiceConfig,
  listener: Scope.Scope,
  { keepCompiled, link }: StartOptions
) {
  // A service that runs alone shares the processors with no other node.
  const restorePriority = Option.isSome(config.node) ? lowerPriority() : () => undefined
  const keepWhenIdle = keepCompiled === undefined ? Effect.void : yield* keepCompiledCode(keepCompiled, config)
  // Layers that two builds share are built once.
  const memoMap = yield* Layer.makeMemoMap
  const scope = yield* Effect.scope
  const isPortHeld = link !== undefined && servesRequests(config)
  const { ahead, base } = layers(config, { isPortHeld })
  const begin = <A, E>(layer: Layer.Layer<A, E>) =>
    Effect.forkScoped(Effect.exit(Layer.buildWithMemoMap(layer, memoMap, scope)))
  yield* begin(base)
  yield* begin(ahead)
  yield* begin(Layer.provide(sandbox, Layer.succeed(Settings, config)))
  const {
    findPrinted,
    makeFirstLink,
    prepareFirstStart,
    printGreeting,
    serverAfter,
    serviceLayer,
    warnOfReservedNames
  } = yield* Effect.promise(loadService)
  yield* markPhase("service loaded")
  const serving = Effect.gen(function* () {
    const socket = isPortHeld ? yield* link.port : undefined
    const { prepared: made, running } = yield* serverAfter(
      Effect.tap(prepareFirstStart(config, config.publicUrl), () => Effect.sync(restorePriority)),
      listener,
      socket
    )
    // A supervisor prints for all of its nodes.
    if (link === undefined)
      yield* printGreeting(config, made, yield* makeFirstLink(yield* findPrinted, config.publicUrl))
    if (link !== undefined) yield* link.ready(isPortHeld ? running.handOver : Effect.void)
    yield* Effect.annotateLogs(Effect.logInfo(link === undefined ? "service.ready" : "node.ready"), {
      url: link === undefined ? config.publicUrl : ownUrl(config.host, config.port),
      afterMillis: Math.round(performance.now())
    })
    yield* Effect.annotateLogs(Effect.logDebug("service.start_phases"), takePhases())
    yield* Effect.forkScoped(warnOfReservedNames)
    yield* keepWhenIdle
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

/** Exports what the body logs, measures and traces, if a collector is configured. */
const exported = <A, E, R>(config: ServiceConfig, body: Effect.Effect<A, E, R>) =>
  Option.isNone(config.otlpUrl)
    ? body
    : Effect.flatMap(
        Effect.promise(() => import("../telemetry/Tracing.js")),
        ({ exporter }) => Effect.provide(body, exporter(config))
      )

/** Warns of less memory than `needed` bytes, with both figures. */
export const checkMemory = (needed?: number) =>
  Effect.suspend(() => {
    const little = littleMemory(memoryLimit(), needed)
    return little === undefined ? Effect.void : Effect.annotateLogs(Effect.logWarning("service.little_memory"), little)
  })

/** Refuses a start with too few file descriptors, with the figure. */
const checkDescriptors = (config: ServiceConfig) =>
  Effect.try({
    try: () => planDescriptors(config),
    catch: (error) => (error instanceof OperatorError ? error : new OperatorError({ message: String(error) }))
  })

/**
 * Runs `body` with the configuration until it is interrupted; then closes everything that it opened, which ends the
 * process if it takes longer than the grace. `body` gets the scope that closes last.
 */
export const runService = (
  flags: Readonly<Record<string, string>>,
  body: (
    config: ServiceConfig,
    last: Scope.Scope
  ) => Effect.Effect<void, OperatorError | SqlError | Unavailable | NotFound, Scope.Scope>
) =>
  Effect.gen(function* () {
    forgetFiberRoots()
    yield* markPhase("loaded")
    const asked = yield* readConfig(environment(flags))
    const config = asked.port === 0 ? withPort(asked, yield* freePort(asked.host)) : asked
    const running = Effect.gen(function* () {
      yield* endOverdueStop(config.shutdownGrace)
      yield* logStop
      return yield* Effect.scoped(body(config, yield* Effect.scope))
    })
    return yield* exported(config, Effect.scoped(running)).pipe(
      Effect.provide(Logger.minimumLogLevel(config.logLevel)),
      Effect.provideService(ConnectTimeout, config.connectTimeout),
      Effect.provideService(StartWait, config.startWait),
      Effect.withTracerEnabled(false),
      // Effect's metrics of fibers cost more than most fibers do, and are not used.
      Effect.withRuntimeFlagsPatch(RuntimeFlagsPatch.disable(RuntimeFlags.RuntimeMetrics))
    )
  }).pipe(
    (started) => Effect.flatMap(readLogFormat(), (format) => Effect.provide(started, Logging.layer(format))),
    Effect.catchTags({
      SqlError: unreachableError,
      NotFound: ({ what }) => new OperatorError({ message: `The ${what} is not there.` }),
      Unavailable: ({ reason }) => new OperatorError({ message: `svc cannot start: ${reason}.` })
    })
  )

/** Runs until interrupted; then drains and closes everything that it opened. */
export const startService = (options: StartOptions = {}) =>
  runService(options.flags ?? {}, (config, last) =>
    Effect.gen(function* () {
      yield* checkDescriptors(config)
      // A supervisor warns once for all of its nodes.
      if (options.link === undefined) yield* checkMemory()
      return yield* run(config, last, options)
    })
  )
