/** The place of this node among those that use the same database, and the shards that it owns. */
import { Context, type Effect, type Scope } from "effect"

export class Ownership extends Context.Tag("svc/Ownership")<
  Ownership,
  {
    /** The shard of an id: from 1 on, the same on every node. */
    readonly shardOf: (id: string) => number
    readonly owns: (shard: number) => boolean
    /** Since when this node holds the shard, in Unix milliseconds: who held it before may have begun what is asked for. */
    readonly heldSince: (shard: number) => number
    /** Who holds the shard, as far as this node knows: equal for shards of one node. `null`: nobody, or a lone node. */
    readonly ownerOf: (shard: number) => string | null
    /** Whether the shard was given to another node a moment ago: what begins on it now may have to wait for that one. */
    readonly isMoving: (shard: number) => boolean
    /** Whether this node ever holds shards: one that only serves requests does not. */
    readonly isRunner: boolean
    readonly ownedShards: () => ReadonlyArray<number>
    /**
     * Calls `stop` with shards that this node is about to give up, and which `owns` denies already; another node takes
     * them once it has returned, a second later at the latest. Until the scope ends.
     */
    readonly onLeave: (
      stop: (shards: ReadonlySet<number>) => Effect.Effect<void>
    ) => Effect.Effect<void, never, Scope.Scope>
    /** Calls `told` each time that this node has got further shards, until the scope ends. */
    readonly onGain: (told: () => void) => Effect.Effect<void, never, Scope.Scope>
    /** Has this node take its part of the shards: it is ready. */
    readonly join: Effect.Effect<void>
    /** Has other nodes take the shards of this one, which ends. Returns in a second or two, before they have them. */
    readonly leave: Effect.Effect<void>
    /** The place in the cluster by which this node takes part now; empty: none at the moment. `null`: it is alone. */
    readonly seat: () => string | null
    /** The name of this process, which no other has. */
    readonly process: string
    /** Whether the process of this name is one of the cluster's now; also if this node cannot know, having no seat. */
    readonly mayRun: (process: string) => boolean
    /** Nodes that hold shards, with this one. */
    readonly nodes: () => number
    /** Nodes that serve requests, with this one. */
    readonly servers: () => number
    /** Whether no other node can use the database: leases that this one finds at its start are those of an ended process. */
    readonly isAlone: boolean
  }
>() {}
