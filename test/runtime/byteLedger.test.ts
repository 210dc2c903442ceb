/** The ledger of bytes from outside: bounded together, fair between owners, and no wait without an end. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { takeBytes } from "../../src/actors/ports/HeldBytes.js"
import { ByteLedger } from "../../src/runtime/memory/ByteLedger.js"
import { littleMemory } from "../../src/runtime/process/MemoryLimit.js"
import { ownerOf } from "../support/shareOwners.js"

const make = (bytes: number) => new ByteLedger({ bytes, bodyBytes: bytes / 4, patienceMillis: 200 })

describe("a start with little memory", () => {
  it("is told with the figure that it needs; one with 1 GiB is not", () => {
    assert.deepStrictEqual(littleMemory(512 * 1_048_576), { memoryMiB: 512, neededMiB: 1024 })
    assert.isUndefined(littleMemory(1_000 * 1_048_576))
  })
})

describe("the ledger of held bytes", () => {
  it("counts all kinds together, gives everything back, and forgets owners", () => {
    const ledger = make(1_000)
    const answer = ledger.open(ownerOf("a"), "answers")
    const result = ledger.open(ownerOf("b"), "results")
    assert.isTrue(answer.tryTake(500))
    assert.isTrue(result.tryTake(500))
    assert.isFalse(ledger.open(ownerOf("c"), "answers").tryTake(1))
    answer.give(100)
    assert.isTrue(ledger.open(ownerOf("c"), "answers").tryTake(100))
    answer.release()
    answer.release()
    result.release()
    assert.deepStrictEqual(ledger.readings().held, { arriving: 0, bodies: 0, answers: 100, results: 0, journals: 0 })
    assert.isTrue(answer.tryTake(5_000), "what is taken after the release is not counted")
    assert.strictEqual(answer.bytes, 400 - 400)
  })

  it("leaves a quarter to others, and gives one owner half while they wait", () => {
    const ledger = make(1_000)
    const greedy = ledger.open(ownerOf("greedy"), "answers")
    assert.isTrue(greedy.tryTake(750))
    assert.isFalse(greedy.tryTake(1))
    const other = ledger.open(ownerOf("other"), "answers")
    assert.isTrue(other.tryTake(250))
    let granted = 0
    const stop = ledger.open(ownerOf("third"), "answers").take(200, () => granted++)
    greedy.give(240)
    assert.strictEqual(granted, 1)
    stop()
    const waits = ledger.open(ownerOf("fourth"), "answers")
    let refusals = 0
    const leave = waits.take(400, (refused) => void (refused === undefined ? granted++ : refusals++))
    greedy.give(60)
    assert.isFalse(greedy.tryTake(50), "another waits for what is free")
    leave()
    assert.isTrue(greedy.tryTake(50))
    assert.deepStrictEqual([granted, refusals], [1, 0])
  })

  it("gives nothing to a holding that was released while it waited", () => {
    const ledger = new ByteLedger({ bytes: 1_000 })
    const first = ledger.open(ownerOf("a"), "answers")
    assert.isTrue(first.tryTake(700))
    const second = ledger.open(ownerOf("a"), "answers")
    let ended = 0
    second.take(600, () => void ended++)
    second.release()
    first.release()
    assert.deepStrictEqual([ended, ledger.readings().held.answers, ledger.readings().waiting], [1, 0, 0])
    assert.isTrue(ledger.open(ownerOf("a"), "answers").tryTake(750), "nothing is lost")
  })

  it("serves owners that wait in turn, in the order of each", () => {
    const ledger = make(1_000)
    const filler = ledger.open(ownerOf("filler"), "answers")
    const second = ledger.open(ownerOf("second"), "answers")
    assert.isTrue(filler.tryTake(500) && second.tryTake(500))
    const order: Array<string> = []
    const wait = (owner: string, mark: string) =>
      ledger
        .open(ownerOf(owner), "answers")
        .take(100, (refused) => void order.push(refused === undefined ? mark : "refused"))
    const stops = [wait("a", "a1"), wait("a", "a2"), wait("a", "a3"), wait("b", "b1"), wait("c", "c1")]
    filler.give(500)
    assert.deepStrictEqual(order, ["a1", "b1", "c1", "a2", "a3"])
    for (const stop of stops) stop()
  })

  it("gives what becomes free to those who wait for it, not to those who come later", () => {
    const ledger = make(1_000)
    const [a, b] = [ledger.open(ownerOf("a"), "answers"), ledger.open(ownerOf("b"), "answers")]
    assert.isTrue(a.tryTake(500) && b.tryTake(500))
    let granted = false
    const stop = ledger.open(ownerOf("waiter"), "answers").take(300, () => (granted = true))
    a.give(200)
    assert.isFalse(ledger.open(ownerOf("late"), "answers").tryTake(200))
    b.give(100)
    assert.isTrue(granted)
    stop()
  })

  it("bounds request bodies apart, one sender by a quarter of them", () => {
    const ledger = make(1_600)
    for (const owner of ["a", "b", "c", "d"]) {
      const body = ledger.open(ownerOf(owner), "bodies")
      assert.isTrue(body.tryTake(100))
      assert.isFalse(body.tryTake(1))
    }
    assert.isFalse(ledger.open(ownerOf("e"), "bodies").tryTake(1))
    assert.isTrue(ledger.open(ownerOf("e"), "answers").tryTake(600))
  })

  it("refuses at once what no owner can ever hold", () => {
    const ledger = make(1_000)
    let reason: string | undefined
    ledger.open(ownerOf("a"), "answers").take(751, (refused) => (reason = refused?.reason))
    assert.strictEqual(reason, "tooLarge")
    assert.strictEqual(ledger.readings().refused, 1)
  })

  it.live("two that hold and wait for each other: one is refused in time, the other goes on", () =>
    Effect.gen(function* () {
      const ledger = make(1_000)
      const [a, b] = [ledger.open(ownerOf("a"), "answers"), ledger.open(ownerOf("b"), "answers")]
      yield* takeBytes(a, 500)
      yield* takeBytes(b, 500)
      const release = <E>(exit: Exit.Exit<void, E>, holding: { readonly release: () => void }) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit)) holding.release()
          return Exit.isSuccess(exit)
        })
      const first = yield* Effect.fork(Effect.flatMap(Effect.exit(takeBytes(a, 100)), (exit) => release(exit, a)))
      yield* Effect.sleep("20 millis")
      const second = yield* Effect.fork(Effect.flatMap(Effect.exit(takeBytes(b, 100)), (exit) => release(exit, b)))
      const outcomes = [yield* Fiber.join(first), yield* Fiber.join(second)]
      assert.deepStrictEqual(outcomes, [false, true])
      assert.strictEqual(ledger.readings().waiting, 0)
    })
  )
})
