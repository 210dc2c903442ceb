import { assert, describe, it } from "@effect/vitest"
import { Burst } from "../../src/actors/pipeline/IntakeLoad.js"

const begin = (burst: Burst, events: number, now: number) => {
  for (let n = 0; n < events; n++) burst.begin(now)
}
const end = (burst: Burst, events: number) => {
  for (let n = 0; n < events; n++) burst.end()
}

describe("a burst of events", () => {
  it("comes before runs while many are accepted at once, and for a moment after", () => {
    const burst = new Burst()
    begin(burst, 15, 0)
    assert.isFalse(burst.comesFirst(0))
    begin(burst, 1, 0)
    assert.isTrue(burst.comesFirst(0))
    end(burst, 16)
    assert.isTrue(burst.comesFirst(99))
    assert.isFalse(burst.comesFirst(100))
  })

  it("is announced once when it begins", () => {
    const burst = new Burst()
    begin(burst, 15, 0)
    assert.deepStrictEqual([burst.begin(0), burst.begin(1), burst.begin(20)], [true, false, false])
    assert.isTrue(burst.begin(1_000), "after a pause it is another one")
  })

  it("that does not end leaves the runs half of the time, whether or not it pauses", () => {
    const burst = new Burst()
    const first: Array<boolean> = []
    begin(burst, 15, 0)
    for (let now = 0; now < 12_000; now += 10) {
      // The pause comes when accepting has been first for its three seconds.
      const isPause = now > 3_100 && now < 3_300
      if (!isPause) burst.begin(now)
      if (!isPause) burst.end()
      const isFirst = burst.comesFirst(now)
      if (now % 1_000 === 500) first.push(isFirst)
    }
    const [on, off] = [
      [true, true, true],
      [false, false, false]
    ]
    assert.deepStrictEqual(first, [on, off, on, off].flat())
  })
})
