/**
 * The journal and the table of runs in memory. Like Postgres it fences writes by epochs and checks transitions of runs.
 */
import { Clock, Effect, Option } from "effect"
import {
  Fenced,
  type FinishedRun,
  Journal,
  JournalUnavailable,
  type OpenRun,
  type RunChange
} from "../../src/actors/ports/run/Journal.js"
import { Runs } from "../../src/actors/ports/run/Runs.js"
import { EventStream } from "../../src/actors/ports/event/EventStream.js"
import { decide, evolve } from "../../src/domain/run/Execution.js"
import type { ExecutionId, OrganisationId } from "../../src/domain/Ids.js"
import { accountOfRun } from "../../src/actors/ports/run/Journal.js"
import { indexEntries, type JournalEntry } from "../../src/domain/run/RunJournal.js"

const unasked = () => Effect.dieMessage("no test asks for it")

/** `caps`: the number of runs that an organisation may have in progress at once; without an entry there is no limit. */
export const makeRunStore = (caps: ReadonlyMap<OrganisationId, number> = new Map()) => {
  const runs = new Map<ExecutionId, OpenRun>()
  const ended = new Map<ExecutionId, FinishedRun>()
  const journals = new Map<ExecutionId, Array<JournalEntry>>()
  const queue: Array<{ readonly id: ExecutionId; readonly notBefore: number }> = []
  const changes: Array<RunChange> = []

  /** Whether the journal cannot be read now. */
  const trouble = { isAway: (): boolean => false }

  const put = (run: OpenRun) => {
    runs.set(run.id, run)
    return run
  }

  const write = (change: RunChange): Effect.Effect<void, Fenced> => {
    const { end, enqueue, epoch, id, journal: rows = [], open, patch } = change
    const owned = runs.get(id)
    if (epoch !== null && owned?.epoch !== epoch) return Effect.fail(new Fenced({ id }))
    changes.push(change)
    if (open !== undefined) put(open)
    const run = runs.get(id)
    if (run !== undefined && patch !== undefined)
      put({ ...run, ...patch, activations: patch.wakeAt === undefined ? run.activations : 0 })
    const entries = journals.get(id) ?? []
    for (const { entry, seq } of rows) entries[seq] ??= entry
    journals.set(id, entries)
    if (enqueue !== undefined) queue.push({ id, notBefore: enqueue.notBefore })
    if (end !== undefined) {
      ended.set(id, end)
      runs.delete(id)
      const queued = queue.findIndex((one) => one.id === id)
      if (queued >= 0) queue.splice(queued, 1)
    }
    return Effect.void
  }

  const reading = <A>(read: () => A) =>
    Effect.suspend(() =>
      trouble.isAway() ? Effect.fail(new JournalUnavailable({ reason: "away" })) : Effect.sync(read)
    )

  const journal = Journal.of({
    append: (change) => Effect.suspend(() => write(change)),
    commit: (change, done) =>
      Effect.runSync(Effect.match(write(change), { onFailure: done, onSuccess: () => done(undefined) })),
    index: (_, id) =>
      reading(() => {
        const [start, ...rest] = journals.get(id) ?? []
        return {
          start: start?.kind === "start" ? start : undefined,
          rest: indexEntries(
            rest.filter((entry) => entry.kind !== "start"),
            1
          ),
          bytes: JSON.stringify(journals.get(id) ?? []).length
        }
      }),
    results: () => Effect.dieMessage("every result is in the index"),
    takeOverSteps: () => reading(() => undefined),
    copy: (_, from, to, until) =>
      reading(
        () => void journals.set(to, [...(journals.get(to) ?? []), ...(journals.get(from) ?? []).slice(1, until + 1)])
      )
  })

  const isDue = (run: OpenRun, now: number, active: ReadonlyArray<ExecutionId>) =>
    run.status === "running" && run.wakeAt !== null && run.wakeAt <= now && !active.includes(run.id)
  const hasGrown = ({ id, progress }: OpenRun) => (journals.get(id)?.length ?? 0) > Math.max(progress, 1)
  const isOverdue = ({ deadlineAt }: OpenRun, now: number) => deadlineAt <= now

  /** The next queued run that may start. Does not change the queue. */
  const nextQueued = (now: number, underWay: ReadonlyMap<OrganisationId, number>) =>
    queue.find(({ id, notBefore }) => {
      const run = runs.get(id)
      if (run === undefined || notBefore > now) return false
      return (underWay.get(run.organisationId) ?? 0) < (caps.get(run.organisationId) ?? Infinity)
    })

  /** The first class of which runs wait. */
  const firstWaiting = () =>
    queue.reduce<OpenRun["priority"] | null>((first, { id }) => {
      const priority = runs.get(id)?.priority ?? 4
      return first === null || priority < first ? priority : first
    }, null)

  const table = Runs.of({
    get: (_, id) => Effect.sync(() => Option.fromNullable(runs.get(id))),
    isKnown: (_, id) => Effect.sync(() => runs.has(id)),
    takeOver: (id) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        const run = runs.get(id)
        const event = run === undefined ? undefined : decide(run, { _tag: "Resume", at })
        if (run === undefined || event?._tag !== "Resumed") return Option.none()
        const { activations, epoch } = run
        return Option.some(put({ ...evolve(run, event), epoch: epoch + 1, activations: activations + 1 }))
      }),
    recordProgress: ({ epoch, id }, progress) =>
      Effect.sync(() => {
        const run = runs.get(id)
        if (run?.epoch === epoch) put({ ...run, activations: 1, progress })
      }),
    markComputing: ({ epoch, id }) =>
      Effect.sync(() => {
        const run = runs.get(id)
        if (run?.epoch === epoch) put({ ...run, activations: run.activations + 1 })
      }),
    unmarkComputing: (found) =>
      Effect.sync(() => {
        for (const { epoch, id } of found) {
          const run = runs.get(id)
          if (run?.epoch === epoch) put({ ...run, activations: Math.max(0, run.activations - 1) })
        }
      }),
    clearActivations: (found) =>
      Effect.sync(() => {
        for (const { epoch, id } of found) {
          const run = runs.get(id)
          if (run?.epoch === epoch) put({ ...run, activations: 0 })
        }
      }),
    takeWoken: () => Effect.succeed([]),
    changeEngine: (run, engine) => Effect.sync(() => put({ ...run, engine })),
    findWork: (_, active) =>
      Effect.map(Clock.currentTimeMillis, (now) => ({
        due: [...runs.values()].some((run) => isDue(run, now, active)),
        queued: firstWaiting(),
        overdue: [...runs.values()].some((run) => isOverdue(run, now)),
        deliveries: false
      })),
    findDue: (_, active, limit) =>
      Effect.map(Clock.currentTimeMillis, (now) =>
        [...runs.values()]
          .filter((run) => isDue(run, now, active))
          .sort((a, b) => (a.wakeAt ?? 0) - (b.wakeAt ?? 0))
          .slice(0, limit)
          .map((run) => ({ ...run, accountId: accountOfRun(run), activations: hasGrown(run) ? 0 : run.activations }))
      ),
    findOverdue: (_, limit) =>
      Effect.map(Clock.currentTimeMillis, (now) =>
        [...runs.values()].filter((run) => isOverdue(run, now)).slice(0, limit)
      ),
    clockOffset: unasked()
  })

  const stream = EventStream.of({
    take: (_, slots, live) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        const underWay = new Map(live)
        const started: Array<OpenRun> = []
        const first = firstWaiting()
        for (let next = nextQueued(at, underWay); next !== undefined && started.length < slots;) {
          const { id } = next
          queue.splice(queue.indexOf(next), 1)
          const run = runs.get(id)
          const event = run === undefined ? undefined : decide(run, { _tag: "Start", at })
          if (run !== undefined && event?._tag === "Started") {
            started.push(put({ ...evolve(run, event), epoch: run.epoch + 1, activations: 1 }))
            underWay.set(run.organisationId, (underWay.get(run.organisationId) ?? 0) + 1)
          }
          next = nextQueued(at, underWay)
        }
        return {
          runs: started,
          events: [],
          passedOver:
            started.length > 0 && started.length < slots && queue.length > 0
              ? started.map(({ organisationId }) => organisationId)
              : [],
          firstWaiting: first
        }
      }),
    finish: () => undefined,
    status: unasked()
  })

  return {
    journal,
    trouble,
    table,
    stream,
    /** Every committed change, in order. */
    changes,
    runs,
    ended,
    entries: (id: ExecutionId): ReadonlyArray<JournalEntry> => journals.get(id) ?? [],
    /** Adds a run in the given state, with its journal. */
    add: (run: OpenRun, entries: ReadonlyArray<JournalEntry>) => {
      put(run)
      journals.set(run.id, [...entries])
    }
  }
}
