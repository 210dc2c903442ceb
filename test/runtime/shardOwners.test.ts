/** A run begins on no shard that is moving to another node, where it would wait for that one. */
import { assert, describe, it } from "@effect/vitest"
import type { Context } from "effect"
import { nextOwnedId } from "../../src/actors/execution/OwnedId.js"
import type { ExecutionId } from "../../src/domain/Ids.js"
import type { Identifiers } from "../../src/actors/ports/Identifiers.js"
import { makeShardOwners } from "../../src/runtime/cluster/ShardOwners.js"
import type { NodeRow } from "../../src/runtime/postgres/database/NodeRow.js"
import { ownershipOf } from "../support/ownership.js"

const shards = Array.from({ length: 300 }, (_, n) => n + 1)

const runner = (port: number, changed: Partial<NodeRow> = {}): NodeRow => ({
  id: `node_${port}`,
  number: port,
  role: "runner",
  address: `127.0.0.1:${port}`,
  build: "b",
  release: 1,
  engines: [],
  secrets: [],
  process: "p",
  isLeaving: false,
  silentMillis: 0,
  isConnected: true,
  ...changed
})

/** The owners of a cluster whose nodes and time the test changes. */
const makeCluster = (...nodes: ReadonlyArray<NodeRow>) => {
  let members = nodes
  const listeners: Array<() => void> = []
  const cluster = {
    now: 0,
    get members() {
      return members
    },
    set members(next) {
      members = next
      for (const listener of listeners) listener()
    }
  }
  const membership = {
    members: () => members,
    onChange: (listener: () => void) => void listeners.push(listener)
  }
  const { isMoving, ownerOf } = makeShardOwners(membership, 300, () => cluster.now)
  return { cluster, isMoving, ownerOf }
}

/** Draws the numbers of shards as ids, in turn. */
const drawing = () => {
  let drawn = 0
  // Only the kind `exec` is asked for.
  return { next: () => String((drawn++ % 300) + 1) as ExecutionId } as unknown as Context.Tag.Service<Identifiers>
}

describe("Shards", () => {
  it("move for a moment when a node comes, leaves or is gone: those that another is to hold, and no others", () => {
    const { cluster, isMoving, ownerOf } = makeCluster(runner(1), runner(2))
    const moving = () => shards.filter(isMoving)
    const owners = () => shards.map(ownerOf)
    let before = owners()
    assert.deepStrictEqual(moving(), [], "what is seen first does not move")
    for (const members of [
      [runner(1), runner(2), runner(3, { isLeaving: true })],
      [runner(1), runner(2), runner(3)],
      [runner(1, { isLeaving: true }), runner(2), runner(3)],
      [runner(2), runner(3)],
      [runner(3)]
    ]) {
      cluster.now += 10_000
      cluster.members = members
      const after = owners()
      const changed = shards.filter((shard) => before[shard - 1] !== after[shard - 1])
      assert.deepStrictEqual(moving(), changed)
      cluster.now += 1_499
      assert.deepStrictEqual(moving(), changed)
      cluster.now += 1
      assert.deepStrictEqual(moving(), [])
      before = after
    }
  })

  it("do not move any more when nobody asked for long", () => {
    const { cluster, isMoving, ownerOf } = makeCluster(runner(1), runner(2))
    ownerOf(1)
    cluster.members = [runner(1), runner(2), runner(3)]
    cluster.now += 60_000
    assert.deepStrictEqual(shards.filter(isMoving), [])
  })

  it("do not move when this node loses its seat and takes another one", () => {
    const { cluster, isMoving, ownerOf } = makeCluster(runner(1), runner(2))
    ownerOf(1)
    const { members } = cluster
    cluster.members = []
    assert.isNull(ownerOf(1))
    cluster.members = [...members]
    assert.isNotNull(ownerOf(1))
    assert.deepStrictEqual(shards.filter(isMoving), [])
  })

  it("that move get no new runs, by a node with shards or without, as long as there are others", () => {
    const { cluster, isMoving, ownerOf } = makeCluster(runner(1), runner(2))
    ownerOf(1)
    cluster.members = [runner(1), runner(2), runner(3)]
    const drawn = (isRunner: boolean, owns: (shard: number) => boolean) => {
      const identifiers = drawing()
      const ownership = ownershipOf({ isAlone: false, isRunner, owns, isMoving, shardOf: Number })
      return shards.map(() => Number(nextOwnedId(identifiers, ownership)))
    }
    assert.isAbove(shards.filter(isMoving).length, 50)
    assert.deepStrictEqual(drawn(false, () => false).filter(isMoving), [])
    const isEven = (shard: number) => shard % 2 === 0
    assert.deepStrictEqual(
      drawn(true, isEven).filter((shard) => isMoving(shard) || !isEven(shard)),
      []
    )
    // All move: the run waits, and begins.
    assert.lengthOf(
      shards.map(() => nextOwnedId(drawing(), ownershipOf({ isMoving: () => true, shardOf: Number }))),
      300
    )
  })
})
