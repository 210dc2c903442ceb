/**
 * The cluster layer of one node of several: the library's sharding over the seat of this node in Postgres and connections
 * to the others. Messages are not stored (decision 4): who sends one has a time limit, and repeats it or asks the record.
 */
import { RunnerAddress, RunnerHealth, Runners, RunnerServer, ShardId, Sharding, ShardingConfig } from "@effect/cluster"
import { SocketServer } from "@effect/platform"
import { RpcSerialization, RpcServer } from "@effect/rpc"
import { Effect, HashRing, Layer, Option, Redacted } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { InPlace } from "../../actors/ports/InPlace.js"
import { Ownership } from "../../actors/ports/Ownership.js"
import { NodeStartRpcs, NodeStarts } from "../../actors/ports/run/NodeStarts.js"
import { OperatorError } from "../process/OperatorError.js"
import type { NodeSettings } from "../configuration/Config.js"
import { clusterKeys } from "./ClusterSecret.js"
import { frames } from "./Frames.js"
import { holdsShards, type NodeRow, servesRequests, shardCount } from "./NodeRow.js"
import { make as makeMembership, Membership } from "./Membership.js"
import { layer as runnerStorage, Leaving, runnersAmong, shardGroup, shardWeight } from "./ShardLocks.js"
import { make as makeNodeStarts, makeReceiver } from "./NodeStarts.js"
import { clients, protocol, serve } from "./NodeTransport.js"
import { onSeat } from "./Seat.js"
import { noStorage, withFewServices } from "./SingleNode.js"

/** Short intervals, so that shards move within a second: the library's defaults take half a minute. */
const settings = (
  address: Option.Option<RunnerAddress.RunnerAddress>,
  inPlace: boolean
): Partial<ShardingConfig.ShardingConfig["Type"]> => ({
  runnerAddress: address,
  runnerListenAddress: address,
  runnerShardWeight: shardWeight,
  shardsPerGroup: shardCount,
  simulateRemoteSerialization: !inPlace,
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

/** Sharding, ownership and membership of a node with these settings. `build`: of the program. */
export const layer = (node: NodeSettings, owner: Redacted.Redacted, build: string) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const identifiers = yield* Identifiers
      const keys = clusterKeys(Redacted.value(node.secrets))
      const [first] = keys
      if (first === undefined) return yield* new OperatorError({ message: "SVC_CLUSTER_SECRET is missing." })
      const isRunner = node.role !== "api"
      const server = isRunner ? yield* serve(keys, node.listen, node.port) : undefined
      const port = server?.address._tag === "TcpAddress" ? server.address.port : node.port
      const membership = yield* makeMembership({
        owner,
        facts: {
          role: node.role,
          address: isRunner ? `${node.host}:${port}` : null,
          build,
          secrets: keys.map(({ proof }) => proof)
        },
        nextId: () => identifiers.next("node"),
        onRefused: (refusal) =>
          Effect.zipRight(
            Effect.logFatal("cluster.refused", refusal),
            Effect.sync(() => void process.kill(process.pid, "SIGTERM"))
          )
      })
      const seat = Layer.succeed(Membership, membership)
      const address = new RunnerAddress.RunnerAddress({ host: node.host, port })
      const receiver = makeReceiver()
      const starts = Layer.scoped(NodeStarts, makeNodeStarts(receiver, isRunner ? nameOf(address) : null))
      const runners = withFewServices.pipe(
        Layer.merge(starts),
        Layer.provideMerge(Runners.layerRpc),
        Layer.provide([clients(first), RunnerHealth.layerNoop]),
        Layer.provide(Layer.succeed(RpcSerialization.RpcSerialization, frames)),
        Layer.provideMerge(noStorage),
        Layer.provideMerge(runnerStorage),
        Layer.provideMerge(
          ShardingConfig.layer(settings(isRunner ? Option.some(address) : Option.none(), yield* InPlace))
        )
      )
      // A node without shards only sends messages.
      const sharding =
        server === undefined
          ? runners
          : RpcServer.layer(Runners.Rpcs.merge(NodeStartRpcs), {
              disableTracing: true,
              disableFatalDefects: true
            }).pipe(
              Layer.provide([
                RunnerServer.layerHandlers,
                NodeStartRpcs.toLayer({ Begin: ({ orders }) => receiver.receive(orders) })
              ]),
              Layer.provide(protocol),
              Layer.provide([
                Layer.succeed(SocketServer.SocketServer, server),
                Layer.succeed(RpcSerialization.RpcSerialization, frames)
              ]),
              Layer.provideMerge(runners)
            )
      return Layer.provideMerge(ownership(isRunner), sharding).pipe(
        Layer.provide(Layer.sync(Leaving, () => new Set())),
        Layer.provideMerge(seat)
      )
    })
  )

const ownership = (isRunner: boolean) =>
  Layer.effect(
    Ownership,
    Effect.gen(function* () {
      const sharding = yield* Sharding.Sharding
      const membership = yield* Membership
      const leaving = yield* Leaving
      const { shardsPerGroup } = yield* ShardingConfig.ShardingConfig
      const ids = Array.from({ length: shardsPerGroup }, (_, i) => ShardId.make(shardGroup, i + 1))
      // Ids of entities are branded strings of the library.
      const shardOf = (id: string) =>
        sharding.getShardId(id as Parameters<typeof sharding.getShardId>[0], shardGroup).id
      const owns = (shard: number) => {
        const id = ids[shard - 1]
        return (
          id !== undefined &&
          membership.isHolding() &&
          sharding.hasShardId(id) &&
          membership.seat()?.shards.has(shard) === true
        )
      }
      let known: { readonly key: string; readonly owners: ReadonlyArray<RunnerAddress.RunnerAddress> } | undefined
      /** As the library assigns shards, which does not tell. */
      const ownerOf = (shard: number): string | null => {
        const members = membership.members()
        const key = members.map(({ address, isLeaving }) => `${address} ${isLeaving}`).join()
        if (known?.key !== key) known = { key, owners: ownersAmong(members, shardsPerGroup) }
        const owner = known.owners[shard - 1]
        return owner === undefined ? null : nameOf(owner)
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
        heldSince: (shard) => membership.seat()?.shards.get(shard) ?? Date.now(),
        isRunner,
        ownerOf,
        // A node without a seat gets none that was ever taken: its first commits are refused.
        seat: () => membership.seat()?.id ?? "",
        isAlone: false,
        nodes: () => Math.max(1, membership.members().filter(holdsShards).length),
        servers: () => Math.max(1, membership.members().filter(servesRequests).length)
      })
    })
  )

const nameOf = ({ host, port }: RunnerAddress.RunnerAddress): string => `${host}:${port}`

/** The owner of each shard, in their order. */
const ownersAmong = (members: ReadonlyArray<NodeRow>, shards: number): ReadonlyArray<RunnerAddress.RunnerAddress> => {
  const addresses = runnersAmong(members).flatMap(([{ address }, isHealthy]) => (isHealthy ? [address] : []))
  return HashRing.getShards(HashRing.addMany(HashRing.make<RunnerAddress.RunnerAddress>(), addresses), shards) ?? []
}
