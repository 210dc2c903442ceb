/** A watch sends at most ten messages of a topic in any second, and tells of each change once. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"
import { MessagePace } from "../../src/domain/watch/MessagePace.js"
import { readWatchPosition, watchPositionText } from "../../src/domain/watch/WatchPosition.js"

/** Milliseconds since the round before, and changes that are new. */
const rounds = FastCheck.array(
  FastCheck.tuple(FastCheck.integer({ min: 0, max: 700 }), FastCheck.integer({ min: 0, max: 40 })),
  {
    maxLength: 60
  }
)

describe("the pace of a topic", () => {
  it.prop("tells of each change once, and of at most ten in any second", [rounds], ([all]) => {
    const pace = new MessagePace()
    const sent: Array<number> = []
    let [now, waiting, told, changes] = [0, 0, 0, 0]
    const round = (added: number) => {
      changes += added
      waiting += added
      const { isSummed, single } = pace.next(waiting, now)
      assert.isAtMost(single, waiting)
      const passed = isSummed ? waiting : single
      waiting -= passed
      told += passed
      for (let n = 0; n < single + (isSummed ? 1 : 0); n++) sent.push(now)
    }
    for (const [pause, added] of all) {
      now += pause
      round(added)
    }
    for (let n = 0; n < 20; n++) {
      now += 400
      round(0)
    }
    assert.deepStrictEqual([told, waiting], [changes, 0])
    for (const at of sent) assert.isAtMost(sent.filter((other) => other >= at && other < at + 1_000).length, 10)
  })

  it("holds nothing back of rounds that are 400 ms apart", () => {
    const pace = new MessagePace()
    for (let n = 0; n < 50; n++) {
      const { isSummed, single } = pace.next(30, n * 400)
      assert.isTrue(isSummed, `round ${n} sent ${single}`)
    }
  })
})

describe("the position of a watch", () => {
  it("is read as it was written, and not if it was changed", () => {
    const signer = {
      keyHash: (text: string) => createHash("sha256").update(text).digest("hex"),
      equal: (a: string, b: string) => a === b
    }
    const position = { at: 1_700_000_000_000, commits: { end: "12", open: ["7", "9"] } }
    const text = watchPositionText(signer, position)
    assert.deepStrictEqual(readWatchPosition(signer, text), Option.some(position))
    for (const other of [text.replace("12", "02"), text.slice(1), "", `${text},`, text.replace("-", "")])
      assert.strictEqual(readWatchPosition(signer, other)._tag, "None", other)
  })
})
