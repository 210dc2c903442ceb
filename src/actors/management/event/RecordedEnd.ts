/** Waits for the end of an event's only run, on whichever node it runs, by what is stored of the event and the run. */
import { Duration, Effect, Option, Schedule } from "effect"
import { isTerminal } from "../../../domain/run/Execution.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ExecutionId } from "../../../domain/Ids.js"
import { type EventHome, EventReads } from "../../ports/event/EventReads.js"
import { Ownership } from "../../ports/Ownership.js"
import { ExecutionReads } from "../../ports/run/ExecutionReads.js"
import type { WebhookEnd } from "./WebhookDelivery.js"

/** When the records are looked at. A node that may drive the run itself looks later: it mostly knows the end without them. */
const firstLook = Duration.millis(50)
const looks = Schedule.exponential(firstLook, 1.5).pipe(Schedule.union(Schedule.spaced("500 millis")))

/** Makes the function, which returns only once the run has ended. */
export const makeRecordedEnd = Effect.gen(function* () {
  const events = yield* EventReads
  const executions = yield* ExecutionReads
  const ownership = yield* Ownership

  const find = Effect.fnUntraced(function* (
    home: EventHome,
    eventId: string
  ): Effect.fn.Return<WebhookEnd | undefined, Unavailable> {
    const event = Option.getOrUndefined(yield* events.get(home, eventId))
    const executionId = event?.deliveries[0]?.executionId ?? null
    if (executionId === null) return undefined
    const found = Option.getOrUndefined(yield* executions.find(home, executionId as ExecutionId))
    if (found === undefined) return undefined
    const { error, id, output, status, statusReason, workflowVersion: version } = found.view
    const { answerStatus } = found.record
    return isTerminal(status) ? { id, version, status, statusReason, output, error, answerStatus } : undefined
  })

  return (home: EventHome, eventId: string): Effect.Effect<WebhookEnd> =>
    find(home, eventId).pipe(
      Effect.filterOrFail(
        (end) => end !== undefined,
        () => "not yet" as const
      ),
      Effect.retry(looks),
      Effect.orDie,
      Effect.delay(ownership.isRunner ? Duration.seconds(1) : firstLook)
    )
})
