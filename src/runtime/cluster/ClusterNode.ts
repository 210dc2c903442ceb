/**
 * The cluster layer of one node of several: the library's sharding over the seat of this node in Postgres and connections
 * to the others. Messages are not stored (decision 4): who sends one has a time limit, and repeats it or asks the record.
 */
import {
  Runner,
  RunnerAddress,
  RunnerHealth,
  Runners,
  RunnerServer,
  RunnerStorage,
  ShardId,
  Sharding,
  ShardingConfig
} from "@effect/cluster"
import { ClusterError, MachineId } from "@effect/cluster"
import { SocketServer } from "@effect/platform"
import { RpcSerialization, RpcServer } from "@effect/rpc"
import { Context, Deferred, Effect, Layer, Option, Redacted } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { Ownership } from "../../actors/ports/Ownership.js"
import { OperatorError } from "../process/OperatorError.js"
import type { NodeSettings } from "../configuration/Config.js"
import { clusterKeys } from "./ClusterSecret.js"
import { frames } from "./Frames.js"
import { holdsShards } from "./NodeRow.js"
import { make as makeMembership, Membership } from "./Membership.js"
import { clients, serve } from "./NodeTransport.js"
import { onSeat, type SeatLost } from "./Seat.js"
import { noStorage, withFewServices } from "./SingleNode.js"

const shardGroup = "default"
const weight = 1

/** Machine ids of the library's message ids have ten bits; a number repeats when a thousand nodes have come and gone. */
const machineIds = 1_024

/** Short intervals, so that shards move within a second: the library's defaults take half a minute. */
const settings = (address: RunnerAddress.RunnerAddress): Partial<ShardingConfig.ShardingConfig["Type"]> => ({
  runnerAddress: Option.some(address),
  runnerListenAddress: Option.some(address),
  runnerShardWeight: weight,
  simulateRemoteSerialization: false,
  refreshAssignmentsInterval: "200 millis",
  shardLockRefreshInterval: "500 millis",
  shardLockExpiration: "5 seconds",
  // Sharding looks for shards to acquire after this time.
  entityMessagePollInterval: "500 millis",
  entityReplyPollInterval: "1 minute",
  runnerHealthCheckInterval: "1 minute",
  entityTerminationTimeout: "3 seconds",
  sendRetryInterval: "50 millis"
})

const persistence = (failure: SeatLost | OperatorError) => new ClusterError.PersistenceError({ cause: failure })

/** The functions to call before this node gives up shards (`Ownership.onLeave`). */
class Leaving extends Context.Tag("svc/cluster/Leaving")<
  Leaving,
  Set<(shards: ReadonlySet<number>) => Effect.Effect<void>>
>() {}

interface Batch {
  readonly shards: Set<number>
  readonly done: Deferred.Deferred<void, ClusterError.PersistenceError>
}

/** How long what runs on shards may take to stop before they are given up all the same: writes are fenced. */
const stopLimit = "1 second"

/**
 * The nodes as runners, and the locks of shards, over the seat of this node. A node without a seat refreshes no shard:
 * the library gives them up and takes them again later.
 */
const runnerStorage = Layer.effect(
  RunnerStorage.RunnerStorage,
  Effect.gen(function* () {
    const membership = yield* Membership
    const leaving = yield* Leaving
    const held = (shards: Iterable<ShardId.ShardId>) => {
      const seat = membership.seat()
      return [...shards].filter(({ id }) => seat?.shards.has(id) === true)
    }
    const change = (what: (seat: NonNullable<ReturnType<typeof membership.seat>>) => Promise<void>) =>
      Effect.suspend(() => {
        const seat = membership.seat()
        return seat === undefined
          ? Effect.void
          : Effect.mapError(
              onSeat(() => what(seat)),
              persistence
            )
      })
    const giveUp = (shards: ReadonlySet<number>) =>
      Effect.forEach(leaving, (stop) => Effect.timeoutOption(stop(shards), stopLimit), {
        concurrency: "unbounded",
        discard: true
      }).pipe(Effect.zipRight(change((seat) => seat.unlock([...shards]))))
    /** The shards that the library gives up in one turn are given up together. */
    let batch: Batch | undefined
    const release = Effect.fnUntraced(function* (shard: number) {
      if (batch !== undefined) {
        batch.shards.add(shard)
        return yield* Deferred.await(batch.done)
      }
      const own: Batch = { shards: new Set([shard]), done: yield* Deferred.make<void, ClusterError.PersistenceError>() }
      batch = own
      yield* Effect.yieldNow()
      batch = undefined
      yield* Effect.intoDeferred(giveUp(own.shards), own.done)
      return yield* Deferred.await(own.done)
    }, Effect.uninterruptible)
    return RunnerStorage.RunnerStorage.of({
      register: () => Effect.map(membership.awaitSeat, ({ number }) => MachineId.make(number % machineIds)),
      unregister: () => Effect.void,
      getRunners: Effect.map(membership.awaitSeat, () => {
        const nodes = membership.members().filter(holdsShards)
        // A node that leaves counts as unhealthy, so that the library gives its shards to others. If all nodes leave, there
        // are no others, and each keeps its own.
        const areAllLeaving = nodes.every(({ isLeaving }) => isLeaving)
        return nodes.flatMap(({ address: text, isLeaving }) => {
          const address = text === null ? undefined : parseAddress(text)
          return address === undefined
            ? []
            : [[new Runner.Runner({ address, groups: [shardGroup], weight }), areAllLeaving || !isLeaving]]
        })
      }),
      setRunnerHealth: () => Effect.void,
      acquire: (_, shards) => {
        const wanted = [...shards]
        return Effect.map(
          change((seat) => seat.lock(wanted.map(({ id }) => id))),
          () => held(wanted)
        )
      },
      refresh: (_, shards) => Effect.sync(() => held(shards)),
      release: (_, { id }) => release(id),
      releaseAll: () => giveUp(new Set(membership.seat()?.shards))
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

/** Sharding, ownership and membership of a node with these settings. `build`: of the program. */
export const layer = (node: NodeSettings, owner: Redacted.Redacted, build: string) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const identifiers = yield* Identifiers
      const keys = clusterKeys(Redacted.value(node.secrets))
      const [first] = keys
      if (first === undefined) return yield* new OperatorError({ message: "SVC_CLUSTER_SECRET is missing." })
      const server = yield* serve(keys, node.listen, node.port)
      const { address: bound } = server
      const port = bound._tag === "TcpAddress" ? bound.port : node.port
      const address = new RunnerAddress.RunnerAddress({ host: node.host, port })
      const membership = yield* makeMembership({
        owner,
        facts: { role: node.role, address: `${node.host}:${port}`, build, secrets: keys.map(({ proof }) => proof) },
        nextId: () => identifiers.next("node"),
        onRefused: (refusal) =>
          Effect.zipRight(
            Effect.logFatal("cluster.refused", refusal),
            Effect.sync(() => void process.kill(process.pid, "SIGTERM"))
          )
      })
      const seat = Layer.succeed(Membership, membership)
      const sharding = RunnerServer.layer.pipe(
        Layer.provide(RpcServer.layerProtocolSocketServer),
        Layer.provideMerge(withFewServices),
        Layer.provideMerge(Runners.layerRpc),
        Layer.provide([clients(first), Layer.succeed(SocketServer.SocketServer, server), RunnerHealth.layerNoop]),
        Layer.provide(Layer.succeed(RpcSerialization.RpcSerialization, frames)),
        Layer.provideMerge(noStorage),
        Layer.provideMerge(runnerStorage),
        Layer.provideMerge(ShardingConfig.layer(settings(address)))
      )
      return Layer.provideMerge(ownership, sharding).pipe(
        Layer.provide(Layer.sync(Leaving, () => new Set())),
        Layer.provideMerge(seat)
      )
    })
  )

const ownership = Layer.effect(
  Ownership,
  Effect.gen(function* () {
    const sharding = yield* Sharding.Sharding
    const membership = yield* Membership
    const leaving = yield* Leaving
    const { shardsPerGroup } = yield* ShardingConfig.ShardingConfig
    const ids = Array.from({ length: shardsPerGroup }, (_, i) => ShardId.make(shardGroup, i + 1))
    // Ids of entities are branded strings of the library.
    const shardOf = (id: string) => sharding.getShardId(id as Parameters<typeof sharding.getShardId>[0], shardGroup).id
    const owns = (shard: number) => {
      const id = ids[shard - 1]
      return id !== undefined && membership.isHolding() && sharding.hasShardId(id)
    }
    return Ownership.of({
      shardOf,
      owns,
      ownedShards: () =>
        membership.isHolding() ? ids.filter((id) => sharding.hasShardId(id)).map(({ id }) => id) : [],
      onLeave: (stop) =>
        Effect.acquireRelease(
          Effect.sync(() => void leaving.add(stop)),
          () => Effect.sync(() => void leaving.delete(stop))
        ),
      leave: Effect.gen(function* () {
        const seat = membership.seat()
        if (seat !== undefined) yield* Effect.ignore(onSeat(seat.announceLeaving))
      }),
      isAlone: false,
      nodes: () => Math.max(1, membership.members().filter(holdsShards).length)
    })
  })
)
