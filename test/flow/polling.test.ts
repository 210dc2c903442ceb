/** Polled events: once for a connection and event, a baseline first, nothing lost or repeated when a poll dies. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../support/Sql.js"
import { connect, publishConnector, scripts, startCalls, stopCalls, svc, systems, workflow } from "../support/calls.js"
import { eventually } from "../support/eventually.js"

interface Item {
  readonly id: string
  readonly name: string
}
let items: ReadonlyArray<Item> = []
/** Answers of the second page: whether it fails. */
let isBroken = false
/** Whether the listing is answered with 200 and something else. */
let isOther = false
/** The text of the listing instead of the items. */
let rawListing: string | undefined
/** Whether an empty listing is answered without a body. */
let isBodyless = false
let flow: string
let connection: string

const poll = { action: "list", key: "$.id", intervalSeconds: 30 }
beforeAll(async () => {
  await startCalls()
  // Two items on a page.
  scripts.set("/crm/list", ({ url }) => {
    const at = Number(new URL(url, "http://crm").searchParams.get("after") ?? "0")
    if (at > 0 && isBroken) return { status: 500, body: { error: "broken" } }
    if (rawListing !== undefined) return { body: rawListing }
    if (isOther) return { body: { results: { message: "back soon" } } }
    if (isBodyless && items.length === 0) return { status: 204, body: "" }
    const next = at + 2 < items.length ? String(at + 2) : null
    return { body: { results: items.slice(at, at + 2), next } }
  })
  await publishConnector("crm", "1.0.0", {
    retry: { maxAttempts: 1 },
    actions: [
      {
        name: "list",
        version: 1,
        request: { method: "GET", path: "/crm/list", query: { after: "{{args.cursor}}" } },
        pagination: { type: "cursor", next: "$.next", param: "cursor", items: "$.results" }
      }
    ],
    events: [
      { id: "contact", delivery: "poll", poll },
      { id: "contact.created", delivery: "poll", poll },
      { id: "contact.removed", delivery: "poll", poll },
      { id: "note", delivery: "poll", poll },
      { id: "ticket", delivery: "poll", poll }
    ]
  })
  connection = (await connect("crm", "k")).id
  flow = await workflow("return ctx.input")
})
afterAll(() => stopCalls())

const sql = <A extends object>(text: string) => svc.run(Effect.flatMap(WriterSql, (writer) => writer.unsafe<A>(text)))
const trigger = async (event: string) => {
  const answer = await svc.ask("POST", "/api/v1/triggers", {
    key: svc.first.key,
    body: { type: "app_event", name: event, routes: [{ workflowId: flow }], appEvent: { connector: "crm", event } }
  })
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.body.data.id as string
}
const pollOf = async (event: string) => {
  const [row] = await sql<{ seq: number; failures: number; error: string | null }>(
    `SELECT seq, failures, last_error AS error FROM polls WHERE connection_id = '${connection}' AND event = '${event}'`
  )
  return row
}
/** Polls the event now, and waits until that poll is committed. */
const pollNow = async (event: string) => {
  const before = (await pollOf(event))?.seq ?? 0
  await sql(`UPDATE polls SET next_at = now() WHERE event = '${event}'`)
  return eventually(
    () => pollOf(event),
    (found) => (found?.seq ?? 0) > before
  )
}
const eventsOf = (event: string) =>
  sql<{ type: string; priority: number; action: string; payload: Item; status: string; runs: number }>(
    `SELECT type, priority, record->>'action' AS action, payload, status, json_array_length(COALESCE(deliveries, '[]')) AS runs
     FROM event_records WHERE connector = 'crm' AND record->>'connectorEvent' = '${event}' ORDER BY id`
  )
const changesOf = async (event: string) =>
  (await eventsOf(event)).map(({ action, payload }) => `${action} ${payload.id ?? JSON.stringify(payload)}`).sort()
/** Waits until these events are recorded: that is after the poll, once they are delivered. */
const told = (event: string, changes: ReadonlyArray<string>) =>
  eventually(
    () => changesOf(event),
    (found) => JSON.stringify(found) === JSON.stringify(changes)
  )

describe("a polled event", () => {
  it("has its baseline from the first poll, and tells of what was created, updated and removed later, over all pages", async () => {
    items = ["1", "2", "3"].map((id) => ({ id, name: `n${id}` }))
    await trigger("contact")
    await eventually(
      () => pollOf("contact"),
      (found) => found?.seq === 1
    )
    assert.deepStrictEqual(await eventsOf("contact"), [])

    items = [
      { id: "1", name: "n1" },
      { id: "3", name: "changed" },
      { id: "4", name: "n4" }
    ]
    await pollNow("contact")
    const found = await eventually(
      () => eventsOf("contact"),
      (all) => all.length === 3 && all.every(({ status }) => status === "delivered")
    )
    assert.deepStrictEqual(found.map(({ action, payload, type }) => [type, action, payload]).sort(), [
      ["crm.contact.created", "created", { id: "4", name: "n4" }],
      ["crm.contact.deleted", "deleted", { key: "2" }],
      ["crm.contact.updated", "updated", { id: "3", name: "changed" }]
    ])
    assert.deepStrictEqual([...new Set(found.map(({ priority, runs }) => `${priority} ${runs}`))], ["4 1"])
  })

  it("is polled once for two triggers, which both run", async () => {
    await trigger("contact")
    items = [...items, { id: "5", name: "n5" }]
    const before = systems.requests.length
    await pollNow("contact")
    assert.lengthOf(systems.requests.slice(before), 2)
    const found = await eventually(
      () => eventsOf("contact"),
      (all) => all.some(({ payload, runs }) => payload.id === "5" && runs === 2)
    )
    assert.lengthOf(
      found.filter(({ payload }) => payload.id === "5"),
      1
    )
  })

  it("removes nothing after a listing that failed, and tells of the failure", async () => {
    isBroken = true
    await sql("UPDATE polls SET next_at = now() WHERE event = 'contact'")
    const failed = await eventually(
      () => pollOf("contact"),
      (found) => (found?.failures ?? 0) > 0
    )
    assert.isNotNull(failed?.error)
    isBroken = false
    const before = await changesOf("contact")
    await pollNow("contact")
    assert.deepStrictEqual([await changesOf("contact"), (await pollOf("contact"))?.failures], [before, 0])
  })

  it("removes nothing after an answer that has no list, which counts as a failure", async () => {
    isOther = true
    const before = await changesOf("contact")
    await sql("UPDATE polls SET next_at = now() WHERE event = 'contact'")
    const failed = await eventually(
      () => pollOf("contact"),
      (found) => (found?.failures ?? 0) > 0
    )
    assert.include(failed?.error, "has no list at $.results")
    isOther = false
    await pollNow("contact")
    assert.deepStrictEqual([await changesOf("contact"), (await pollOf("contact"))?.failures], [before, 0])
  })

  it("loses and repeats nothing when the process dies between the events and what the poll saw", async () => {
    const seen = await sql<{ key: string; hash: string }>(
      `SELECT key, hash FROM poll_items WHERE connection_id = '${connection}' AND event = 'contact'`
    )
    const seq = (await pollOf("contact"))?.seq ?? 0
    items = [...items, { id: "6", name: "n6" }, { id: "7", name: "n7" }]
    await pollNow("contact")
    // The commit of what the poll saw is undone; its events stay.
    await sql(
      `DELETE FROM poll_items WHERE event = 'contact' AND key NOT IN (${seen.map(({ key }) => `'${key}'`).join(",")})`
    )
    await sql(`UPDATE polls SET seq = ${seq} WHERE event = 'contact'`)
    items = [...items, { id: "8", name: "n8" }]
    await pollNow("contact")
    const created = await eventually(
      () => eventsOf("contact"),
      (all) => all.some(({ payload, status }) => payload?.id === "8" && status === "delivered")
    )
    for (const id of ["6", "7", "8"])
      assert.lengthOf(
        created.filter(({ payload, status }) => payload?.id === id && status === "delivered"),
        1
      )
  })

  it("keeps what it has seen over an edit of its trigger, and over a time without an active one", async () => {
    const id = await trigger("contact.created")
    await eventually(
      () => pollOf("contact.created"),
      (found) => found?.seq === 1
    )
    const ask = (method: string, path: string, body?: unknown) =>
      svc.ask(method, `/api/v1/triggers/${id}${path}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
    await ask("PUT", "", { description: "edited" })
    await ask("POST", "/disable")
    items = [...items, { id: "9", name: "n9" }]
    await ask("POST", "/enable")
    await pollNow("contact.created")
    await eventually(
      () => changesOf("contact.created"),
      (found) => found.length > 0
    )
    assert.deepStrictEqual(await changesOf("contact.created"), ["created 9"])
    assert.deepStrictEqual(
      (await eventsOf("contact.created")).map(({ type }) => type),
      ["crm.contact.created"]
    )
    await ask("DELETE", "")
    await eventually(
      () => pollOf("contact.created"),
      (found) => found === undefined
    )
  })

  it("whose id ends with a verb tells of that only", async () => {
    await trigger("contact.removed")
    await eventually(
      () => pollOf("contact.removed"),
      (found) => found?.seq === 1
    )
    items = [
      ...items.filter(({ id }) => id !== "1").map((item) => ({ ...item, name: "all changed" })),
      { id: "10", name: "" }
    ]
    await pollNow("contact.removed")
    await told("contact.removed", [`deleted {"key":"1"}`])
  })

  it("begins with an account that has no items, also if it is answered without a body", async () => {
    const before = items
    ;[items, isBodyless] = [[], true]
    await trigger("note")
    const baseline = await eventually(
      () => pollOf("note"),
      (found) => found?.seq === 1 || (found?.failures ?? 0) > 0
    )
    assert.deepStrictEqual([baseline?.failures, baseline?.error], [0, null])
    items = [{ id: "1", name: "the first" }]
    await pollNow("note")
    await told("note", ["created 1"])
    items = []
    await pollNow("note")
    await told("note", ["created 1", `deleted {"key":"1"}`])
    ;[items, isBodyless] = [before, false]
  })

  it("takes no arguments, since all triggers share its poll", async () => {
    const answer = await svc.ask("POST", "/api/v1/triggers", {
      key: svc.first.key,
      body: {
        type: "app_event",
        name: "x",
        routes: [{ workflowId: flow }],
        appEvent: { connector: "crm", event: "contact", args: { list: "1" } }
      }
    })
    assert.deepStrictEqual([answer.status, answer.body.details[0].path], [422, "appEvent.args"])
  })

  it("is one for each of two ids that are the same number, with the id as the contract wants it", async () => {
    const inputContract = { type: "object", properties: { id: { type: "string" } } }
    const tickets = await workflow("return ctx.input", "instant", { inputContract })
    rawListing = '{"results":[]}'
    const before = flow
    flow = tickets
    await trigger("ticket").finally(() => (flow = before))
    await eventually(
      () => pollOf("ticket"),
      (found) => found?.seq === 1
    )
    rawListing = '{"results":[{"id":9007199254740992,"n":1},{"id":9007199254740993,"n":9007199254740993}]}'
    await pollNow("ticket")
    await told("ticket", ["created 9007199254740992", "created 9007199254740993"])
    const found = await sql<{ payload: object; rounded: { paths: ReadonlyArray<string> } | null }>(
      `SELECT payload, record->'rounded' AS rounded FROM event_records
       WHERE connector = 'crm' AND record->>'connectorEvent' = 'ticket' ORDER BY payload->>'id'`
    )
    rawListing = undefined
    assert.deepStrictEqual(
      found.map(({ payload, rounded }) => [payload, rounded?.paths ?? []]),
      [
        [{ id: "9007199254740992", n: 1 }, []],
        [{ id: "9007199254740993", n: 9007199254740992 }, ["n"]]
      ]
    )
  })
})
