/** Commits of what can be had only once: they are tried again until the database answers. */
import { Cause, Clock, Duration, Effect, Either, Exit, Option } from "effect"
import { Unavailable } from "../../domain/Failure.js"

/** Between two tries, doubled from the first on. */
const shortestPause = Duration.millis(200)
const longestPause = Duration.seconds(2)
/** How long it is still tried once the node stops. */
const stopPatience = Duration.seconds(3)

/** How long, and what is done meanwhile. */
export interface Insistence {
  /** Without it as long as the process lives. */
  readonly patience?: Duration.Duration
  /** Done once, after the first try that failed. */
  readonly onDelay?: (failure: Unavailable) => Effect.Effect<void>
}

/**
 * Repeats `commit` while the database does not answer. An interruption ends it after some seconds, and never cuts a try short:
 * each ends with the answer of the database, or with its failure. Fails as the last try did.
 */
export const insist = <A, E, R>(
  commit: Effect.Effect<A, E | Unavailable, R>,
  { onDelay = () => Effect.void, patience }: Insistence = {}
): Effect.Effect<A, E | Unavailable, R> =>
  Effect.uninterruptible(
    Effect.gen(function* () {
      const began = yield* Clock.currentTimeMillis
      let until = patience === undefined ? Infinity : began + Duration.toMillis(patience)
      let pause = shortestPause
      let isStopping = false
      for (let tries = 1; ; tries++) {
        const tried = yield* Effect.either(commit)
        if (Either.isRight(tried)) return tried.right
        const failure = tried.left
        if (!isUnavailable(failure) || (yield* Clock.currentTimeMillis) >= until) return yield* Effect.fail(failure)
        if (tries === 1) yield* onDelay(failure)
        if (isStopping) yield* Effect.sleep(shortestPause)
        else if ((yield* Effect.exit(Effect.interruptible(Effect.sleep(pause))))._tag === "Failure") {
          isStopping = true
          until = Math.min(until, (yield* Clock.currentTimeMillis) + Duration.toMillis(stopPatience))
        }
        pause = Duration.min(Duration.times(pause, 2), longestPause)
      }
    })
  )

const isUnavailable = (failure: unknown): failure is Unavailable => failure instanceof Unavailable

/** Whether a commit was given up because the database does not answer. */
export const isAway = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && Option.exists(Cause.failureOption(exit.cause), isUnavailable)
