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
      servers: () => nodes,
      heldSince: () => 0,
      ownerOf: () => null,
      isRunner: true,
      seat: () => null,
      isAlone: nodes === 1
    })
  )

/** A node whose hold on its shards a test changes. */
export const makeChangingNode = () => {
  const stops = new Set<(shards: ReadonlySet<number>) => Effect.Effect<void>>()
  const hold = { isSure: true }
  const layer = Layer.succeed(
    Ownership,
    Ownership.of({
      shardOf: () => 1,
      owns: () => hold.isSure,
      ownedShards: () => (hold.isSure ? [1] : []),
      onLeave: (stop) =>
        Effect.acquireRelease(
          Effect.sync(() => void stops.add(stop)),
          () => Effect.sync(() => void stops.delete(stop))
        ),
      leave: Effect.void,
      nodes: () => 1,
      servers: () => 1,
      heldSince: () => 0,
      ownerOf: () => null,
      isRunner: true,
      seat: () => null,
      // It asks no other for places.
      isAlone: true
    })
  )
  /** As the node gives its shards up. */
  const giveUp = Effect.suspend(() => {
    hold.isSure = false
    return Effect.forEach(stops, (stop) => stop(new Set([1])), { discard: true })
  })
  return { hold, layer, giveUp }
}

export const aloneNode = ownership(1)
export const oneOfTwoNodes = ownership(2)
