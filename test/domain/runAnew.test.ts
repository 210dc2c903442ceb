/** Which results of a resumed flow stand, after any number of resumptions at steps. */
import { assert, describe, it } from "@effect/vitest"
import type { ExecutionId } from "../../src/domain/Ids.js"
import { buildHistory, type IndexedEntry, type StartEntry } from "../../src/domain/run/RunJournal.js"

const start: StartEntry = {
  kind: "start",
  at: 0,
  input: null,
  headers: {},
  customer: null,
  installation: null,
  connections: null,
  script: null
}
const rootOf = (nth: number) => `exec_${nth}` as ExecutionId
const done = (place: string, seq: number): IndexedEntry => ({
  kind: "done",
  call: seq,
  hash: "h",
  place,
  outcome: "ok",
  seq,
  bytes: 1
})
const output = (place: string, seq: number): IndexedEntry => ({ kind: "output", place, seq, bytes: 1 })
const resumed = (nth: number, steps: ReadonlyArray<string>): IndexedEntry => ({
  kind: "attempt",
  attempt: 1,
  at: nth,
  afresh: [],
  anew: { steps, rootId: rootOf(nth) }
})

const paths = ["a", "ab", "each[0].a", "each[1].a", "each[10].a", "each[1].in[0].b", "code"]
const isAt = (path: string, step: string) => path === step || path.startsWith(`${step}.`) || path.startsWith(`${step}[`)

describe("A flow that is resumed at steps", () => {
  it("keeps of each path the last result that no later resumption runs anew, and the root of that which does", () => {
    let seed = 7
    const random = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below
    for (let round = 0; round < 500; round++) {
      const entries: Array<IndexedEntry> = []
      const kept = new Map<string, number>()
      const roots = new Map<string, ExecutionId>()
      const resumptions = random(4)
      for (let nth = 0; nth <= resumptions; nth++) {
        if (nth > 0) {
          const steps = [...paths, "each", "each[1]"].filter(() => random(4) === 0)
          entries.push(resumed(nth, steps))
          for (const path of paths)
            if (steps.some((step) => isAt(path, step))) {
              kept.delete(path)
              roots.set(path, rootOf(nth))
            }
        }
        for (const path of paths.filter(() => random(2) === 0)) {
          entries.push(path === "code" ? output(path, entries.length + 1) : done(path, entries.length + 1))
          kept.set(path, entries.length)
        }
      }
      // The last results are replayed, unless a resumption follows: as in a run that begins.
      entries.push(resumed(resumptions + 1, []))
      const { anew, outputs, replay, reusable } = buildHistory(start, entries)
      const found = new Map([...reusable.values(), ...outputs.values()].map(({ place = "", seq }) => [place, seq]))
      assert.isEmpty(replay)
      for (const path of paths) {
        assert.strictEqual(found.get(path), kept.get(path), `${path} in round ${round}`)
        assert.strictEqual(anew.find(path)?.rootId, roots.get(path), `${path} in round ${round}`)
      }
    }
  })

  it("is read in a time that its resumptions do not multiply", () => {
    const entries: Array<IndexedEntry> = []
    for (let nth = 1; nth <= 50; nth++) {
      for (let i = 0; i < 200; i++) entries.push(done(`${"deep.".repeat(180)}s${nth}_${i}`, entries.length + 1))
      entries.push(
        resumed(
          nth,
          Array.from({ length: 200 }, (_, at) => `step_${at}`)
        )
      )
    }
    const { anew, reusable } = buildHistory(start, entries)
    assert.strictEqual(reusable.size, 10_000)
    assert.strictEqual(anew.resumptions, 50)
  })
})
