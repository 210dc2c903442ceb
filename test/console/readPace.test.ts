/** Pages follow single changes within a second, and do not take the service's time while thousands are made. */
import { assert, describe, it } from "@effect/vitest"
import { ReadPace } from "../../src/http/web/console/live/ReadPace.js"

/** How often a page reads in a minute while a change comes each tenth of a second. */
const readsOf = (isMany: (tenth: number) => boolean): number => {
  const pace = new ReadPace()
  let reads = 0
  let due = Number.POSITIVE_INFINITY
  for (let tenth = 0; tenth < 600; tenth++) {
    const now = tenth * 100
    if (now >= due) {
      due = Number.POSITIVE_INFINITY
      pace.read(now)
      reads += 1
    }
    const pause = pace.changed(isMany(tenth), now)
    if (due === Number.POSITIVE_INFINITY) due = now + pause
  }
  return reads
}

describe("the pace of reads", () => {
  it("is at once for the first change, then once a second", () => {
    const pace = new ReadPace()
    assert.strictEqual(pace.changed(false, 5_000), 0)
    pace.read(5_000)
    assert.strictEqual(pace.changed(false, 5_200), 800)
    assert.strictEqual(pace.changed(false, 7_000), 0)
    assert.isAtLeast(
      readsOf(() => false),
      50
    )
  })

  it("is once in ten seconds while numbers are told, also between single changes", () => {
    assert.isAtMost(
      readsOf((tenth) => tenth % 10 === 9),
      8
    )
  })

  it("is that of single changes again, ten seconds after the last number", () => {
    const pace = new ReadPace()
    pace.changed(true, 0)
    pace.read(0)
    assert.strictEqual(pace.changed(false, 5_000), 5_000)
    assert.strictEqual(pace.changed(false, 10_000), 0)
  })
})
