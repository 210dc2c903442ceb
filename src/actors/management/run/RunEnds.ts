/**
 * Waits for the ends of runs, whichever nodes they are on: while anybody waits, one read tells which of the runs have ended,
 * at once after a commit.
 */
import { Effect } from "effect"
import { type Failure, TooManyCalls, Unavailable } from "../../../domain/Failure.js"
import type { ExecutionId } from "../../../domain/Ids.js"
import { isTerminal } from "../../../domain/run/Execution.js"
import type { ExecutionWithValues } from "../../../domain/run/ExecutionView.js"
import { rpcLimits } from "../../../domain/rpc/RpcLimits.js"
import { OpenQuota, type Opener } from "../../../domain/share/OpenQuota.js"
import { ownerOfAccount } from "../../../domain/share/ShareOwner.js"
import { backgroundTask } from "../../BackgroundTask.js"
import { pollForCommits } from "../../CommitPolls.js"
import { makeTally } from "../../Tally.js"
import { Wakeups } from "../../ports/run/Wakeups.js"
import { CommittedChanges } from "../../ports/watch/CommittedChanges.js"
import type { CallContext } from "../CallContext.js"
import type { Principal } from "../Caller.js"
import { findExecution } from "./ExecutionRecords.js"
import { makeLiveReads } from "./LiveReads.js"

const make = Effect.gen(function* () {
  const source = yield* CommittedChanges
  const reads = yield* makeLiveReads
  const wakeups = yield* Wakeups
  const waiting = new Map<ExecutionId, Set<() => void>>()
  const quota = new OpenQuota({ ofCaller: rpcLimits.watchesOfCaller, ofNode: rpcLimits.watchesOfNode })
  const organisations = makeTally()

  const readEnds = Effect.gen(function* () {
    const ids = [...waiting.keys()]
    if (ids.length === 0) return
    const signs = yield* source.runs(ids)
    const open = new Set(signs.filter(({ status }) => !isTerminal(status)).map(({ id }) => id))
    // A run that is nowhere was erased.
    for (const id of ids) if (!open.has(id)) for (const done of waiting.get(id) ?? []) done()
  })
  const task = yield* backgroundTask("runs.await", readEnds)
  const { start, wake } = yield* pollForCommits(
    wakeups,
    (id) => organisations.of(id) > 0,
    Effect.map(task.run, () => waiting.size > 0)
  )

  const openerOf = (caller: Principal): Opener => ({ caller: caller.id, owner: ownerOfAccount(caller) })

  const refusal = (caller: Principal): Failure | undefined => {
    const excess = quota.excess(openerOf(caller))
    if (excess === undefined) return undefined
    const { limit, of } = excess
    if (of !== "node") return new TooManyCalls({ what: "awaits", of, limit })
    return new Unavailable({
      reason: `${limit} callers wait for runs on this node, as many as it serves: read the execution at intervals instead, or try another node`,
      retryAfterSeconds: 5
    })
  }

  const tally = (caller: Principal, by: 1 | -1) => {
    quota.count(openerOf(caller), by)
    organisations.add(caller.organisationId, by)
  }

  /** Returns when the run has ended, or is nowhere. */
  const untilEnd = (caller: Principal, run: ExecutionId): Effect.Effect<void> =>
    Effect.acquireUseRelease(
      Effect.sync(() => tally(caller, 1)),
      () =>
        Effect.async<void>((resume) => {
          const all = waiting.get(run) ?? new Set()
          const leave = () => {
            all.delete(done)
            if (all.size === 0) waiting.delete(run)
          }
          const done = () => {
            leave()
            resume(Effect.void)
          }
          waiting.set(run, all.add(done))
          start()
          wake()
          return Effect.sync(leave)
        }),
      () => Effect.sync(() => tally(caller, -1))
    )

  return {
    /** The execution, without its steps, once it has ended. */
    awaitEnd: Effect.fnUntraced(function* (
      { caller }: Pick<CallContext, "caller">,
      id: string
    ): Effect.fn.Return<ExecutionWithValues, Failure> {
      const find = findExecution(
        caller,
        id,
        (known) => reads.find(caller, known),
        ({ view }) => view
      )
      for (;;) {
        const { view } = yield* find
        if (isTerminal(view.status)) return view
        const refused = refusal(caller)
        if (refused !== undefined) return yield* Effect.fail(refused)
        yield* untilEnd(caller, view.id)
      }
    })
  }
})

/** `awaitEnd` fails with `NotFound` if the key's workspace has no such execution or the caller does not reach it. */
export class RunEnds extends Effect.Service<RunEnds>()("svc/RunEnds", { scoped: make }) {}
