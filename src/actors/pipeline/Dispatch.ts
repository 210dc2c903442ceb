/**
 * Dispatches events that this node has leased: finds their routes and starts their runs. The first commit of the run, or
 * the settlement of the event, takes the event's place in the start queue away, and needs the lease for it. So an event
 * whose node dies is dispatched again, and one that two nodes dispatch takes effect once.
 */
import { Cause, Clock, Context, Deferred, Duration, Effect, FiberId, FiberSet, Layer, Option } from "effect"
import { backoff } from "../../domain/run/Execution.js"
import { type Event, type EventDelivery, originOf } from "../../domain/event/Event.js"
import { type MatchedRoute, matchRoutes } from "../../domain/event/EventRouting.js"
import type { EventId, ExecutionId, OrganisationId } from "../../domain/Ids.js"
import { eventPoisonAfter, suspectAfter } from "../../domain/Limits.js"
import { Patterns } from "../Patterns.js"
import type { RunWatch } from "../ports/event/Events.js"
import { EventDispatch, EventRuns } from "../ports/event/EventRuns.js"
import { EventJournal } from "../ports/event/EventJournal.js"
import { EventStream } from "../ports/event/EventStream.js"
import { Faults, withFaultPoints } from "../ports/Faults.js"
import { Identifiers } from "../ports/Identifiers.js"
import type { DeadLetter, FinishedRun, RunChange, EventSettlement } from "../ports/run/Journal.js"
import { type OpenEvent, OpenEvents, type PastLeases } from "../ports/event/OpenEvents.js"
import { OrganisationReads } from "../ports/organisation/OrganisationReads.js"
import type { LeasedEvent } from "../ports/run/StartQueue.js"
import { TriggerMeter, TriggerReads } from "../ports/event/Triggers.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { triggersOf } from "../EventTriggers.js"
import { makeRouteStart, type RouteFailure, type RouteStart } from "./RouteStart.js"

/** An event that this node dispatches. */
export interface Dispatchable {
  readonly event: Event
  readonly claims: number
  readonly past: PastLeases
  readonly lane: string | null
  /** Its routes, if they are known already. */
  readonly matched?: ReadonlyArray<MatchedRoute>
  /** A reserved slot for its run. */
  readonly slot: ExecutionId
  /** The organisation whose plan counts the run. */
  readonly accountId: OrganisationId
}

export class Dispatch extends Context.Tag("svc/Dispatch")<
  Dispatch,
  {
    /** Dispatches an event in the background. Its slot is released if it starts no run at once. */
    readonly dispatch: (work: Dispatchable) => void
    /**
     * From this call on, the end of the event's only run is caught if this node drives it. The caller must call `forget`.
     */
    readonly watchEnd: (id: EventId) => RunWatch
  }
>() {}

/** How long an event waits whose organisation is suspended, before it is looked at again. */
const suspendedMillis = 60_000
/** The same for one that found no free slot, or whose database was away. */
const retryMillis = 100
/** The same for one that could not be read. */
const unreadableMillis = (claims: number) => Math.min(60_000, retryMillis * 2 ** Math.min(claims - 1, 20))

type StartOf = Extract<RouteStart, { _tag: "Start" }>
type FailureOf = Extract<RouteStart, { _tag: "Failed" }>

const deliveryOf = ({ route }: MatchedRoute, executionId: ExecutionId | null): EventDelivery => ({
  route: route.id,
  workflowId: route.workflowId,
  executionId,
  status: executionId === null ? "failed" : "started"
})

const noRoute: RouteFailure = { code: "TRIGGER_NOT_FOUND", message: "the trigger of the event was deleted" }
const poisoned = (deaths: number): RouteFailure => ({
  code: "POISONED",
  message: `the process that took the event up ended ${deaths} times before a run of it was committed`
})

const settlementOf = (
  { claims, event }: Dispatchable,
  status: EventSettlement["status"],
  deliveries: ReadonlyArray<EventDelivery>,
  at: number
): EventSettlement => ({ eventId: event.id, organisationId: event.organisationId, claims, status, deliveries, at })

export const layer = Layer.scopedContext(
  Effect.gen(function* () {
    const stream = yield* EventStream
    const fibers = yield* FiberSet.make<void>()
    const run = yield* FiberSet.runtime(fibers)<never>()
    /** Tells the stream that it need not keep the lease. */
    const finish = ({ claims, event: { id } }: { readonly event: Pick<Event, "id">; readonly claims: number }) =>
      stream.finish({ id, claims })
    const identifiers = yield* Identifiers
    const journal = yield* EventJournal
    const runs = yield* EventRuns
    const events = yield* OpenEvents
    const triggers = yield* TriggerReads
    const patterns = yield* Patterns
    const organisations = yield* OrganisationReads
    const meter = yield* TriggerMeter
    const wakeups = yield* Wakeups
    const faults = yield* Faults
    const prepare = yield* makeRouteStart
    /** Who waits for the end of an event's run on this node. */
    const waiting = new Map<EventId, (end: FinishedRun | undefined) => void>()

    const letterOf = (
      { event, past }: Dispatchable,
      { code, message }: RouteFailure,
      matched: MatchedRoute | undefined
    ): DeadLetter => ({
      id: identifiers.next("dlq"),
      of: { ...originOf(event), triggerId: event.triggerId ?? matched?.trigger.id ?? null },
      executionId: null,
      error: { code, message, category: "routing", step: null },
      context: {
        attempts: past.attempts + past.lost + 1,
        ...(matched === undefined
          ? {}
          : { triggerId: matched.trigger.id, routeId: matched.route.id, workflowId: matched.route.workflowId })
      }
    })

    /** Settles the event with one statement: its status, the runs that it starts, and dead letters. */
    const settle = (
      work: Dispatchable,
      change: {
        readonly status: EventSettlement["status"]
        readonly deliveries?: ReadonlyArray<EventDelivery>
        readonly runs?: ReadonlyArray<RunChange>
        readonly deadLetters?: ReadonlyArray<DeadLetter>
      }
    ) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) => {
        const { organisationId, spaceId } = work.event
        const settles = settlementOf(work, change.status, change.deliveries ?? [], at)
        const { deadLetters, runs } = change
        const appended = journal.append({
          organisationId,
          spaceId,
          settles,
          ...(runs === undefined ? {} : { runs }),
          ...(deadLetters === undefined || deadLetters.length === 0 ? {} : { deadLetters })
        })
        return withFaultPoints(faults, "beforeAppend", appended, "appended")
      }).pipe(
        // Another node has the event.
        Effect.catchTag("Fenced", () => Effect.void)
      )

    const bury = (work: Dispatchable, failures: ReadonlyArray<FailureOf>, otherwise: RouteFailure) =>
      settle(work, {
        status: "dead",
        deliveries: failures.map(({ matched }) => deliveryOf(matched, null)),
        deadLetters:
          failures.length === 0
            ? [letterOf(work, otherwise, undefined)]
            : failures.map(({ failure, matched }) => letterOf(work, failure, matched))
      })

    /** The statement of a schedule's tick stores when it fired. */
    const noteFired = ({ source }: Event, { trigger }: MatchedRoute, at: number): void => {
      if (source !== "schedule") meter.noteFired(trigger.id, at)
    }

    /** No route can be started: tries again by the trigger's policy, then gives the event up. */
    const retryOrBury = (work: Dispatchable, failures: ReadonlyArray<FailureOf>) => {
      const { claims, event, past } = work
      const attempt = past.attempts + 1
      const delivery = failures[0]?.matched.trigger.delivery
      if (delivery === undefined || attempt >= delivery.maxAttempts) return bury(work, failures, noRoute)
      const pause = Duration.toMillis(backoff(delivery, attempt + 1, 0.5))
      return events.retry({ id: event.id, claims }, pause)
    }

    /**
     * Starts the only run of the event at once, in the reserved slot. The event is finished with its run: only the run's
     * first commit takes the lease away.
     */
    const launch = (work: Dispatchable, { matched, request }: StartOf) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        const { accountId, event, past, slot } = work
        noteFired(event, matched, at)
        const settles = settlementOf(work, "delivered", [deliveryOf(matched, slot)], at)
        runs.launch({ id: slot, request, settles }, { alone: past.lost >= suspectAfter }, (end) => {
          waiting.get(event.id)?.(end)
          wakeups.signalSlot(accountId)
          finish(work)
        })
        return "launched" as const
      })

    /** Opens a run for each route; they wait in the start queue like others. */
    const openAll = (work: Dispatchable, starts: ReadonlyArray<StartOf>, failures: ReadonlyArray<FailureOf>) => {
      const opened = starts.map(({ matched, request }) => ({ matched, change: runs.opening(request) }))
      for (const { matched } of starts) noteFired(work.event, matched, work.event.receivedAt)
      return settle(work, {
        status: "delivered",
        deliveries: [
          ...opened.map(({ change, matched }) => deliveryOf(matched, change.id)),
          ...failures.map(({ matched }) => deliveryOf(matched, null))
        ],
        runs: opened.map(({ change }) => change),
        deadLetters: failures.map(({ failure, matched }) => letterOf(work, failure, matched))
      })
    }

    /** Dispatches one event. The caller releases the slot, and tells the stream unless a run was launched. */
    const dispatchOne = Effect.fnUntraced(function* (work: Dispatchable) {
      const { claims, event, lane, past } = work
      const lease = { id: event.id, claims }
      yield* faults.at("claimed")
      if (past.lost >= eventPoisonAfter) return yield* bury(work, [], poisoned(past.lost))
      const organisation = Option.getOrUndefined(yield* organisations.find(event.organisationId))
      if (organisation?.status !== "active") return yield* events.postpone(lease, suspendedMillis)
      const candidates = work.matched === undefined ? yield* triggersOf(triggers, event) : []
      const matched =
        work.matched ??
        (yield* patterns.evaluate(event.organisationId, (patterns) => matchRoutes(candidates, event, patterns)))
      if (matched.length === 0 && event.triggerId !== null && candidates.length === 0)
        return yield* bury(work, [], noRoute)
      if (matched.length === 0) return yield* settle(work, { status: "ignored" })
      const prepared = yield* Effect.forEach(matched, (one) => prepare(event, one, organisation, lane))
      if (prepared.some(({ _tag }) => _tag === "Held")) return yield* events.hold(lease, "customer_suspended")
      const starts = prepared.filter((one): one is StartOf => one._tag === "Start")
      const failures = prepared.filter((one): one is FailureOf => one._tag === "Failed")
      yield* faults.at("beforeEffect")
      const [only] = starts
      if (only === undefined) return yield* retryOrBury(work, failures)
      if (starts.length === 1 && failures.length === 0) return yield* launch(work, only)
      return yield* openAll(work, starts, failures)
    })

    const freeSlot = ({ accountId, slot }: Dispatchable) => {
      runs.release(slot)
      wakeups.signalSlot(accountId)
    }

    const dispatchAndRelease = (work: Dispatchable): Effect.Effect<void> =>
      dispatchOne(work).pipe(
        Effect.map((outcome) => {
          if (outcome === "launched") return
          finish(work)
          freeSlot(work)
        }),
        Effect.catchAllCause((cause) =>
          Effect.logWarning("event.not_dispatched", cause).pipe(
            Effect.annotateLogs({ eventId: work.event.id, organisationId: work.event.organisationId }),
            Effect.tap(() => Effect.sync(() => finish(work))),
            Effect.zipRight(Effect.ignore(events.postpone({ id: work.event.id, claims: work.claims }, retryMillis)))
          )
        ),
        Effect.ensuring(Effect.sync(() => runs.release(work.slot)))
      )

    const dispatch = (work: Dispatchable): void => void run(dispatchAndRelease(work))

    /** Ends a lease: this node stops renewing it, and any node may lease the event again after the pause. */
    const giveBack = ({ claims, id }: LeasedEvent, afterMillis: number) =>
      Effect.suspend(() => {
        finish({ event: { id }, claims })
        return Effect.ignore(events.postpone({ id, claims }, afterMillis))
      })

    const dispatchLease = (lease: LeasedEvent, open: OpenEvent | undefined): Effect.Effect<void> =>
      Effect.suspend(() => {
        const slot = open === undefined ? undefined : runs.reserve(lease.accountId, null, true)
        if (open === undefined || slot === undefined) return giveBack(lease, retryMillis)
        const { accountId, claims, lane } = lease
        dispatch({ ...open, claims, lane, slot, accountId })
        return Effect.void
      })

    const dispatchLeased = (leases: ReadonlyArray<LeasedEvent>): Effect.Effect<void> =>
      leases.length === 0
        ? Effect.void
        : Effect.matchCauseEffect(events.load(leases.map(({ id }) => id)), {
            onSuccess: (loaded) => {
              const events = new Map(loaded.map((open) => [open.event.id, open]))
              return Effect.forEach(leases, (lease) => dispatchLease(lease, events.get(lease.id)), { discard: true })
            },
            onFailure: (cause) =>
              // One event that cannot be opened must not keep the others.
              Cause.isDie(cause) && leases.length > 1
                ? Effect.forEach(leases, (lease) => dispatchLeased([lease]), { discard: true })
                : Effect.zipRight(
                    Effect.annotateLogs(Effect.logWarning("events.not_loaded", cause), { eventId: leases[0]?.id }),
                    Effect.forEach(leases, (lease) => giveBack(lease, unreadableMillis(lease.claims)), {
                      concurrency: "unbounded",
                      discard: true
                    })
                  )
          })

    const watchEnd = (id: EventId): RunWatch => {
      const ended = Deferred.unsafeMake<FinishedRun | undefined>(FiberId.none)
      waiting.set(id, (end) => Deferred.unsafeDone(ended, Effect.succeed(end)))
      return { ended: Deferred.await(ended), forget: () => void waiting.delete(id) }
    }

    return Context.make(Dispatch, Dispatch.of({ dispatch, watchEnd })).pipe(
      Context.add(EventDispatch, EventDispatch.of({ dispatchLeased }))
    )
  })
)
