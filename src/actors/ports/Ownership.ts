/** Which shards of the execution entity this node holds. */
import { Context } from "effect"

export class Ownership extends Context.Tag("svc/Ownership")<
  Ownership,
  {
    readonly shardOf: (executionId: string) => number
    readonly owns: (shard: number) => boolean
    readonly ownedShards: () => ReadonlyArray<number>
  }
>() {}
