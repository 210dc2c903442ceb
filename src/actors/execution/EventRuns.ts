/** The port `EventRuns` over the runs that this node drives. */
import { Effect, Layer } from "effect"
import { decide, evolve } from "../../domain/run/Execution.js"
import type { ExecutionId } from "../../domain/Ids.js"
import { hasRoom } from "../../domain/run/StartPolicy.js"
import { EventRuns } from "../ports/event/EventRuns.js"
import type { StartRequest } from "../ports/run/Executions.js"
import { Identifiers } from "../ports/Identifiers.js"
import { Ownership } from "../ports/Ownership.js"
import { ReleaseStage } from "../ports/run/ReleaseStage.js"
import { Sandbox } from "../ports/run/Sandbox.js"
import { LiveRuns } from "./LiveRuns.js"
import { RunPlaces } from "./RunPlaces.js"
import { pendingRun, startEntry } from "./PendingRun.js"
import { nextOwnedId } from "./OwnedId.js"

/** `slots`: runs that this node drives at a time. */
export const layer = (options: { readonly slots: number }) =>
  Layer.effect(
    EventRuns,
    Effect.gen(function* () {
      const identifiers = yield* Identifiers
      const ownership = yield* Ownership
      const sandbox = yield* Sandbox
      const stage = yield* ReleaseStage
      const live = yield* LiveRuns
      const places = yield* RunPlaces
      const clock = yield* Effect.clock

      const accept = (request: StartRequest, id: ExecutionId) => {
        const now = clock.unsafeCurrentTimeMillis()
        const run = pendingRun(request, {
          id,
          shard: ownership.shardOf(id),
          engine: stage.engineOfNewRuns(sandbox.engine),
          now
        })
        return { now, run, start: startEntry(request, now) }
      }

      return EventRuns.of({
        // Without places the run waits in the queue.
        makeRoom: (account, concurrentRuns) => Effect.ignore(places.makeRoom(account, concurrentRuns)),
        reserve: (account, concurrentRuns, wasQueued) => {
          if (!hasRoom("event", live.size(), options.slots)) return undefined
          if (!places.hasRoom(account, concurrentRuns)) return undefined
          const id = nextOwnedId(identifiers, ownership)
          return live.reserve(id, account, wasQueued) ? id : undefined
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
              journalBytes: 0,
              settles
            },
            (outcome) => settled(outcome._tag === "Ended" ? outcome.end : undefined)
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
