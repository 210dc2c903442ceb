/** What watchers that wait for changes cost: a pass visits none of them, until one is to be told of something. */
import { assert, describe, it } from "@effect/vitest"
import { type WatchBatch, type WatchBounds, Watcher } from "../../src/actors/management/watch/Watcher.js"
import { WatcherTable } from "../../src/actors/management/watch/WatcherTable.js"
import type { Principal } from "../../src/actors/management/Caller.js"
import { Effect } from "effect"

const bounds: WatchBounds = { ofCaller: 1_000, ofNode: 1_500, isPrompt: true, silenceMillis: 60_000 }
const position = { at: 0, commits: { end: "1", open: [] } }

/** A key of an organisation, which is an account of its own unless another one is named. */
const callerOf = (id: string, organisationId = "org_1", accountId = organisationId): Principal =>
  ({ id, organisationId, accountId, person: null, starter: { keyId: id, keyName: id } }) as unknown as Principal

/** Live watchers of a caller, and what each was sent. */
const watchersOf = (table: WatcherTable, caller: Principal, count: number, of = bounds) =>
  Array.from({ length: count }, () => {
    const sent: Array<WatchBatch> = []
    const order = {
      caller,
      topics: ["executions" as const],
      runs: [],
      since: undefined,
      recognise: Effect.succeed(caller),
      recognised: caller,
      bounds: of
    }
    const watcher = new Watcher(order, { send: (batch) => sent.push(batch), end: () => undefined }, "")
    watcher.state = "live"
    table.add(watcher)
    return { watcher, sent }
  })

const sentIn = (all: ReturnType<typeof watchersOf>) => all.reduce((sum, { sent }) => sum + sent.length, 0)

describe("watchers", () => {
  it("of the children of an account are half of a node's at most, and leave the other half to others", () => {
    const table = new WatcherTable()
    const children = Array.from({ length: 10 }, (_, n) => callerOf(`key_${n}`, `org_${n}`, "org_parent"))
    const open = children.flatMap((child) => watchersOf(table, child, 75))
    for (const caller of [...children, callerOf("key_new", "org_new", "org_parent"), callerOf("key", "org_parent")])
      assert.deepInclude(table.refusal(caller, bounds), { _tag: "TooManyWatches", of: "account", limit: 750 })
    const neighbour = callerOf("key_other", "org_other")
    assert.isUndefined(table.refusal(neighbour, bounds))
    watchersOf(table, neighbour, 749)
    assert.isUndefined(table.refusal(neighbour, bounds))
    for (const { watcher } of open.slice(0, 1)) table.delete(watcher)
    assert.isUndefined(table.refusal(callerOf("key_new", "org_new", "org_parent"), bounds))
  })

  it("get their first position at once, and later ones bit by bit, each in time", () => {
    const table = new WatcherTable()
    const all = watchersOf(table, callerOf("key_1"), 1_000)
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
    const all = watchersOf(table, callerOf("key_1"), 1_000)
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
    const few = { ...bounds, ofCaller: 500 }
    const all = watchersOf(table, callerOf("key_1"), 500, few)
    assert.deepInclude(table.refusal(callerOf("key_1"), few), { _tag: "TooManyWatches", of: "caller" })
    assert.isUndefined(table.refusal(callerOf("key_1"), { ...few }))
    assert.isUndefined(table.refusal(callerOf("key_2"), few))
    watchersOf(table, callerOf("key_2"), 250, few)
    watchersOf(table, callerOf("key_3", "org_2"), 750, few)
    assert.strictEqual(table.refusal(callerOf("key_4", "org_3"), few)?._tag, "Unavailable")
    for (const { watcher } of all) table.delete(watcher)
    assert.isUndefined(table.refusal(callerOf("key_1"), few))
    assert.deepStrictEqual([...table.wanted.credentials.keys()], ["key_2", "key_3"])
  })
})
