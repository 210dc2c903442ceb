/** What watchers that wait for changes cost: a pass visits none of them, until one is to be told of something. */
import { assert, describe, it } from "@effect/vitest"
import { type WatchBatch, type WatchBounds, Watcher } from "../../src/actors/management/watch/Watcher.js"
import { WatcherTable } from "../../src/actors/management/watch/WatcherTable.js"
import type { Principal } from "../../src/actors/management/Caller.js"
import { Effect } from "effect"

const bounds: WatchBounds = { ofCaller: 1_000, ofNode: 1_500, isPrompt: true, silenceMillis: 60_000 }
const position = { at: 0, commits: { end: "1", open: [] } }

const callerOf = (id: string): Principal =>
  ({ id, organisationId: "org_1", person: null, starter: { keyId: id, keyName: id } }) as unknown as Principal

/** Live watchers of a caller, and what each was sent. */
const watchersOf = (table: WatcherTable, id: string, count: number) =>
  Array.from({ length: count }, () => {
    const sent: Array<WatchBatch> = []
    const caller = callerOf(id)
    const order = {
      caller,
      topics: ["executions" as const],
      runs: [],
      since: undefined,
      recognise: Effect.succeed(caller),
      recognised: caller,
      bounds
    }
    const watcher = new Watcher(order, { send: (batch) => sent.push(batch), end: () => undefined }, "")
    watcher.state = "live"
    table.add(watcher)
    return { watcher, sent }
  })

const sentIn = (all: ReturnType<typeof watchersOf>) => all.reduce((sum, { sent }) => sum + sent.length, 0)

describe("watchers", () => {
  it("get their first position at once, and later ones bit by bit, each in time", () => {
    const table = new WatcherTable()
    const all = watchersOf(table, "key_1", 1_000)
    table.flush(1_000, position)
    assert.strictEqual(sentIn(all), 1_000)
    for (let now = 1_400; now < 61_000; now += 400) table.flush(now, position)
    assert.strictEqual(sentIn(all), 1_000, "none is sent before it is due")
    for (let pass = 0; pass < 64; pass++) {
      const before = sentIn(all)
      table.flush(61_000 + pass * 400, position)
      assert.isAtMost(sentIn(all) - before, 16, "one pass does not serve all")
    }
    for (const { sent } of all) assert.strictEqual(sent.length, 2)
  })

  it("are told of a change in the pass that finds it, also while others are due", () => {
    const table = new WatcherTable()
    const all = watchersOf(table, "key_1", 1_000)
    table.flush(1_000, position)
    const [one = assert.fail()] = all.slice(-1)
    one.watcher.add("executions", { id: "exec_1", status: "completed", at: 5 })
    table.noteNews()
    table.flush(61_000, position)
    assert.deepStrictEqual(
      one.sent.at(-1)?.messages.map((message) => "id" in message && message.id),
      ["exec_1"]
    )
  })

  it("are counted by caller and in all, for each kind of bounds", () => {
    const table = new WatcherTable()
    const all = watchersOf(table, "key_1", 1_000)
    assert.strictEqual(table.refusal(callerOf("key_1"), bounds)?._tag, "TooManyWatches")
    assert.isUndefined(table.refusal(callerOf("key_1"), { ...bounds }))
    assert.isUndefined(table.refusal(callerOf("key_2"), bounds))
    watchersOf(table, "key_2", 500)
    assert.strictEqual(table.refusal(callerOf("key_3"), bounds)?._tag, "Unavailable")
    for (const { watcher } of all) table.delete(watcher)
    assert.isUndefined(table.refusal(callerOf("key_1"), bounds))
    assert.deepStrictEqual([...table.wanted.credentials.keys()], ["key_2"])
  })
})
