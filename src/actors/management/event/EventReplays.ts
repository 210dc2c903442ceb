/** Use cases that make events: inject one, replay one. Contract: events; replay. */
import type { AskedText } from "../../../domain/AskedTexts.js"
import { nounOf } from "../../../domain/access/CallerKind.js"
import { Effect, Option, Schedule } from "effect"
import type { InjectEvent, ReplayEvent } from "../../../domain/event/EventBodies.js"
import { NotFound, invalid } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import { canonicalJson, type Json } from "../../../domain/Json.js"
import { type RoundedIntegers, roundedWithin } from "../../../domain/LargeIntegers.js"
import { makeAskedTexts } from "../../AskedTexts.js"
import { narrowTriggers, triggersOf } from "../../EventTriggers.js"
import { CustomerReads } from "../../ports/organisation/CustomerReads.js"
import { EventReads } from "../../ports/event/EventReads.js"
import { Events } from "../../ports/event/Events.js"
import { ExecutionReads } from "../../ports/run/ExecutionReads.js"
import { type MadeEvent, madeOf, Replays } from "../../ports/event/Replays.js"
import { TriggerReads } from "../../ports/event/Triggers.js"
import type { CallContext } from "../CallContext.js"
import { type Principal, reaches } from "../Caller.js"
import { checkScopeWith, eventNotFound, isReached, recordScopeOf } from "./EventRecords.js"
import { isExecutionId } from "../run/ExecutionRecords.js"

/** How often and how long the answer to a replay waits for the runs of its event: about a second. */
const untilStarted = Schedule.intersect(Schedule.exponential("20 millis"), Schedule.recurs(6))

/** What an injected event takes from its request. */
interface SentEvent {
  readonly headers: { readonly [name: string]: string }
  readonly traceparent: string | null
  /** The payload with integers beyond 2^53 as text where `asked` says so; `undefined`: it has none. */
  readonly exactPayload: (
    asked: AskedText | undefined
  ) => { readonly value: Json; readonly rounded: RoundedIntegers | undefined } | undefined
}

const invalidMember = (path: string, message: string) => invalid(path, "INVALID_VALUE", message)

const make = Effect.gen(function* () {
  const events = yield* Events
  const reads = yield* EventReads
  const checkScope = checkScopeWith(reads)
  const executions = yield* ExecutionReads
  const customers = yield* CustomerReads
  const replays = yield* Replays
  const triggers = yield* TriggerReads
  const askedTextsOf = yield* makeAskedTexts

  const customerOf = Effect.fnUntraced(function* (caller: Principal, id: string | undefined) {
    if (id === undefined) {
      if (caller.customers !== "all")
        return yield* invalidMember("customerId", `is required: the ${nounOf(caller)} is for some customers`)
      return null
    }
    const found = yield* customers.find(caller.organisationId, { id: id as CustomerId }) // only compared with stored ids
    if (Option.isNone(found) || !reaches(caller, found.value.id)) return yield* new NotFound({ what: "customer" })
    return found.value.id
  })

  /** The payload with integers beyond 2^53 as text where a workflow's contract says so. */
  const payloadOf = Effect.fnUntraced(function* (
    { organisationId, spaceId }: Principal,
    customerId: CustomerId | null,
    { payload, type }: InjectEvent,
    exactPayload: SentEvent["exactPayload"]
  ) {
    if (payload === undefined || exactPayload(undefined) === undefined) return { payload: payload ?? {} }
    const addressed = { organisationId, triggerId: null, connector: null, connectionId: null, customerId, type }
    const all = yield* triggersOf(triggers, { ...addressed, record: {} })
    const asked = yield* askedTextsOf(all.filter((trigger) => trigger.spaceId === spaceId))
    const { rounded, value } = exactPayload(asked) ?? { value: payload, rounded: undefined }
    return { payload: value, rounded: roundedWithin(rounded, "payload") }
  })

  /** What a narrowed key's event is limited to. The scope's text is the same for all keys of the same scope. */
  const narrowedTo = Effect.fnUntraced(function* (caller: Principal, customerId: CustomerId | null, type: string) {
    const { scope } = recordScopeOf(caller)
    if (scope === undefined) return {}
    const { organisationId, spaceId } = caller
    const addressed = {
      organisationId,
      spaceId,
      triggerId: null,
      connector: null,
      connectionId: null,
      customerId,
      type
    }
    const only = yield* narrowTriggers(triggers, { ...addressed, record: {} }, scope)
    const text = canonicalJson({
      workflows: scope.workflows?.toSorted() ?? null,
      environments: scope.environments?.toSorted() ?? null
    })
    return { narrowed: { triggers: only, scope: text } }
  })

  /** The versions that ran for the event before. */
  const versionsOf = Effect.fnUntraced(function* (caller: Principal, id: string) {
    const detail = Option.getOrUndefined(yield* reads.get(caller, id))
    const versions: { [workflow: string]: number } = {}
    for (const { executionId, workflowId } of detail?.deliveries ?? []) {
      if (executionId === null || !isExecutionId(executionId)) continue
      const run = Option.getOrUndefined(yield* executions.find(caller, executionId))
      if (run !== undefined && run.view.workflowVersion !== null) versions[workflowId] = run.view.workflowVersion
    }
    return versions
  })

  /** The runs of a new event, which waits for its turn in the start queue: empty if none starts soon. */
  const runsOf = Effect.fnUntraced(function* (caller: Principal, { eventId, status }: MadeEvent) {
    if (status !== "accepted") return []
    const settled = yield* reads
      .get(caller, eventId)
      .pipe(
        Effect.flatMap(Option.filter((event) => event.settledAt !== null)),
        Effect.retry({ schedule: untilStarted, while: ({ _tag }) => _tag === "NoSuchElementException" }),
        Effect.optionFromOptional
      )
    const deliveries = Option.match(settled, { onNone: () => [], onSome: (event) => event.deliveries })
    return deliveries.flatMap(({ executionId }) => (executionId === null ? [] : [executionId]))
  })

  return {
    /** Accepts an event that triggers of the type `event` may match. */
    inject: Effect.fnUntraced(function* (
      context: CallContext,
      input: InjectEvent,
      { exactPayload, headers, traceparent }: SentEvent
    ) {
      const { caller } = context
      const customerId = yield* customerOf(caller, input.customerId)
      context.customerId = customerId
      const narrowed = yield* narrowedTo(caller, customerId, input.type)
      const occurredAt = input.occurredAt === undefined ? null : Date.parse(input.occurredAt)
      const reception = yield* events.receive({
        organisationId: caller.organisationId,
        spaceId: caller.spaceId,
        source: "manual",
        trigger: null,
        connector: null,
        connectionId: null,
        customerId,
        type: input.type,
        entity: null,
        action: "other",
        occurredAt,
        ...(yield* payloadOf(caller, customerId, input, exactPayload)),
        headers,
        deduplication: { value: input.deduplicationKey ?? null, deliveryId: null },
        traceparent,
        ...narrowed
      })
      return madeOf(reception)
    }),

    /** Accepts the event again, under a new id. It is never taken for a repetition. */
    replay: Effect.fnUntraced(function* (context: CallContext, id: string, input: ReplayEvent) {
      const { caller } = context
      const source = Option.getOrUndefined(yield* reads.replaySource(caller, id))
      if (source === undefined || !isReached(caller, source.customerId)) return yield* eventNotFound()
      yield* checkScope(caller, "event", id)
      context.customerId = source.customerId
      const versions = input.mode === "same" ? yield* versionsOf(caller, id) : undefined
      const { triggerId } = source
      const trigger = triggerId === null ? null : Option.getOrNull(yield* triggers.byId(triggerId))
      const unknown = input.routes?.find((route) => trigger?.routes.every((one) => one.id !== route) === true)
      if (unknown !== undefined)
        return yield* invalidMember("routes", `has ${unknown}, which is no route of the trigger`)
      const made = yield* replays.event(caller, source, {
        ...recordScopeOf(caller),
        ...(input.routes === undefined ? {} : { routes: input.routes }),
        ...(versions === undefined ? {} : { versions })
      })
      return { ...made, replayOf: id, executionIds: yield* runsOf(caller, made) }
    })
  }
})

export class EventReplays extends Effect.Service<EventReplays>()("svc/EventReplays", { effect: make }) {}
