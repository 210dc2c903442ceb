/** Use cases that read events: their list, one event, and what became of those of a period. Contract: events. */
import { Clock, Duration, Effect, Option, Schema } from "effect"
import type { CallContext } from "../CallContext.js"
import { EventStatus, EventSource } from "../../../domain/event/Event.js"
import { type Failure, Forbidden, InvalidRequest, NotFound } from "../../../domain/Failure.js"
import { type CustomerId, timeOfId, type TriggerId } from "../../../domain/Ids.js"
import { reconciliationPeriod } from "../../../domain/Limits.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"
import { EventReads, type RecordScope, type ScopedRecord } from "../../ports/event/EventReads.js"
import { TriggerReads } from "../../ports/event/Triggers.js"
import { type Principal, reaches, scopedIds } from "../Caller.js"
import { timeRange, filtersOf, type PageRequest, Pages, sizeOf, listQuery, optionalText } from "../Pages.js"

/** What a list of events is filtered by. */
export const EventList = listQuery({
  status: Schema.optional(EventStatus),
  source: Schema.optional(EventSource),
  trigger_id: optionalText,
  connector: optionalText,
  type: optionalText,
  customer_id: optionalText
})
type EventList = typeof EventList.Type

/** The customers whose records a list shows; empty: none. */
export const customersOf = (
  { customers }: Principal,
  customerId: string | undefined
): { readonly customerIds?: ReadonlyArray<CustomerId> } => {
  const reached = customers === "all" ? undefined : [...customers]
  if (customerId === undefined) return reached === undefined ? {} : { customerIds: reached }
  const isReached = reached === undefined || reached.some((id) => id === customerId)
  return { customerIds: isReached ? [customerId as CustomerId] : [] } // unchecked text from the request
}

/** The scope of the records that a list shows. */
export const recordScopeOf = (caller: Principal): { readonly scope?: RecordScope } => {
  const workflows = scopedIds(caller, "workflow")
  const environments = scopedIds(caller, "environment")
  return workflows === undefined && environments === undefined
    ? {}
    : {
        scope: {
          ...(workflows === undefined ? {} : { workflows }),
          ...(environments === undefined ? {} : { environments })
        }
      }
}

/** Fails if a record of the workspace is outside the key's scope. */
export const checkScopeWith =
  (reads: EventReads["Type"]) =>
  (caller: Principal, kind: ScopedRecord, id: string): Effect.Effect<void, Failure> => {
    const { scope } = recordScopeOf(caller)
    if (scope === undefined) return Effect.void
    const message = `this key does not reach the workflows or environments of that ${kind}`
    return Effect.flatMap(reads.isInScope(caller, kind, id, scope), (isIn) =>
      isIn ? Effect.void : new Forbidden({ code: "RESOURCE_OUT_OF_SCOPE", message })
    )
  }

/** Whether the caller reaches a record of a customer; `null`: one that all customers share. */
export const isReached = (caller: Principal, customerId: string | null): boolean =>
  caller.customers === "all" || (customerId !== null && reaches(caller, customerId as CustomerId)) // as it is stored

/** The events that reach the trigger without naming it: those of its connector or type. */
const addressedTo = ({ appEvent, createdAt, customerId, event, spaceId }: Trigger, caller: Principal) => {
  const of = appEvent === null ? event : { connector: appEvent.connector, event: appEvent.event }
  if (of === null || spaceId !== caller.spaceId) return {}
  return { addressed: { of, customerId, connectionId: appEvent?.connectionId ?? null, since: createdAt } }
}

/** The place of an id that says its time. */
export const positionAt = (id: string | undefined) =>
  id === undefined ? undefined : { createdAt: new Date(timeOfId(id)).toISOString(), id }

export const eventNotFound = () => new NotFound({ what: "event" })

const make = Effect.gen(function* () {
  const reads = yield* EventReads
  const pages = yield* Pages
  const triggers = yield* TriggerReads

  const addressedBy = (caller: Principal, id: string | undefined) =>
    id === undefined || id === ""
      ? Effect.succeed({})
      : Effect.map(
          triggers.byId(id as TriggerId), // only compared with stored ids
          Option.match({ onNone: () => ({}), onSome: (trigger) => addressedTo(trigger, caller) })
        )

  return {
    /** Newest first, without payloads. */
    list: Effect.fnUntraced(function* ({ caller }: CallContext, params: EventList) {
      const size = sizeOf(params)
      const position = yield* pages.position(params.cursor)
      const { connector, source, status, trigger_id: triggerId, type } = params
      const { lookedTo, rows } = yield* reads.list(caller, {
        ...filtersOf({ status, source, triggerId, connector, type }),
        ...(yield* addressedBy(caller, triggerId)),
        ...customersOf(caller, params.customer_id),
        ...recordScopeOf(caller),
        ...timeRange(params),
        ...(position === undefined ? {} : { before: position.id }),
        limit: size + 1
      })
      return yield* pages.pageOf(
        rows,
        size,
        ({ id, receivedAt }) => ({ createdAt: receivedAt, id }),
        positionAt(lookedTo)
      )
    }),

    get: Effect.fnUntraced(function* ({ caller }: CallContext, id: string) {
      const found = Option.getOrUndefined(yield* reads.get(caller, id))
      if (found === undefined || !isReached(caller, found.customerId)) return yield* eventNotFound()
      yield* checkScopeWith(reads)(caller, "event", id)
      return found
    }),

    reconcile: Effect.fnUntraced(function* ({ caller }: CallContext, params: Pick<PageRequest, "from" | "to">) {
      const range = timeRange(params)
      const now = yield* Clock.currentTimeMillis
      const { to = now } = range
      const { from = to - Duration.toMillis(Duration.days(1)) } = range
      if (from > to || to - from > Duration.toMillis(reconciliationPeriod))
        return yield* new InvalidRequest({
          code: "INVALID_REQUEST",
          message: `from must be before to, and at most ${Duration.toDays(reconciliationPeriod)} days`
        })
      return yield* reads.reconcile(caller, from, to, {
        customers: customersOf(caller, undefined).customerIds,
        ...recordScopeOf(caller)
      })
    })
  }
})

/** Each use case fails with `NotFound` if the key's workspace has no such event or the caller does not reach it. */
export class EventRecords extends Effect.Service<EventRecords>()("svc/EventRecords", { effect: make }) {}
