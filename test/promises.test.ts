/** A broken promise is told from an ordinary failure, and what is lost from what is late. */
import { assert, describe, it } from "@effect/vitest"
import { BrokenPromise, counted, promised } from "./support/promises.js"

const errorOf = async (act: () => unknown): Promise<Error> => {
  try {
    await act()
  } catch (error) {
    if (error instanceof Error) return error
  }
  return assert.fail("it throws no error")
}

describe("what is promised", () => {
  it("may be kept", () => promised("a run is lost", () => assert.strictEqual(1, 1)))

  it("and is broken has the mark, says what is broken, and has the assertion as its cause", async () => {
    const cause = new Error("2 is not 1")
    const error = await errorOf(() =>
      promised("a run is lost", () => {
        throw cause
      })
    )
    assert.instanceOf(error, BrokenPromise)
    assert.strictEqual(error.message, "BROKEN PROMISE: a run is lost: 2 is not 1")
    assert.strictEqual(error.cause, cause)
  })

  it("and is broken inside another promise has one mark", async () => {
    const inner = new BrokenPromise("a run is lost")
    const error = await errorOf(() =>
      promised("all is well", () => {
        throw inner
      })
    )
    assert.strictEqual(error, inner)
    assert.strictEqual(error.message, "BROKEN PROMISE: a run is lost")
  })
})

describe("what is counted", () => {
  const millis = 20
  const what = "a run is lost"
  const found = (count: number) => count === 3
  const counting = (counts: () => number, underWay: () => number) =>
    counted({ what, found, millis, ask: async () => counts(), underWay: async () => underWay() })

  it("is returned as soon as it has come, and nobody asks what is under way", async () => {
    let count = 0
    const answer = await counting(
      () => (count += 1),
      () => assert.fail("nobody asks")
    )
    assert.strictEqual(answer, 3)
  })

  it("is late while something is under way", async () => {
    const error = await errorOf(() =>
      counting(
        () => 2,
        () => 1
      )
    )
    assert.notInstanceOf(error, BrokenPromise)
    assert.match(error.message, /^not within \d+ ms: 2$/)
  })

  it("is lost when nothing is under way", async () => {
    const error = await errorOf(() =>
      counting(
        () => 2,
        () => 0
      )
    )
    assert.instanceOf(error, BrokenPromise)
    assert.match(error.message, /^BROKEN PROMISE: a run is lost: nothing is under way, and this is all: 2/)
    assert.instanceOf(error.cause, Error)
  })

  it("is returned if the last reading has it", async () => {
    let hasEnded = false
    const answer = await counting(
      () => (hasEnded ? 3 : 2),
      () => {
        hasEnded = true
        return 0
      }
    )
    assert.strictEqual(answer, 3)
  })

  it("is late if nobody can tell what is under way", async () => {
    const error = await errorOf(() =>
      counting(
        () => 2,
        () => {
          throw new Error("no answer")
        }
      )
    )
    assert.strictEqual(error.message, "no answer")
  })
})
