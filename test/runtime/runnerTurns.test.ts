import { assert, it } from "@effect/vitest"
import { RunnerTurns } from "../../src/runtime/sandbox/RunnerTurns.js"

const turn = (tenant: string, limitMillis: number) => ({ onAnswer: () => {}, limitMillis, tenant, askedAt: -1_000 })

it("a turn that is moved elsewhere just as the runner begins it may compute as long as any", () => {
  let noted = 1
  const turns = new RunnerTurns(() => noted)
  turns.add(1, turn("a", 2_000))
  turns.add(2, turn("b", 2_000))
  assert.deepStrictEqual(
    turns.takeMovable(() => true).map(([session]) => session),
    [2]
  )
  noted = 2
  assert.strictEqual(turns.sessionAtWork(), 2)
  assert.strictEqual(turns.limitOf(2), 2_000)
})

it("a turn that is known has its own limit", () => {
  const turns = new RunnerTurns(() => undefined)
  turns.add(1, turn("a", 500))
  turns.add(2, turn("a", 2_000))
  assert.deepStrictEqual([turns.limitOf(1), turns.limitOf(2)], [500, 2_000])
})
