/** The port `Ownership` of nodes of tests. */
import { Effect, Layer } from "effect"
import { Ownership } from "../../src/actors/ports/Ownership.js"

/** A node that is alone and holds all shards; each test changes what it is about. */
export const ownershipOf = (changed: Partial<Ownership["Type"]> = {}): Ownership["Type"] => ({
  shardOf: () => 1,
  owns: () => true,
  ownedShards: () => [1],
  onGain: () => Effect.void,
  onLeave: () => Effect.void,
  join: Effect.void,
  leave: Effect.void,
  nodes: () => 1,
  servers: () => 1,
  heldSince: () => 0,
  ownerOf: () => null,
  isMoving: () => false,
  isRunner: true,
  seat: () => null,
  process: "process",
  mayRun: (process) => process === "process",
  isAlone: true,
  ...changed
})

/** A node whose hold on its shards a test changes. */
export const makeChangingNode = () => {
  const stops = new Set<(shards: ReadonlySet<number>) => Effect.Effect<void>>()
  const hold = { isSure: true }
  const ownership = ownershipOf({
    owns: () => hold.isSure,
    ownedShards: () => (hold.isSure ? [1] : []),
    onLeave: (stop) =>
      Effect.acquireRelease(
        Effect.sync(() => void stops.add(stop)),
        () => Effect.sync(() => void stops.delete(stop))
      )
  })
  /** As the node gives its shards up. */
  const giveUp = Effect.suspend(() => {
    hold.isSure = false
    return Effect.forEach(stops, (stop) => stop(new Set([1])), { discard: true })
  })
  return { hold, layer: Layer.succeed(Ownership, ownership), giveUp }
}

export const aloneNode = Layer.succeed(Ownership, ownershipOf())
export const oneOfTwoNodes = Layer.succeed(Ownership, ownershipOf({ nodes: () => 2, servers: () => 2, isAlone: false }))
