/** Starts the runs of events: one at once on this node, or several that wait in the start queue. */
import { Context, type Effect } from "effect"
import type { ExecutionId, OrganisationId } from "../../../domain/Ids.js"
import type { StartRequest } from "../run/Executions.js"
import type { FinishedRun, RunChange, EventSettlement } from "../run/Journal.js"
import type { LeasedEvent } from "../run/StartQueue.js"

export class EventRuns extends Context.Tag("svc/EventRuns")<
  EventRuns,
  {
    /** Has this node ask for a place of the account, if it has none free: call it before `reserve`. */
    readonly makeRoom: (account: OrganisationId, concurrentRuns: number | null) => Effect.Effect<void>
    /**
     * Reserves a slot for a run of the account; `undefined` when the node has none left, or the account runs as
     * many as `concurrentRuns` allows. `wasQueued`: its event waited in the start queue. The caller launches the run or
     * releases the slot.
     */
    readonly reserve: (
      account: OrganisationId,
      concurrentRuns: number | null,
      wasQueued: boolean
    ) => ExecutionId | undefined
    readonly release: (id: ExecutionId) => void
    /**
     * Drives a run in its reserved slot. Its first commit settles the event; if another node has the event by then, the
     * run is fenced before anything outside has seen it. `alone`: in a runner of its own. `settled`: called once, with the
     * end of the run, or `undefined` when it waits or another node has it.
     */
    readonly launch: (
      start: { readonly id: ExecutionId; readonly request: StartRequest; readonly settles: EventSettlement },
      how: { readonly alone: boolean },
      settled: (end: FinishedRun | undefined) => void
    ) => void
    /** The change that opens a run which waits in the start queue, and the run's id. */
    readonly opening: (request: StartRequest) => RunChange
  }
>() {}

/** Where leased events go: the start queue hands them over as it hands over runs. */
export class EventDispatch extends Context.Tag("svc/EventDispatch")<
  EventDispatch,
  {
    /** Reads leased events and dispatches them in the background; a lease without a free slot is given up. */
    readonly dispatchLeased: (leases: ReadonlyArray<LeasedEvent>) => Effect.Effect<void>
  }
>() {}
