/** A replay reads the next page of its journal while its guest works, and never waits for memory while it holds some. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { ReplayPages } from "../../src/actors/execution/guest/ReplayPages.js"
import { makeHistoryReader } from "../../src/actors/execution/guest/HistoryPages.js"
import { Journal, JournalUnavailable } from "../../src/actors/ports/run/Journal.js"
import type { IndexedCall } from "../../src/domain/run/RunJournal.js"
import { ByteLedger } from "../../src/runtime/memory/ByteLedger.js"
import { openRun } from "../support/journal.js"

const run = openRun()
const pageBytes = 100
/** A page is held three times: as it was read, in clear, and in its frame. */
const heldOfPage = 3 * pageBytes

const pagesOf = (count: number): ReadonlyArray<ReadonlyArray<IndexedCall>> =>
  Array.from({ length: count }, (_, seq) => [
    { kind: "done", call: seq, hash: "", outcome: "ok", seq, bytes: pageBytes } as const
  ])

/** A guest that has everything at once. */
const sentAtOnce = { whenSent: (then: () => void) => then() }

const unused = () => Effect.die("not asked for")

/** Replays of journals that are read through one ledger. `log`: what was read, and what a guest has taken. */
const makeWorld = (ledger: ByteLedger) => {
  const log: Array<string> = []
  let failures = 0
  const journal = Journal.of({
    append: unused,
    commit: unused,
    index: unused,
    copy: unused,
    takeOverSteps: unused,
    results: (_, __, places) =>
      Effect.yieldNow().pipe(
        Effect.zipRight(
          Effect.suspend(() => (failures-- > 0 ? Effect.fail(new JournalUnavailable({ reason: "away" })) : Effect.void))
        ),
        Effect.map(() => {
          log.push(`read ${places.join()}`)
          return places.map((seq) => ({ at: seq, ok: true, json: `${seq}` }))
        })
      )
  })
  const history = makeHistoryReader(journal, ledger)
  const held = () => ledger.readings().held.journals
  let mostHeld = 0
  const makePages = () =>
    new ReplayPages(
      (page, hold, waits) =>
        Effect.map(
          history.open(run, page, hold, waits),
          Option.map((results) => results.map((result) => ({ result })))
        ),
      Effect.runFork
    )
  const replay = (count: number): Effect.Effect<void, JournalUnavailable> =>
    Effect.gen(function* () {
      const pages = makePages()
      const all = pagesOf(count)
      for (const [nth, page] of all.entries()) {
        const [replayed] = yield* pages.open(page, all[nth + 1])
        assert.strictEqual(replayed?.result.json, `${nth}`)
        pages.readAhead(sentAtOnce)
        for (let turn = 0; turn < 5; turn++) yield* Effect.yieldNow()
        mostHeld = Math.max(mostHeld, held())
        log.push(`taken ${nth}`)
        pages.endPage()
      }
    })
  return {
    failNext: (count: number) => void (failures = count),
    held,
    log,
    makePages,
    mostHeld: () => mostHeld,
    replay
  }
}

describe("A replay", () => {
  it.effect("reads the next page while its guest works on the one before", () =>
    Effect.gen(function* () {
      const world = makeWorld(new ByteLedger({ bytes: 100_000 }))
      yield* world.replay(3)
      assert.deepStrictEqual(world.log, ["read 0", "read 1", "taken 0", "read 2", "taken 1", "taken 2"])
      assert.strictEqual(world.mostHeld(), 2 * heldOfPage)
      assert.strictEqual(world.held(), 0)
    })
  )

  it.effect("holds one page only where there is room for no other, and many replays end", () =>
    Effect.gen(function* () {
      // One owner gets three quarters.
      const room = heldOfPage + 50
      const world = makeWorld(new ByteLedger({ bytes: Math.ceil((room * 4) / 3) }))
      yield* Effect.all(
        Array.from({ length: 8 }, () => world.replay(4)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(world.log.filter((line) => line.startsWith("taken")).length, 32)
      assert.strictEqual(world.mostHeld(), heldOfPage)
      assert.strictEqual(world.held(), 0)
    })
  )

  it.effect("reads a page again that could not be read ahead, and says so only if that fails too", () =>
    Effect.gen(function* () {
      const world = makeWorld(new ByteLedger({ bytes: 100_000 }))
      const pages = world.makePages()
      const [first = [], second = []] = pagesOf(2)
      yield* pages.open(first, second)
      world.failNext(1)
      pages.readAhead(sentAtOnce)
      pages.endPage()
      assert.lengthOf(yield* pages.open(second, undefined), 1)
      pages.endPage()
      assert.strictEqual(world.held(), 0)
      yield* pages.open(first, second)
      world.failNext(2)
      pages.readAhead(sentAtOnce)
      pages.endPage()
      const failure = yield* Effect.flip(pages.open(second, undefined))
      assert.strictEqual(failure.reason, "away")
      pages.drop()
      assert.strictEqual(world.held(), 0)
    })
  )

  it.effect("begins to read ahead when the guest's page was sent, and not if the guest has taken that by then", () =>
    Effect.gen(function* () {
      const world = makeWorld(new ByteLedger({ bytes: 100_000 }))
      const pages = world.makePages()
      const [first = [], second = [], third = []] = pagesOf(3)
      const sending: Array<() => void> = []
      const guest = { whenSent: (then: () => void) => void sending.push(then) }
      yield* pages.open(first, second)
      pages.readAhead(guest)
      assert.strictEqual(world.held(), heldOfPage)
      pages.endPage()
      yield* pages.open(second, third)
      sending.shift()?.()
      for (let turn = 0; turn < 5; turn++) yield* Effect.yieldNow()
      assert.deepStrictEqual(world.log, ["read 0", "read 1"])
      pages.readAhead(guest)
      sending.shift()?.()
      for (let turn = 0; turn < 5; turn++) yield* Effect.yieldNow()
      assert.deepStrictEqual(world.log, ["read 0", "read 1", "read 2"])
      pages.drop()
      assert.strictEqual(world.held(), 0)
    })
  )

  it.effect("gives everything back when it is given up", () =>
    Effect.gen(function* () {
      const world = makeWorld(new ByteLedger({ bytes: 100_000 }))
      const pages = world.makePages()
      const [first = [], second = []] = pagesOf(2)
      yield* pages.open(first, second)
      pages.readAhead(sentAtOnce)
      assert.strictEqual(world.held(), 2 * heldOfPage)
      pages.drop()
      assert.strictEqual(world.held(), 0)
      for (let turn = 0; turn < 5; turn++) yield* Effect.yieldNow()
      assert.deepStrictEqual(world.log, ["read 0"])
    })
  )
})
