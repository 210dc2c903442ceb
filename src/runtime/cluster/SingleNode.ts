/** One process that holds every shard: no sockets, no runner table, no persisted messages. */
import { MessageStorage, RunnerHealth, Runners, RunnerStorage, Sharding, ShardingConfig } from "@effect/cluster"
import { Effect, Layer } from "effect"
import { Ownership } from "../../actors/ports/Ownership.js"

const shardGroup = "default"

/** Fail-over in seconds rather than in half minutes: the defaults take 28 s. */
export const tuned: Partial<ShardingConfig.ShardingConfig["Type"]> = {
  simulateRemoteSerialization: false,
  shardLockExpiration: "6 seconds",
  shardLockRefreshInterval: "1500 millis",
  refreshAssignmentsInterval: "300 millis",
  runnerHealthCheckInterval: "1 second",
  entityMessagePollInterval: "1 second",
  entityTerminationTimeout: "3 seconds",
  sendRetryInterval: "50 millis"
}

export const sharding = Sharding.layer.pipe(
  Layer.provideMerge(Runners.layerNoop),
  Layer.provideMerge(MessageStorage.layerNoop),
  Layer.provide([RunnerStorage.layerMemory, RunnerHealth.layerNoop]),
  Layer.provideMerge(ShardingConfig.layer(tuned))
)

export const ownership = Layer.effect(
  Ownership,
  Effect.gen(function* () {
    const sharding = yield* Sharding.Sharding
    const { shardsPerGroup } = yield* ShardingConfig.ShardingConfig
    // Ids of entities and shards are branded strings and numbers of the library.
    const shardOf = (id: string) => sharding.getShardId(id as Parameters<typeof sharding.getShardId>[0], shardGroup).id
    const all = Array.from({ length: shardsPerGroup }, (_, i) => i + 1)
    return Ownership.of({ shardOf, holds: () => true, held: () => all })
  })
)
