/** The port `Ownership` of a node that owns all shards: alone, or beside another node. */
import { Effect, Layer } from "effect"
import { Ownership } from "../../src/actors/ports/Ownership.js"

const ownership = (nodes: number) =>
  Layer.succeed(
    Ownership,
    Ownership.of({
      shardOf: () => 1,
      owns: () => true,
      ownedShards: () => [1],
      onLeave: () => Effect.void,
      leave: Effect.void,
      nodes: () => nodes,
      heldSince: () => 0,
      ownerOf: () => null,
      isRunner: true,
      seat: () => null,
      isAlone: nodes === 1
    })
  )

export const aloneNode = ownership(1)
export const oneOfTwoNodes = ownership(2)
