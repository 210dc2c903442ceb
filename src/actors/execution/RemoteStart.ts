/** Has the owner of an Instant run drive it, on another node, and waits for what becomes of it. */
import { Context, Duration, Effect, Schedule } from "effect"
import { TooManyRuns, Unavailable } from "../../domain/Failure.js"
import type { OpenRun } from "../ports/run/Journal.js"
import { Execution } from "./Protocol.js"
import { unavailable } from "./RunCancellation.js"
import type { DirectStart, StartOutcome } from "./StartOrder.js"

/** A message whose answer may be lost is sent again after this time, and one that failed after the pause. */
const askAgain = Duration.seconds(5)
const askPause = Duration.millis(200)
/** How long after its deadline a run may take to be ended. */
const endPatience = 5_000

const goesOn = () => unavailable("the run goes on on another node")

type KnownOutcome = Exclude<StartOutcome, { readonly _tag: "Moved" }>

/** Makes the messages to runs' owners. Nodes that die do not answer, or answer with a defect: they are asked again. */
export const makeRemoteStart = Effect.gen(function* () {
  const execution = yield* Execution.client
  const clock = yield* Effect.clock

  /** Asks until there is an answer, or the run is past its deadline. */
  const insist = <A, E>({ deadlineAt }: OpenRun, ask: (repetition: number) => Effect.Effect<A, E>) => {
    let repetition = 0
    return Effect.suspend(() => ask(repetition++)).pipe(
      Effect.mapInputContext<never, never>(() => Context.empty()),
      Effect.timeout(askAgain),
      Effect.sandbox,
      Effect.retry({
        schedule: Schedule.spaced(askPause),
        while: (cause) => cause._tag !== "Fail" || !isAnswer(cause.error)
      }),
      Effect.unsandbox,
      Effect.timeoutFail({
        duration: Duration.millis(Math.max(0, deadlineAt - clock.unsafeCurrentTimeMillis()) + endPatience),
        onTimeout: goesOn
      }),
      Effect.catchAllDefect(() => goesOn()),
      Effect.mapError((error) => (isAnswer(error) ? error : goesOn()))
    )
  }

  /** `before`: how often the run was begun already. */
  const start = (
    { runnable, ...begun }: DirectStart,
    before: number
  ): Effect.Effect<KnownOutcome, Unavailable | TooManyRuns> =>
    insist(begun.run, (repetition) =>
      Effect.filterOrFail(
        execution(begun.run.id).Start({
          order: {
            ...begun,
            workflowId: runnable.workflowId,
            version: runnable.version,
            contentHash: runnable.contentHash,
            repetition: before + repetition
          }
        }),
        (outcome): outcome is KnownOutcome => outcome._tag !== "Moved",
        () => "moved" as const
      )
    )

  return { start }
})

/** A failure that the owner has answered with. */
const isAnswer = (error: unknown): error is Unavailable | TooManyRuns =>
  error instanceof Unavailable || error instanceof TooManyRuns
