/**
 * Tells the owner of a shard that something waits on it in the start queue, so that what another node accepted starts at
 * once. A signal that is lost delays a start until the owner looks by itself.
 */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"
import { Duration, Effect, Layer, Runtime } from "effect"
import { EventPriority } from "../../domain/event/Event.js"
import { Ownership } from "../ports/Ownership.js"
import { Wakeups } from "../ports/run/Wakeups.js"

/** Something of this class, or of one before it, waits. Idempotent. */
export const Queued = Rpc.make("Queued", { payload: { priority: EventPriority } })

/** The entity of the start queue on one shard; its id is any that has this shard. */
export const ShardQueue = Entity.make("ShardQueue", [Queued]).annotate(ClusterSchema.ClientTracingEnabled, false)

/** What waits when a signal is to be sent to one owner. */
interface Waiting {
  priority: EventPriority
  shard: number
}

const receiver = ShardQueue.toLayer(
  Effect.map(Wakeups, (wakeups) =>
    ShardQueue.of({
      Queued: ({ payload: { priority } }) => Effect.sync(() => wakeups.signalQueued(priority))
    })
  ),
  { concurrency: "unbounded", maxIdleTime: Duration.minutes(5), disableFatalDefects: true }
)

const sender = Layer.scopedDiscard(
  Effect.gen(function* () {
    const ownership = yield* Ownership
    if (ownership.isAlone) return
    const wakeups = yield* Wakeups
    const queue = yield* ShardQueue.client
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    /**
     * What is to be signalled next, by owner, and apart for its shards that move; `undefined`: a signal is being sent, and
     * nothing was queued since.
     */
    const ways = new Map<string, Waiting | undefined>()
    const idOf = memoOfIds(ownership.shardOf)

    /** Sends one signal at a time to an owner, and one for its shards that move: what is queued meanwhile is in the next. */
    const signal = (way: string, { priority, shard }: Waiting): void => {
      ways.set(way, undefined)
      const sent = queue(idOf(shard))
        .Queued({ priority })
        .pipe(Effect.timeout("1 second"), Effect.sandbox, Effect.ignore)
      runFork(sent).addObserver(() => {
        const next = ways.get(way)
        if (next === undefined) ways.delete(way)
        else signal(way, next)
      })
    }

    wakeups.onQueued((priority, shard) => {
      if (ownership.owns(shard)) return
      const owner = ownership.ownerOf(shard)
      if (owner === null) return
      // A signal to a shard that moves waits for it, and would keep those to the other shards of its owner waiting.
      const way = ownership.isMoving(shard) ? `${owner} moving` : owner
      if (!ways.has(way)) return signal(way, { priority, shard })
      const waiting = ways.get(way)
      if (waiting === undefined) ways.set(way, { priority, shard })
      else if (priority < waiting.priority) waiting.priority = priority
    })
  })
)

/** An id of each shard. */
const memoOfIds = (shardOf: (id: string) => number) => {
  const ids = new Map<number, string>()
  let drawn = 0
  return (shard: number): string => {
    for (;;) {
      const found = ids.get(shard)
      if (found !== undefined) return found
      const id = `queue-${(drawn += 1)}`
      const of = shardOf(id)
      if (!ids.has(of)) ids.set(of, id)
    }
  }
}

export const layer = Layer.merge(receiver, sender)
