/** Who starts when: the table of decision 0028. */
import { assert, describe, it } from "@effect/vitest"
import {
  hasFirstClass,
  hasRoom,
  isPlanFull,
  isStarting,
  type NodeState,
  startableRuns,
  startsAtOnce
} from "../../src/domain/run/StartPolicy.js"

const idle: NodeState = {
  slots: 256,
  running: 0,
  starting: 0,
  hasFirstClass: false,
  firstWaiting: 4,
  isAcceptingFirst: false,
  isLeaving: false
}

/** What differs from an idle node, and how many due and queued runs it takes. */
const nodes: ReadonlyArray<readonly [name: string, state: Partial<NodeState>, due: number, queued: number]> = [
  ["an idle node", {}, 256, 64],
  ["half of the places are free", { running: 32, starting: 32 }, 224, 32],
  ["too few places for a pick are free", { running: 33, starting: 33 }, 223, 0],
  ["runs that are no longer starting take slots, but no places", { running: 200 }, 56, 56],
  ["all slots are taken", { running: 256 }, 0, 0],
  ["more Instant runs than slots", { running: 600 }, 0, 0],
  ["beside the first class the last two wait", { hasFirstClass: true, firstWaiting: 3, running: 5 }, 251, 4],
  ["the same, with two places taken", { hasFirstClass: true, running: 7, starting: 2 }, 249, 2],
  ["the same, with three places taken", { hasFirstClass: true, running: 7, starting: 3 }, 249, 0],
  ["beside the first class the second waits", { hasFirstClass: true, firstWaiting: 2 }, 256, 64],
  ["beside the first class more of it waits", { hasFirstClass: true, firstWaiting: 1, running: 10 }, 246, 64],
  ["accepting events comes first", { isAcceptingFirst: true }, 256, 4],
  ["the same, beside runs", { isAcceptingFirst: true, running: 3 }, 253, 1],
  ["the same, beside as many runs as it leaves", { isAcceptingFirst: true, running: 4 }, 252, 0],
  ["a node that is stopping", { isLeaving: true }, 0, 0],
  ["the same, in a burst", { isLeaving: true, isAcceptingFirst: true }, 0, 0]
]

const ordinary = { isHeld: false, hasLane: false, isOrganisationActive: true, isBehind: false, isAcceptingFirst: false }

describe("who starts when", () => {
  it.each(nodes)("%s", (_, state, due, queued) => {
    assert.deepStrictEqual(startableRuns({ ...idle, ...state }), { due, queued })
  })

  it("counts a queued run as starting for a tenth of a second, unless it waits for its calls", () => {
    const run = { wasQueued: true, since: 1_000, driven: undefined }
    const table = [
      [{ ...run, since: 900 }, false],
      [{ ...run, since: 901 }, true],
      [run, true],
      [{ ...run, driven: { progress: { isWaiting: false } } }, true],
      [{ ...run, driven: { progress: { isWaiting: true } } }, false],
      [{ ...run, wasQueued: false }, false]
    ] as const
    for (const [one, expected] of table) assert.strictEqual(isStarting(one, 1_000), expected, JSON.stringify(one))
  })

  it("counts the first class as running for two seconds after a launch", () => {
    assert.deepStrictEqual(
      [-Infinity, 0, 1, 2_000].map((launchedAt) => hasFirstClass(launchedAt, 2_000)),
      [false, false, true, true]
    )
  })

  it("starts an event at once if nothing that starts before it waits", () => {
    assert.isTrue(startsAtOnce(ordinary))
    for (const change of [
      { isHeld: true },
      { hasLane: true },
      { isOrganisationActive: false },
      { isBehind: true },
      { isAcceptingFirst: true }
    ])
      assert.isFalse(startsAtOnce({ ...ordinary, ...change }), JSON.stringify(change))
  })

  it("starts Instant runs on four times the slots, and as many of an organisation as its plan allows", () => {
    const rooms = [7, 8, 31, 32].map((running) => [hasRoom("event", running, 8), hasRoom("instant", running, 8)])
    assert.deepStrictEqual(rooms, [
      [true, true],
      [false, true],
      [false, true],
      [false, false]
    ])
    assert.deepStrictEqual([isPlanFull(4, 5), isPlanFull(5, 5), isPlanFull(5, null)], [false, true, false])
  })
})
