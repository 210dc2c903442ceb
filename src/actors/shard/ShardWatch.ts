/**
 * Watches whether this node does the work of its shards: asks each of them in turn by a message, and looks whether the tasks
 * of shards make steps. A node that does not work for half a minute, while Postgres does, gives its shards up and ends.
 */
import { Clock, Context, Duration, Effect, FiberMap, Layer } from "effect"
import {
  countIdleTicks,
  countStandstills,
  mustEnd,
  nodeLife,
  overdueTasks,
  type Standstill
} from "../../domain/run/NodeLife.js"
import { BackgroundTasks, isBusy } from "../ports/BackgroundTasks.js"
import { Ownership } from "../ports/Ownership.js"
import { Shard } from "./Protocol.js"

/** What the node holds now, and what the last tick found. */
export interface ShardReading {
  /** Shards that it holds now. */
  readonly held: number
  /** Shards that have not answered in time. */
  readonly unanswered: ReadonlyArray<number>
  /** Tasks of shards whose due work has waited for too long. */
  readonly overdue: ReadonlyArray<string>
}

/** Whether the node does the work of its shards; one without shards has none to do. */
export const isWorking = ({ overdue, unanswered }: Omit<ShardReading, "held">): boolean =>
  unanswered.length === 0 && overdue.length === 0

export class ShardWatch extends Context.Tag("svc/ShardWatch")<ShardWatch, { readonly reading: () => ShardReading }>() {}

export interface ShardWatchOptions {
  /** Whether Postgres answers, and no statement of this node takes long there. */
  readonly databaseWorks: Effect.Effect<boolean>
  /** Gives the shards up and ends this process. */
  readonly end: (reading: ShardReading) => Effect.Effect<void>
}

/** Ticks from one shard asked to the next: a lone node asks all within ten minutes. A fault seldom affects a single shard. */
const ticksBetweenAsks = 2
/** Shards that may owe an answer at a time: further ones would tell nothing new. */
const mostUnanswered = 16

const watch = Effect.fnUntraced(function* ({ databaseWorks, end }: ShardWatchOptions) {
  const ownership = yield* Ownership
  const registry = yield* BackgroundTasks
  const client = yield* Shard.client
  const asking = yield* FiberMap.make<number, void>()

  /** An id for each shard that was looked for. */
  const ids = new Map<number, string>()
  let tried = 0
  const idOf = (shard: number): string => {
    for (;;) {
      const known = ids.get(shard)
      if (known !== undefined) return known
      const id = String(++tried)
      const of = ownership.shardOf(id)
      if (!ids.has(of)) ids.set(of, id)
    }
  }

  /** The shards that were asked and have not answered, each with the ticks since. */
  const open = new Map<number, number>()
  let standstills: ReadonlyMap<string, Standstill> = new Map()
  let found: Omit<ShardReading, "held"> = { unanswered: [], overdue: [] }
  let idleTicks = 0
  let tick = 0
  let lastAsked = 0

  /** One that fails is asked again at the next tick; meanwhile it has not answered. */
  const ask = (shard: number) =>
    FiberMap.run(
      asking,
      shard,
      Effect.matchCause(client(idOf(shard)).Ask(), {
        onSuccess: () => void open.delete(shard),
        onFailure: () => undefined
      }),
      { onlyIfMissing: true }
    )

  /** The next shard in turn. */
  const nextOf = (held: ReadonlyArray<number>): number | undefined => {
    const closed = held.filter((shard) => !open.has(shard))
    return closed.find((shard) => shard > lastAsked) ?? closed[0]
  }

  const askShards = Effect.fnUntraced(function* (held: ReadonlyArray<number>) {
    for (const shard of open.keys()) {
      if (held.includes(shard)) yield* ask(shard)
      else {
        open.delete(shard)
        yield* FiberMap.remove(asking, shard)
      }
    }
    if (tick % ticksBetweenAsks !== 0 || open.size >= mostUnanswered) return
    const next = nextOf(held)
    if (next === undefined) return
    lastAsked = next
    open.set(next, 0)
    yield* ask(next)
  })

  /** Counts a tick in which this process ran. */
  const count = (held: number) => {
    for (const [shard, ticks] of open) open.set(shard, ticks + 1)
    const tasks = registry.statuses().filter(({ isOfShards }) => isOfShards)
    standstills = countStandstills(
      standstills,
      tasks.map((task) => ({ name: task.name, steps: task.steps, isBusy: held > 0 && isBusy(task) }))
    )
    found = {
      unanswered: [...open].filter(([, ticks]) => ticks > nodeLife.answerTicks).map(([shard]) => shard),
      overdue: overdueTasks(standstills)
    }
  }

  const heldShards = () => ownership.ownedShards().filter((shard) => ownership.owns(shard))
  const reading = (): ShardReading => ({ ...found, held: heldShards().length })

  const look = Effect.fnUntraced(function* (isLate: boolean) {
    const held = heldShards()
    tick++
    if (!isLate) {
      count(held.length)
      const works = isWorking(found)
      idleTicks = countIdleTicks(idleTicks, { works, databaseWorks: works || (yield* databaseWorks) })
    }
    yield* askShards(held)
    return mustEnd(idleTicks)
  })

  const pass = Effect.gen(function* () {
    const began = yield* Clock.currentTimeNanos
    yield* Effect.sleep(Duration.millis(nodeLife.tickMillis))
    const slept = Number((yield* Clock.currentTimeNanos) - began) / 1e6
    return yield* look(slept > nodeLife.tickMillis + nodeLife.lateMillis)
  })
  const watching = Effect.zipRight(
    Effect.repeat(pass, { until: (isOver) => isOver }),
    Effect.suspend(() => end(reading()))
  )
  if (ownership.isRunner) yield* Effect.forkScoped(Effect.interruptible(watching))
  return ShardWatch.of({ reading })
})

/** Watches until the scope closes; a node that holds no shards ever, not at all. */
export const layer = (options: ShardWatchOptions) => Layer.scoped(ShardWatch, watch(options))
