/**
 * The port `RunnerStorage` of the library over the seat of this node: the nodes as runners, and the locks on shards. What
 * fails here ends the seat, and the node takes its shards again with the next one; so nothing fails towards the library.
 */
import { MachineId, Runner, RunnerAddress, RunnerStorage, type ShardId } from "@effect/cluster"
import { Context, Deferred, Effect, Layer, Option } from "effect"
import { setTimeout } from "node:timers/promises"
import { Membership } from "./Membership.js"
import { holdsShards, type NodeRow } from "../postgres/database/NodeRow.js"
import { onSeat, type Seat } from "./Seat.js"

export const shardGroup = "default"
/** All nodes weigh the same. */
export const shardWeight = 1

/** Machine ids of the library's message ids have ten bits; a number repeats when a thousand nodes have come and gone. */
const machineIds = 1_024

/** The functions to call before this node gives up shards (`Ownership.onLeave`). */
export class Leaving extends Context.Tag("svc/cluster/Leaving")<
  Leaving,
  Set<(shards: ReadonlySet<number>) => Effect.Effect<void>>
>() {}

/** The functions to call with shards that this node has got, once the library knows of them (`Ownership.onGain`). */
export class Gaining extends Context.Tag("svc/cluster/Gaining")<
  Gaining,
  Set<(shards: ReadonlyArray<ShardId.ShardId>) => void>
>() {}

interface Batch {
  readonly shards: Set<number>
  readonly done: Deferred.Deferred<void>
}

/**
 * How long, in milliseconds, to wait for shards that others hold: less than the library waits, and less after others have
 * come, which wait as well. And the pause between two tries.
 */
const patience = { whole: 900, afterOthers: 400, pause: 25 } as const
/** How long the library may wait for news of the nodes. */
const lookInterval = "200 millis"

/** How long what runs on shards may take to stop before they are given up all the same: writes are fenced. */
const stopLimit = "1 second"

/**
 * The nodes as runners, and the locks of shards, over the seat of this node. A node without a seat refreshes no shard:
 * the library gives them up and takes them again later.
 */
export const layer = Layer.effect(
  RunnerStorage.RunnerStorage,
  Effect.gen(function* () {
    const membership = yield* Membership
    const leaving = yield* Leaving
    const gaining = yield* Gaining
    const held = (shards: Iterable<ShardId.ShardId>) => {
      const seat = membership.seat()
      return [...shards].filter(({ id }) => seat?.shards.has(id) === true)
    }
    /** Whether it was changed. A change that fails ends the seat, and with it the locks. */
    const change = (what: (seat: Seat) => Promise<void>) =>
      Effect.suspend(() => {
        const seat = membership.seat()
        return seat === undefined ? Effect.succeed(false) : Effect.isSuccess(onSeat(() => what(seat)))
      })
    const giveUp = (shards: ReadonlySet<number>) =>
      Effect.forEach(
        leaving,
        (stop) => Effect.timeoutOption(Effect.interruptible(Effect.disconnect(stop(shards))), stopLimit),
        {
          concurrency: "unbounded",
          discard: true
        }
      ).pipe(Effect.zipRight(change((seat) => seat.unlock([...shards]))), Effect.asVoid)
    /** The shards that the library gives up in one turn are given up together. */
    let batch: Batch | undefined
    const release = Effect.fnUntraced(function* (shard: number) {
      if (batch !== undefined) {
        batch.shards.add(shard)
        return yield* Deferred.await(batch.done)
      }
      const own: Batch = { shards: new Set([shard]), done: yield* Deferred.make<void>() }
      batch = own
      yield* Effect.yieldNow()
      batch = undefined
      yield* Effect.intoDeferred(giveUp(own.shards), own.done)
      return yield* Deferred.await(own.done)
    }, Effect.uninterruptible)

    // The library stops waiting for locks after a while, and may want others when they come: nobody would give them up.
    let acquiring = 0
    let forgotten: ReadonlySet<number> = new Set()
    const giveUpForgotten = (known: ReadonlyArray<ShardId.ShardId>) => {
      const ids = new Set(known.map(({ id }) => id))
      const unknown = acquiring > 0 ? [] : [...(membership.seat()?.shards.keys() ?? [])].filter((id) => !ids.has(id))
      // It may be about to note one: only what it did not know the last time either is given up.
      const given = unknown.filter((id) => forgotten.has(id))
      forgotten = new Set(unknown)
      return given.length === 0 ? Effect.void : change((seat) => seat.unlock(given))
    }
    /**
     * Waits for a moment for those that their holders are about to give up: after each answer the library waits for a
     * second before it asks again.
     */
    const lock = (wanted: ReadonlyArray<ShardId.ShardId>) =>
      change(async (seat) => {
        acquiring++
        try {
          const until = performance.now() + patience.whole
          const countMissing = () => wanted.filter(({ id }) => !seat.shards.has(id)).length
          let missing = wanted.length
          let quietUntil = until
          for (;;) {
            await seat.lock(wanted.map(({ id }) => id))
            const left = countMissing()
            if (left < missing) quietUntil = Math.min(until, performance.now() + patience.afterOthers)
            if (left === 0 || performance.now() > quietUntil || membership.seat() !== seat) return
            missing = left
            await setTimeout(patience.pause)
          }
        } finally {
          acquiring--
        }
      })

    /** The number of the nodes that the library knows. */
    let known = 0
    const awaitChange = Effect.map(
      Effect.timeoutOption(
        Effect.suspend(() => membership.changedSince(known)),
        lookInterval
      ),
      (changed) => {
        known = Option.getOrElse(changed, () => known)
      }
    )

    return RunnerStorage.RunnerStorage.of({
      register: () => Effect.map(membership.awaitSeat, ({ number }) => MachineId.make(number % machineIds)),
      unregister: () => Effect.void,
      getRunners: membership.awaitSeat.pipe(
        Effect.zipRight(awaitChange),
        Effect.map(() => runnersAmong(membership.members()))
      ),
      setRunnerHealth: () => Effect.void,
      acquire: (_, shards) => {
        const wanted = [...shards]
        return Effect.flatMap(lock(wanted), (isChanged) => {
          const locked = held(wanted)
          if (locked.length > 0) for (const tell of gaining) tell(locked)
          // Without an answer the library asks again at once.
          return isChanged && locked.length === 0 ? Effect.never : Effect.succeed(locked)
        })
      },
      refresh: (_, shards) => {
        const known = [...shards]
        return Effect.map(giveUpForgotten(known), () => held(known))
      },
      release: (_, { id }) => release(id),
      releaseAll: () => giveUp(new Set(membership.seat()?.shards.keys()))
    })
  })
)

/** `host:port`; `undefined` if it is none. */
export const parseAddress = (text: string): RunnerAddress.RunnerAddress | undefined => {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(text) ?? []
  return host === undefined || port === undefined
    ? undefined
    : new RunnerAddress.RunnerAddress({ host: host.replace(/^\[(.*)\]$/, "$1"), port: Number(port) })
}

/**
 * The nodes that hold shards, and whether others may give them shards. A node that leaves counts as unhealthy, so that the
 * library gives its shards to others. If all nodes leave, there are no others, and each keeps its own.
 */
export const runnersAmong = (members: ReadonlyArray<NodeRow>): Array<[runner: Runner.Runner, isHealthy: boolean]> => {
  const nodes = members.filter(holdsShards)
  const areAllLeaving = nodes.every(({ isLeaving }) => isLeaving)
  return nodes.flatMap(({ address, isLeaving }) => {
    const runner = address === null ? undefined : runnerAt(address)
    return runner === undefined ? [] : [[runner, areAllLeaving || !isLeaving]]
  })
}

/** The runners that were made: the library asks for them five times a second, and compares them. */
const runners = new Map<string, Runner.Runner>()
const maxRunners = 1_000

const runnerAt = (text: string): Runner.Runner | undefined => {
  const known = runners.get(text)
  if (known !== undefined) return known
  const address = parseAddress(text)
  if (address === undefined) return undefined
  const runner = new Runner.Runner({ address, groups: [shardGroup], weight: shardWeight })
  if (runners.size >= maxRunners) runners.clear()
  runners.set(text, runner)
  return runner
}
