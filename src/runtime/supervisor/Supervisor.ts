/**
 * `svc start --nodes`: runs several nodes on this machine. The supervisor has Postgres, the keys, the first organisation and
 * the port, and starts a process for each node, which it keeps running. It does none of their work.
 */
import { Deferred, Duration, Effect, Exit, FiberId, Option, Schedule, Scope } from "effect"
import { availableParallelism } from "node:os"
import type { ServiceConfig } from "../configuration/Config.js"
import { memoryLimit } from "../process/MemoryLimit.js"
import { OperatorError } from "../process/OperatorError.js"
import { openLink } from "../process/SupervisorLink.js"
import type { KeepCompiled } from "../program/CompiledCode.js"
import { printGreeting } from "../program/FirstStart.js"
import { markPhase, markStopPhase, takePhases } from "../program/Phases.js"
import { checkMemory, runService, startService } from "../program/Start.js"
import { listen } from "./Control.js"
import { type KeptNode, keep } from "./KeptNode.js"
import { clusterSecretOf, environmentOf, graceOf } from "./NodeEnvironment.js"
import { neededMemory, parseNodeCount, type PlannedNode, plannedNodes, runnersFor } from "./NodePlan.js"
import { openPostgres } from "./NodePostgres.js"
import { startNode } from "./NodeProcess.js"
import { holdPort } from "./Port.js"

/** Runs as many runner nodes, with their `api` nodes; `auto` on a small machine is one process without nodes. */
export const startNodes = (count: string, keepCompiled?: KeepCompiled) =>
  Effect.gen(function* () {
    const asked = yield* Effect.try({
      try: () => parseNodeCount(count),
      catch: (error) => (error instanceof OperatorError ? error : new OperatorError({ message: String(error) }))
    })
    const runners = asked === "auto" ? runnersFor(availableParallelism(), memoryLimit()) : asked
    return yield* runners === 0
      ? startService({ keepCompiled })
      : runService({}, (config) => supervise(config, runners))
  })

/** Runs this process as a node of the supervisor that started it. */
export const startSupervised = (keepCompiled?: KeepCompiled) =>
  Effect.flatMap(openLink, (link) => startService({ keepCompiled, link }))

// --- Private ---

/** How long a node may take beyond its grace, in which it ends itself. */
const beyondGrace = Duration.seconds(1)
/** As long as nodes of a killed supervisor may live: they hold the port. */
const leftNodes = Schedule.upTo(Schedule.spaced("100 millis"), "6 seconds")

const supervise = Effect.fnUntraced(function* (config: ServiceConfig, runners: number) {
  if (Option.isSome(config.node))
    return yield* new OperatorError({
      message: "SVC_ROLE is set, and --nodes gives its nodes their roles: start with one of both."
    })
  yield* checkMemory(neededMemory(runners))
  const kept: Array<KeptNode> = []
  const restart = yield* restarting(kept)
  const wasKilled = yield* listen(config.dataDir, restart.run)
  const held = holdPort(config.host, config.port)
  const port = yield* wasKilled ? Effect.retry(held, leftNodes) : held
  const clusterSecret = yield* clusterSecretOf(config)
  const { created, postgres } = yield* openPostgres(config, runners, wasKilled)
  yield* markPhase("database prepared")

  const keeping = yield* Scope.make()
  const stopNodes = (role: PlannedNode["role"]) =>
    Effect.forEach(
      kept.filter(({ node }) => node.role === role),
      ({ node, stop }) => stop(Duration.sum(graceOf(config, node), beyondGrace)),
      { concurrency: "unbounded", discard: true }
    )
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      yield* Scope.close(keeping, Exit.void)
      // Connections are refused once no node listens, as by a service that is alone.
      port.close()
      yield* Effect.zipRight(stopNodes("api"), markStopPhase("api nodes"))
      yield* Effect.zipRight(stopNodes("runner"), markStopPhase("runner nodes"))
    })
  )
  const begin = Effect.fnUntraced(function* (node: PlannedNode) {
    const environment = environmentOf(node, config, runners, postgres, clusterSecret)
    const one = yield* Scope.extend(
      keep(
        node,
        Effect.sync(() => startNode(node, environment, port.handle))
      ),
      keeping
    )
    kept.push(one)
    yield* Effect.forkIn(Effect.zipRight(one.ready, markPhase(node.name)), keeping)
    return one
  })
  const nodes = plannedNodes(runners)
  // More at once would delay the first two, with which svc already serves.
  const concurrency = Math.max(2, availableParallelism())
  yield* Effect.forEach(nodes, (node) => Effect.flatMap(Effect.uninterruptible(begin(node)), ({ ready }) => ready), {
    concurrency,
    discard: true
  })
  restart.allow()
  yield* printGreeting(config, created.first, created.link)
  yield* Effect.annotateLogs(Effect.logInfo("service.ready"), {
    url: config.publicUrl,
    nodes: nodes.map(({ name }) => name).join(),
    afterMillis: Math.round(performance.now())
  })
  yield* Effect.annotateLogs(Effect.logDebug("service.start_phases"), takePhases())
  return yield* Effect.never
})

/** `run` replaces all nodes in turn, `api` nodes first, once `allow` was called; one at a time. */
const restarting = (kept: ReadonlyArray<KeptNode>) =>
  Effect.map(Effect.makeSemaphore(1), (turn) => {
    const allowed = Deferred.unsafeMake<void>(FiberId.none)
    const replaceAll = Effect.fnUntraced(function* (report: (done: string) => void) {
      if (!(yield* Deferred.isDone(allowed))) report("svc is still starting its nodes: waiting until it is ready.")
      yield* Deferred.await(allowed)
      const inOrder = kept.toSorted((one, other) => one.node.name.localeCompare(other.node.name))
      yield* Effect.logInfo("nodes.replacing")
      for (const { node, replace } of inOrder) {
        yield* replace(report)
        report(`${node.name} is replaced.`)
      }
      yield* Effect.logInfo("nodes.replaced")
    })
    return {
      allow: () => Deferred.unsafeDone(allowed, Effect.void),
      run: (report: (done: string) => void) =>
        Effect.flatMap(turn.withPermitsIfAvailable(1)(replaceAll(report)), (done) =>
          Option.isSome(done)
            ? Effect.void
            : new OperatorError({ message: "The nodes are being replaced already: wait until that is done." })
        )
    }
  })
