/**
 * The cluster layer of one node of several: the library's sharding over the seat of this node in Postgres and connections
 * to the others. Messages are not stored (decision 4): who sends one has a time limit, and repeats it or asks the record.
 */
import { RunnerAddress, RunnerHealth, Runners, RunnerServer, ShardId, Sharding, ShardingConfig } from "@effect/cluster"
import { SocketServer } from "@effect/platform"
import { RpcSerialization, RpcServer } from "@effect/rpc"
import { Effect, FiberRef, Layer, Option, Redacted, Runtime, Schedule } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { InPlace } from "../../actors/ports/InPlace.js"
import { Ownership } from "../../actors/ports/Ownership.js"
import { NodeStartRpcs, NodeStarts } from "../../actors/ports/run/NodeStarts.js"
import { OperatorError } from "../process/OperatorError.js"
import { processName } from "../process/ProcessName.js"
import type { NodeSettings } from "../configuration/Config.js"
import { clusterKeys } from "./ClusterSecret.js"
import { frames } from "./Frames.js"
import { holdsShards, servesRequests, shardCount } from "../postgres/database/NodeRow.js"
import { make as makeMembership, Membership } from "./Membership.js"
import { Gaining, layer as runnerStorage, Leaving, shardGroup, shardWeight } from "./ShardLocks.js"
import { make as makeNodeStarts, makeReceiver } from "./NodeStarts.js"
import { clients, protocol, serve } from "./NodeTransport.js"
import type { NodeFacts } from "./Seat.js"
import { makeShardOwners, nameOf } from "./ShardOwners.js"
import { SlicedScheduler } from "./SlicedScheduler.js"
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
  // Beside it, reading the nodes waits for news of them (`ShardLocks.ts`).
  refreshAssignmentsInterval: "10 millis",
  // Also how long the library waits for shards that it is to take.
  shardLockRefreshInterval: "1 second",
  shardLockExpiration: "5 seconds",
  // Sharding looks for shards to acquire after this time.
  entityMessagePollInterval: "500 millis",
  entityReplyPollInterval: "1 minute",
  runnerHealthCheckInterval: "1 minute",
  entityTerminationTimeout: "3 seconds",
  sendRetryInterval: "50 millis"
})

/** What the other nodes have to know of this one's program. */
export type ProgramFacts = Pick<NodeFacts, "build" | "release" | "engines">

/** Sharding, ownership and membership of a node with these settings. */
export const layer = (node: NodeSettings, owner: Redacted.Redacted, program: ProgramFacts) =>
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
          ...program,
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
        ),
        Layer.locally(FiberRef.currentScheduler, new SlicedScheduler())
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
        Layer.provide([Layer.sync(Leaving, () => new Set()), Layer.sync(Gaining, () => new Set())]),
        Layer.provideMerge(seat)
      )
    })
  )

/** Between two looks whether the library counts shards as this node's, and how long it is looked. */
const gainPause = "5 millis"
const gainPatience = "1 second"

const ownership = (isRunner: boolean) =>
  Layer.effect(
    Ownership,
    Effect.gen(function* () {
      const sharding = yield* Sharding.Sharding
      const membership = yield* Membership
      const leaving = yield* Leaving
      const gaining = yield* Gaining
      const runFork = Runtime.runFork(yield* Effect.runtime<never>())
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
      const owners = makeShardOwners(membership, shardsPerGroup)
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
        onGain: (told) => {
          // The library counts them as its own soon after it was given them.
          const tell = (shards: ReadonlyArray<ShardId.ShardId>) =>
            void runFork(
              Effect.sync(() => shards.every((shard) => sharding.hasShardId(shard))).pipe(
                Effect.repeat({ until: (isOwner) => isOwner, schedule: Schedule.spaced(gainPause) }),
                Effect.timeoutOption(gainPatience),
                Effect.zipRight(Effect.sync(told))
              )
            )
          return Effect.acquireRelease(
            Effect.sync(() => void gaining.add(tell)),
            () => Effect.sync(() => void gaining.delete(tell))
          )
        },
        join: membership.join,
        leave: membership.leave,
        heldSince: (shard) => membership.seat()?.shards.get(shard) ?? Date.now(),
        isRunner,
        ownerOf: owners.ownerOf,
        isMoving: owners.isMoving,
        // A node without a seat gets none that was ever taken: its first commits are refused.
        seat: () => membership.seat()?.id ?? "",
        process: processName,
        mayRun: (process) =>
          process === processName ||
          membership.seat() === undefined ||
          membership.members().some((member) => member.process === process),
        isAlone: false,
        nodes: () => Math.max(1, membership.members().filter(holdsShards).length),
        servers: () => Math.max(1, membership.members().filter(servesRequests).length)
      })
    })
  )
