/** Starts the runs of events: one at once on this node, or several that wait in the start queue. */
import { Context, Effect, Layer } from "effect"
import { decide, evolve } from "../../domain/Execution.js"
import type { ExecutionId, OrganisationId } from "../../domain/Ids.js"
import type { StartRequest } from "../ports/Executions.js"
import { Identifiers } from "../ports/Identifiers.js"
import type { RunChange, Settlement } from "../ports/Journal.js"
import { Ownership } from "../ports/Ownership.js"
import { Sandbox } from "../ports/Sandbox.js"
import { LiveRuns } from "./LiveRuns.js"
import { pendingRun, startEntry } from "./PendingRun.js"
import { nextOwnedId } from "./OwnedId.js"
import type { DriveOutcome } from "./RunSpec.js"

export class EventRuns extends Context.Tag("svc/EventRuns")<
  EventRuns,
  {
    /**
     * Reserves a slot for a run of the organisation; `undefined` when the node has none left, or the organisation runs as
     * many as `concurrentRuns` allows. The caller launches the run or releases the slot.
     */
    readonly reserve: (organisation: OrganisationId, concurrentRuns: number | null) => ExecutionId | undefined
    readonly release: (id: ExecutionId) => void
    /**
     * Drives a run in its reserved slot. Its first commit settles the event; if another node has the event by then, the
     * run is fenced before anything outside has seen it. `alone`: in a runner of its own.
     */
    readonly launch: (
      start: { readonly id: ExecutionId; readonly request: StartRequest; readonly settles: Settlement },
      how: { readonly alone: boolean },
      settled: (outcome: DriveOutcome) => void
    ) => void
    /** The change that opens a run which waits in the start queue, and the run's id. */
    readonly opening: (request: StartRequest) => RunChange
  }
>() {}

/** `slots`: runs that this node drives at a time. */
export const layer = (options: { readonly slots: number }) =>
  Layer.effect(
    EventRuns,
    Effect.gen(function* () {
      const identifiers = yield* Identifiers
      const ownership = yield* Ownership
      const sandbox = yield* Sandbox
      const live = yield* LiveRuns
      const clock = yield* Effect.clock

      const accept = (request: StartRequest, id: ExecutionId) => {
        const now = clock.unsafeCurrentTimeMillis()
        const run = pendingRun(request, { id, shard: ownership.shardOf(id), engine: sandbox.engine, now })
        return { now, run, start: startEntry(request, now) }
      }

      return EventRuns.of({
        reserve: (organisation, concurrentRuns) => {
          if (live.size() >= options.slots) return undefined
          if (concurrentRuns !== null && (live.countByOrganisation().get(organisation) ?? 0) >= concurrentRuns)
            return undefined
          const id = nextOwnedId(identifiers, ownership)
          return live.reserve(id, organisation) ? id : undefined
        },
        release: live.release,
        launch: ({ id, request, settles }, { alone }, settled) => {
          const { now, run, start } = accept(request, id)
          const started = decide(run, { _tag: "Start", at: now })
          live.launch(
            {
              alone,
              run: started._tag === "Started" ? evolve(run, started) : run,
              runnable: request.runnable,
              start,
              history: null,
              hasRow: false,
              nextSeq: 1,
              settles
            },
            settled
          )
        },
        opening: (request) => {
          const id = nextOwnedId(identifiers, ownership)
          const { now, run, start } = accept(request, id)
          return {
            id,
            organisationId: run.organisationId,
            spaceId: run.spaceId,
            retention: run.retention,
            epoch: null,
            open: run,
            journal: [{ seq: 0, entry: start }],
            enqueue: { notBefore: now }
          }
        }
      })
    })
  )
