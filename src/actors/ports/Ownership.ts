/** The shards that this node owns. */
import { Context } from "effect"

export class Ownership extends Context.Tag("svc/Ownership")<
  Ownership,
  {
    readonly shardOf: (executionId: string) => number
    readonly owns: (shard: number) => boolean
    readonly ownedShards: () => ReadonlyArray<number>
  }
>() {}
