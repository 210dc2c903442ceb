/** A node that its supervisor keeps running: one that ends is started again, after a back-off that doubles. */
import { Deferred, Duration, Effect, Option, type Scope } from "effect"
import { OperatorError } from "../process/OperatorError.js"
import type { PlannedNode } from "./NodePlan.js"
import type { NodeProcess } from "./NodeProcess.js"

export interface KeptNode {
  readonly node: PlannedNode
  /** Waits until it takes part for the first time. Fails if it refuses to start. */
  readonly ready: Effect.Effect<void, OperatorError>
  /**
   * Starts a successor and, once that takes part, retires the process that runs. Waits for one that is late, and reports it;
   * fails if it ends, or takes ten minutes.
   */
  readonly replace: (report: (what: string) => void) => Effect.Effect<void, OperatorError>
  /** Stops its process. Without effect on a node that is still kept: that one starts again. */
  readonly stop: (patience: Duration.Duration) => Effect.Effect<void>
}

const firstPause = Duration.seconds(1)
const longestPause = Duration.seconds(30)
/** A node that has taken part for this long is steady: its back-off begins anew. */
const steady = Duration.minutes(1)
/** How long a successor may take until it takes part, and how often who waits is told. */
const startPatience = Duration.minutes(10)
const lateAfter = Duration.seconds(30)
/** How long a retired process may take to answer what it accepted, and then to stop. */
const retirePatience = Duration.minutes(2)
const stopPatience = Duration.seconds(30)
/** How long a process may take to stop that nothing depends on. */
const abandonPatience = Duration.seconds(1)

/** The exit code of a start that the operator must act on. */
const refused = 1

/** Keeps the node running until the scope closes, which leaves its last process to `stop`. */
export const keep = (
  node: PlannedNode,
  start: Effect.Effect<NodeProcess>
): Effect.Effect<KeptNode, never, Scope.Scope> =>
  Effect.gen(function* () {
    let current = yield* start
    const firstReady = yield* Deferred.make<void, OperatorError>()
    /** Either the end of the last process starts one, or `replace`. */
    const starting = yield* Effect.makeSemaphore(1)

    const watch = Effect.gen(function* () {
      let pause = firstPause
      for (;;) {
        const running = current
        yield* Effect.raceFirst(running.ready, running.ended)
        const since = running.readySince()
        if (since !== undefined) yield* Deferred.succeed(firstReady, undefined)
        const { code, signal } = yield* running.ended
        if (running !== current) continue
        if (code === refused && !(yield* Deferred.isDone(firstReady)))
          return yield* Deferred.fail(firstReady, notStarted(node))
        if (since !== undefined && performance.now() - since >= Duration.toMillis(steady)) pause = firstPause
        yield* Effect.annotateLogs(Effect.logError("node.ended"), {
          name: node.name,
          pid: running.pid,
          ...(signal === null ? { code } : { signal }),
          restartAfterMillis: Duration.toMillis(pause)
        })
        yield* Effect.sleep(pause)
        pause = Duration.min(longestPause, Duration.times(pause, 2))
        yield* starting.withPermits(1)(
          Effect.gen(function* () {
            if (running === current) current = yield* start
          })
        )
      }
    })
    yield* Effect.forkScoped(Effect.interruptible(watch))

    const replace = Effect.fnUntraced(function* (report: (what: string) => void) {
      const successor = yield* start
      const tellLate = Effect.delay(
        Effect.sync(() => report(`The new ${node.name} does not take part yet: waiting for it.`)),
        lateAfter
      )
      const isReady = yield* Effect.raceFirst(successor.ready, successor.ended).pipe(
        Effect.raceFirst(Effect.forever(tellLate)),
        Effect.timeoutOption(startPatience),
        Effect.map(() => successor.readySince() !== undefined),
        Effect.onInterrupt(() => successor.stop(abandonPatience))
      )
      if (!isReady) {
        yield* successor.stop(abandonPatience)
        return yield* notReplaced(node)
      }
      const previous = current
      current = successor
      yield* Effect.zipRight(previous.retire, Effect.timeoutOption(previous.ended, retirePatience)).pipe(
        Effect.flatMap((end) => (Option.isSome(end) ? Effect.void : previous.stop(stopPatience))),
        Effect.onInterrupt(() => previous.stop(abandonPatience))
      )
    })

    return {
      node,
      ready: Deferred.await(firstReady),
      replace: (report) => starting.withPermits(1)(replace(report)),
      stop: (patience) => Effect.suspend(() => current.stop(patience))
    }
  })

const notStarted = ({ name }: PlannedNode) =>
  new OperatorError({ message: `The node ${name} cannot start, and says above why: svc starts no other.` })

const notReplaced = ({ name }: PlannedNode) =>
  new OperatorError({ message: `The new ${name} did not start, and its log says why. The previous one goes on.` })
