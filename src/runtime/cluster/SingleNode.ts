/**
 * The cluster layer of a single process that owns every shard: no sockets, no runner table, no persisted messages. What a
 * node may assume of being alone stands here and nowhere else.
 */
import { MessageStorage, RunnerHealth, Runners, RunnerStorage, Sharding, ShardingConfig } from "@effect/cluster"
import { Context, Effect, Layer, Scope } from "effect"
import { InPlace } from "../../actors/ports/InPlace.js"
import { Ownership } from "../../actors/ports/Ownership.js"
import { processName } from "../process/ProcessName.js"
import { shardCount } from "../postgres/database/NodeRow.js"
import * as NodeStarts from "./NodeStarts.js"

const shardGroup = "default"

/** Rare polls: there is no other node, no storage and no runner to watch. */
const pollSettings: Partial<ShardingConfig.ShardingConfig["Type"]> = {
  shardsPerGroup: shardCount,
  shardLockExpiration: "5 minutes",
  shardLockRefreshInterval: "1 minute",
  refreshAssignmentsInterval: "1 minute",
  runnerHealthCheckInterval: "1 minute",
  entityMessagePollInterval: "1 minute",
  entityReplyPollInterval: "1 minute",
  entityTerminationTimeout: "3 seconds",
  sendRetryInterval: "50 millis"
}

/**
 * Builds the sharding with a minimal context: the library copies the context that it is built in into every entity and
 * message.
 */
export const withFewServices = Layer.scopedContext(
  Effect.mapInputContext(Layer.build(Sharding.layer), (all: Context.Context<Needed>) =>
    Context.pick(
      MessageStorage.MessageStorage,
      RunnerHealth.RunnerHealth,
      Runners.Runners,
      RunnerStorage.RunnerStorage,
      Scope.Scope,
      ShardingConfig.ShardingConfig
    )(all)
  )
)
type Needed = Layer.Layer.Context<typeof Sharding.layer> | Scope.Scope

/**
 * A copy of the no-op storage. With the original object the library never drops the ids of processed messages, a leak
 * of some hundred bytes a message.
 */
export const noStorage = Layer.succeed(MessageStorage.MessageStorage, { ...MessageStorage.noop })

/**
 * The node stays registered until its process ends: a check of the runners while it stops would otherwise warn that none
 * is healthy.
 */
const runnerStorage = Layer.effect(
  RunnerStorage.RunnerStorage,
  Effect.map(RunnerStorage.makeMemory, (memory) => ({ ...memory, unregister: () => Effect.void }))
)

const sharding = withFewServices.pipe(
  Layer.provideMerge(Runners.layerNoop),
  Layer.provideMerge(noStorage),
  Layer.provide([runnerStorage, RunnerHealth.layerNoop]),
  Layer.provideMerge(
    Layer.unwrapEffect(
      Effect.map(InPlace, (inPlace) => ShardingConfig.layer({ ...pollSettings, simulateRemoteSerialization: !inPlace }))
    )
  )
)

const ownership = Layer.effect(
  Ownership,
  Effect.gen(function* () {
    const sharding = yield* Sharding.Sharding
    const { shardsPerGroup } = yield* ShardingConfig.ShardingConfig
    // Ids of entities and shards are branded strings and numbers of the library.
    const shardOf = (id: string) => sharding.getShardId(id as Parameters<typeof sharding.getShardId>[0], shardGroup).id
    const all = Array.from({ length: shardsPerGroup }, (_, i) => i + 1)
    return Ownership.of({
      shardOf,
      owns: () => true,
      heldSince: () => 0,
      ownerOf: () => null,
      isMoving: () => false,
      isRunner: true,
      ownedShards: () => all,
      onLeave: () => Effect.void,
      onGain: () => Effect.void,
      join: Effect.void,
      leave: Effect.void,
      seat: () => null,
      process: processName,
      mayRun: (process) => process === processName,
      nodes: () => 1,
      servers: () => 1,
      isAlone: true
    })
  })
)

/** Sharding and ownership of the only node. */
export const layer = Layer.provideMerge(Layer.merge(ownership, NodeStarts.local), sharding)
