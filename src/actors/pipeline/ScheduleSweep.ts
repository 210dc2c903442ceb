/**
 * Fires schedules: leases those that are due and commits each tick with the claim on it and the time of the next one, so
 * that a tick fires once on however many nodes, over restarts. Contract: trigger record and states.
 */
import { Clock, Context, DateTime, Duration, Effect } from "effect"
import type { AuditEntry } from "../../domain/audit/Audit.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId, TriggerId } from "../../domain/Ids.js"
import { dueTicks, isMissed, type SkippedTicks } from "../../domain/trigger/DueTicks.js"
import type { SkipReason } from "../../domain/event/Event.js"
import type { Json } from "../../domain/Json.js"
import { triggerLimits } from "../../domain/Limits.js"
import type { ScheduleSettings, Trigger } from "../../domain/trigger/Trigger.js"
import { inBatches, leasedTask, type SweepTools } from "../LeasedWork.js"
import type { DomainEvent } from "../ports/connection/ConnectionStore.js"
import type { StoredJob } from "../ports/FailedJobs.js"
import { Identifiers } from "../ports/Identifiers.js"
import type { LeasedWork } from "../ports/LeasedWork.js"
import { type Arrival, Events } from "../ports/event/Events.js"
import { disablingOf } from "./TriggerDisabling.js"

/** A schedule that this node leased; its id is that of its trigger. */
export interface DueSchedule extends StoredJob {
  readonly id: TriggerId
  readonly organisationId: OrganisationId
  readonly dueAt: number
  /** When it was found due. */
  readonly now: number
}

/** An active trigger as it is stored now. `read`: a defect if this release cannot read its row, which fails its job only. */
export interface StoredTrigger extends StoredJob {
  readonly id: TriggerId
  readonly organisationId: OrganisationId
  readonly read: Effect.Effect<Trigger>
}

/** The schedules that are due, and what their ticks depend on. Times are Unix milliseconds of Postgres' clock. */
export class Schedules extends Context.Tag("svc/Schedules")<
  Schedules,
  Pick<LeasedWork<DueSchedule>, "leaseDue"> & {
    /** The active ones of the triggers with these ids. */
    readonly triggers: (ids: ReadonlyArray<TriggerId>) => Effect.Effect<ReadonlyArray<StoredTrigger>, Unavailable>
    /** Moves a schedule on without an event: one that does not fire any more, or whose tick fired before. */
    readonly move: (due: DueSchedule, nextAt: number | null) => Effect.Effect<void, Unavailable>
    /** Whether a run of an earlier tick has not ended, or a tick has not started its run yet. */
    readonly isBusy: (organisation: OrganisationId, lane: string) => Effect.Effect<boolean, Unavailable>
    /** Active schedules whose runs failed too often in a row. */
    readonly failing: (limit: number) => Effect.Effect<ReadonlyArray<StoredTrigger>, Unavailable>
    /** Stores a trigger that the service disables, with its audit entry and event; unless it was changed meanwhile. */
    readonly disable: (after: Trigger, event: DomainEvent, audit: AuditEntry) => Effect.Effect<void, Unavailable>
  }
>() {}

const sweepInterval = Duration.seconds(1)
/** Schedules that one statement leases, and those of them whose records are read at once. */
const batchSize = 500
const chunkSize = 25
const schedulesAtOnce = 16
/** Longer than any schedule catches up, so that a tick that was handled is never handled again. */
const claimLifetime = Duration.days(8)

/** A tick, or several that are skipped together: `from` is the first of them. */
interface HandledTick {
  readonly at: number
  readonly ignoredBecause?: SkipReason
  readonly payload: Json
}

const timeText = (at: number): string => new Date(at).toISOString()

const skippedPayload = ({ count, from, to }: SkippedTicks): Json => ({
  scheduledFor: timeText(from),
  skipped: count,
  until: timeText(to)
})

const chunksOf = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(all.length / chunkSize) }, (_, at) => all.slice(at * chunkSize, (at + 1) * chunkSize))

const make = Effect.fnUntraced(function* ({ jobs }: SweepTools) {
  const schedules = yield* Schedules
  const events = yield* Events
  const identifiers = yield* Identifiers

  /** Commits the event of a tick; `dueAt`: the state that it replaces, `next`: the tick that follows. */
  const commitTick = Effect.fnUntraced(function* (
    trigger: Trigger,
    delayMillis: number,
    tick: HandledTick,
    due: DueSchedule,
    next: { readonly at: number | null; readonly isDue: boolean }
  ) {
    const key = `${trigger.id}|${new Date(tick.at).toISOString()}`
    const nextAt = next.at === null ? null : next.at + delayMillis
    const arrival: Arrival = {
      organisationId: trigger.organisationId,
      spaceId: trigger.spaceId,
      source: "schedule",
      trigger,
      connector: null,
      connectionId: null,
      customerId: trigger.customerId,
      type: `schedule.${trigger.id}`,
      entity: null,
      action: "other",
      occurredAt: tick.at,
      payload: tick.payload,
      headers: {},
      deduplication: { value: key, deliveryId: null },
      traceparent: null,
      claim: {
        scope: "tick",
        key,
        hash: key,
        expiresAt: (yield* Clock.currentTimeMillis) + Duration.toMillis(claimLifetime)
      },
      ...(tick.ignoredBecause === undefined ? {} : { ignoredBecause: tick.ignoredBecause }),
      tick: {
        triggerId: trigger.id,
        dueAt: due.dueAt,
        nextAt,
        isFired: tick.ignoredBecause === undefined,
        keepsLease: next.isDue
      }
    }
    const reception = yield* events.receive(arrival)
    // The tick fired before an edit that brought it back.
    if (reception._tag === "Duplicate") yield* schedules.move(due, nextAt)
  })

  /** Whether this tick is skipped because a run of an earlier one has not ended. Ticks that are caught up wait for it instead. */
  const isOverlapping = (trigger: Trigger, schedule: ScheduleSettings, tick: number, now: number) =>
    schedule.overlap !== "skip" || (schedule.catchUp === "all" && isMissed(tick, now))
      ? Effect.succeed(false)
      : schedules.isBusy(trigger.organisationId, trigger.id)

  /** Handles the due ticks of one schedule, in their order. */
  const handle = Effect.fnUntraced(function* (trigger: Trigger, due: DueSchedule) {
    const { schedule } = trigger
    if (schedule === null) return yield* schedules.move(due, null)
    const delay = schedule.delayMinutes * 60_000
    const now = Math.floor(due.now) - delay
    const first = due.dueAt - delay
    const { firing, next, skipped } = dueTicks(schedule, first, Math.max(now, first))
    let state = due.dueAt
    const commit = (tick: HandledTick, following: number | undefined) => {
      const dueAt = state
      state = (following ?? next ?? 0) + delay
      return commitTick(
        trigger,
        delay,
        tick,
        { ...due, dueAt },
        { at: following ?? next, isDue: following !== undefined }
      )
    }
    if (skipped !== null)
      yield* commit({ at: first, ignoredBecause: "catch_up", payload: skippedPayload(skipped) }, firing[0])
    for (const [at, tick] of firing.entries()) {
      const overlaps = yield* isOverlapping(trigger, schedule, tick, now)
      yield* commit(
        {
          at: tick,
          payload: { scheduledFor: timeText(tick) },
          ...(overlaps ? { ignoredBecause: "overlap" as const } : {})
        },
        firing[at + 1]
      )
    }
  })

  /** Handles schedules that were leased together; one that fails is handled again when its lease has expired. */
  const handleChunk = Effect.fnUntraced(function* (dues: ReadonlyArray<DueSchedule>) {
    const found = yield* schedules.triggers(dues.map(({ id }) => id))
    const triggers = new Map(found.map((one) => [one.id, one]))
    yield* jobs.each(
      dues,
      (due) => {
        const trigger = triggers.get(due.id)
        return trigger === undefined
          ? schedules.move(due, null)
          : Effect.flatMap(trigger.read, (read) => handle(read, due))
      },
      { concurrency: schedulesAtOnce }
    )
  })

  /** Fires what is due, in batches, until nothing is. */
  const fireDue = (advance: Effect.Effect<void>) =>
    inBatches(batchSize, schedules.leaseDue, (dues) =>
      Effect.forEach(chunksOf(dues), (chunk) => Effect.zipLeft(handleChunk(chunk), advance))
    )

  /** Disables schedules whose runs failed too often in a row. */
  const disableFailing = Effect.fnUntraced(function* () {
    const failing = yield* schedules.failing(batchSize)
    const message = `${triggerLimits.failures} runs failed in a row`
    const disable = (trigger: Trigger) =>
      Effect.flatMap(DateTime.now, (now) => {
        const at = DateTime.formatIso(now)
        const { after, audit, event } = disablingOf(identifiers, trigger, "failures", message, at)
        return schedules.disable(after, event, audit)
      })
    yield* Effect.forEach(failing, (trigger) => jobs.attempt(trigger, Effect.flatMap(trigger.read, disable)))
  })

  const pass = (advance: Effect.Effect<void>) => Effect.zipRight(disableFailing(), fireDue(advance))

  return { pass }
})

export const task = leasedTask({ name: "schedules.fire", interval: sweepInterval }, make)
