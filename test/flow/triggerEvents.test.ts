/** Events and dead letters are found by the trigger that received them, also where they name none; a replay tells its runs. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../support/Sql.js"
import { connect, publishConnector, scripts, startCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { eventually } from "../support/eventually.js"

let items: ReadonlyArray<{ readonly id: string }> = []
let flow: string
let failing: string

const ask = (method: string, path: string, body?: unknown) =>
  svc.ask(method, `/api/v1${path}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
const trigger = async (settings: object): Promise<string> => {
  const made = await ask("POST", "/triggers", { name: "listens", routes: [{ workflowId: flow }], ...settings })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}
const listed = async (path: string): Promise<ReadonlyArray<{ readonly id: string; readonly status: string }>> =>
  (await ask("GET", path)).body.data
const sql = <A extends object>(text: string) => svc.run(Effect.flatMap(WriterSql, (writer) => writer.unsafe<A>(text)))
/** Polls again until a contact with the id is there, and returns the event's id: the other event's poll reads the same list. */
const polled = (id: string): Promise<string> =>
  eventually(
    async () => {
      await sql("UPDATE polls SET next_at = now()")
      return sql<{ id: string }>(
        `SELECT id FROM event_records WHERE type = 'crm.contact.created' AND payload->>'id' = '${id}' AND status = 'delivered'`
      )
    },
    ([found]) => found !== undefined
  ).then(([found]) => found?.id ?? assert.fail("no event"))

beforeAll(async () => {
  await startCalls()
  scripts.set("/crm/list", () => ({ body: { results: items } }))
  const poll = { action: "list", key: "$.id", intervalSeconds: 30 }
  await publishConnector("crm", "1.0.0", {
    events: [
      { id: "contact", delivery: "poll", poll },
      { id: "deal", delivery: "poll", poll }
    ]
  })
  await connect("crm", "k")
  flow = await workflow("return ctx.input")
  failing = await workflow("throw new Error('no')")
})
afterAll(() => stopCalls())

describe("the events of a trigger", () => {
  it("are also those of its connector, which name none, and its dead letters, which replay for it alone", async () => {
    const appEvent = { connector: "crm", event: "contact" }
    const own = await trigger({ type: "app_event", appEvent, routes: [{ workflowId: flow }, { workflowId: failing }] })
    const unmatched = { path: "id", op: "eq", value: "none" }
    const filtered = await trigger({
      type: "app_event",
      appEvent,
      routes: [{ workflowId: flow, filter: unmatched }]
    })
    const other = await trigger({ type: "app_event", appEvent: { ...appEvent, event: "deal" } })
    const hook = await trigger({ type: "webhook" })
    await eventually(
      () => sql<{ seq: number }>("SELECT seq FROM polls WHERE event = 'contact'"),
      ([row]) => (row?.seq ?? 0) > 0
    )
    items = [{ id: "p1" }]
    const id = await polled("p1")
    const ids = async (of: string) => (await listed(`/events?trigger_id=${of}`)).map((event) => event.id)
    assert.include(await ids(own), id)
    assert.include(await ids(filtered), id)
    assert.include(
      (await listed(`/events?trigger_id=${own}&status=delivered&source=poll`)).map((one) => one.id),
      id
    )
    assert.notInclude(await ids(other), id)
    assert.deepStrictEqual(await ids(hook), [])
    const fired = (await ask("POST", `/triggers/${own}/fire`, {})).body.data.eventId
    assert.includeMembers([...(await ids(own))], [id, fired])
    assert.notInclude(await ids(filtered), fired)

    const [letter] = await eventually(
      () => listed(`/dlq?trigger_id=${own}&type=crm.contact.created`),
      (found) => found.length > 0
    )
    if (letter === undefined) return assert.fail("no dead letter")
    const replayed = await ask("POST", `/dlq/${letter.id}/replay`, {})
    const again = await eventually(
      async () => (await ask("GET", `/events/${replayed.body.data.eventId}`)).body.data,
      ({ status }) => status === "delivered"
    )
    assert.deepStrictEqual(
      again.deliveries.map((one: { workflowId: string }) => one.workflowId),
      [failing]
    )
  })

  it("are also those of the types that it names", async () => {
    const exact = await trigger({ type: "event", event: { type: "order.created" } })
    const prefix = await trigger({ type: "event", event: { type: "order.*" } })
    const all = await trigger({ type: "event", event: { type: "*" } })
    const other = await trigger({ type: "event", event: { type: "invoice.*" } })
    const [created, changed] = await Promise.all(
      ["order.created", "order.changed"].map(
        async (type) => (await ask("POST", "/events", { type })).body.data.eventId as string
      )
    )
    const ids = async (of: string) => (await listed(`/events?trigger_id=${of}`)).map((event) => event.id)
    assert.deepStrictEqual(await ids(exact), [created])
    assert.deepStrictEqual([...(await ids(prefix))].sort(), [created, changed].sort())
    assert.includeMembers([...(await ids(all))], [created ?? "", changed ?? ""])
    assert.deepStrictEqual(await ids(other), [])
    assert.strictEqual((await ask("DELETE", `/triggers/${all}`)).status, 204)
    const late = await trigger({ type: "event", event: { type: "order.*" } })
    assert.deepStrictEqual(await ids(late), [], "events of before its creation")
  })
})

describe("a key of some workflows", () => {
  it("lists the events all of whose runs are of these, and their dead letters", async () => {
    const routes = [{ workflowId: flow }, { workflowId: failing }]
    await trigger({ type: "event", event: { type: "shown.*" }, routes })
    const { eventId } = (await ask("POST", "/events", { type: "shown.now" })).body.data
    const letters = await eventually(
      () => listed("/dlq?type=shown.now"),
      (found) => found.length > 0
    )
    const shownTo = async (ids: ReadonlyArray<string>) => {
      const body = { name: "narrow", mode: "live", preset: "full_access", resourceScope: [{ type: "workflow", ids }] }
      const { key } = (await ask("POST", "/api-keys", body)).body.data
      const answers = await Promise.all(
        ["/events", "/dlq"].map((path) => svc.ask("GET", `/api/v1${path}?type=shown.now`, { key }))
      )
      return answers.map(({ body: found, text }) => found.data?.map((one: { id: string }) => one.id) ?? text)
    }
    assert.deepStrictEqual(await shownTo([flow, failing]), [[eventId], letters.map(({ id }) => id)])
    assert.deepStrictEqual(await shownTo([flow]), [[], []])
    assert.deepStrictEqual(await shownTo([await workflow("return 1")]), [[], []])
  })
})

describe("an injected event", () => {
  it("has a type that is none of the service's own", async () => {
    const own = [
      "connection.expired",
      "execution.completed",
      "webhook_endpoint.test",
      "webhook.trg_1",
      "schedule.trg_1"
    ]
    for (const type of own) {
      const { body, status } = await ask("POST", "/events", { type })
      assert.deepStrictEqual([status, body.details[0].path], [422, "type"], type)
    }
    for (const type of ["connection.lost", "webhook.received", "order.created"])
      assert.strictEqual((await ask("POST", "/events", { type })).status, 202, type)
  })
})

describe("a trigger on a type of which there is no event", () => {
  const warningsOf = async (type: string) => {
    const body = { name: "hears nothing", type: "event", event: { type }, routes: [{ workflowId: flow }] }
    const made = await ask("POST", "/triggers", body)
    assert.strictEqual(made.status, 201, made.text)
    const put = await ask("PUT", `/triggers/${made.body.data.id}`, { event: { type } })
    assert.deepStrictEqual(put.body.warnings, made.body.warnings)
    await ask("DELETE", `/triggers/${made.body.data.id}`)
    return (made.body.warnings ?? []).map(({ code, path }: { code: string; path: string }) => `${path} ${code}`)
  }
  it("is saved with a warning", async () => {
    for (const type of ["connection.expirde", "execution.completed", "execution.*", "approval.requested", "webhook.*"])
      assert.deepStrictEqual(await warningsOf(type), ["event.type NEVER_EMITTED"], type)
    for (const type of ["slack.message", "stripe.*"])
      assert.deepStrictEqual(await warningsOf(type), ["event.type NEVER_EMITTED"], type)
    for (const type of ["connection.expired", "connection.*", "trigger.d*", "*", "conn*", "order.created", "order.*"])
      assert.deepStrictEqual(await warningsOf(type), [], type)
  })
})

it("a mistyped type or connector is refused or warned of with the closest one, also of the organisation's own", async () => {
  const typed = (type: string) =>
    ask("POST", "/triggers", { name: "mistyped", type: "event", event: { type }, routes: [{ workflowId: flow }] })
  assert.include((await typed("connection.expird")).body.warnings[0].message, "Did you mean connection.expired?")
  // A type that starts nothing is suggested to nobody.
  for (const type of ["approval.requested", "approval.requestet"])
    assert.notInclude((await typed(type)).body.warnings[0].message, "Did you mean")
  assert.include((await typed("approval.requested")).body.warnings[0].message, "are for webhook endpoints")
  const definition = {
    svcConnector: 1,
    slug: "own-ledger",
    name: "Ledger",
    kind: "crm",
    version: "1.0.0",
    baseUrl: "https://ledger.example",
    auth: [{ id: "open", type: "none" }],
    actions: [{ name: "get", version: 1, request: { method: "GET", path: "/" } }]
  }
  assert.strictEqual((await ask("POST", "/connectors", definition)).status, 201)
  const refused = await ask("POST", "/triggers", {
    name: "mistyped",
    type: "app_event",
    appEvent: { connector: "own-leger", event: "a" },
    routes: [{ workflowId: flow }]
  })
  assert.strictEqual(refused.status, 422, refused.text)
  assert.include(refused.text, "Did you mean own-ledger?")
  assert.strictEqual((await ask("POST", "/connectors/own-ledger/publish", {})).status, 200)
  assert.deepInclude((await typed("own-ledger.paid")).body.warnings[0], { code: "NEVER_EMITTED" })
})

describe("a webhook that answers with a result", () => {
  it("is saved with a warning if several routes may match", async () => {
    const warningsWith = async (routes: ReadonlyArray<object>) => {
      const body = { name: "answers", type: "webhook", webhook: { auth: "public", respond: "result" }, routes }
      const made = await ask("POST", "/triggers", body)
      assert.strictEqual(made.status, 201, made.text)
      return made.body.warnings?.map(({ code }: { readonly code: string }) => code)
    }
    assert.isUndefined(await warningsWith([{ workflowId: flow }]))
    assert.deepStrictEqual(
      await warningsWith([{ workflowId: flow }, { workflowId: flow, filter: { path: "$.n", op: "eq", value: 1 } }]),
      ["SEVERAL_ROUTES"]
    )
  })
})

describe("the answer to a replay", () => {
  it("has the runs that the new event starts", async () => {
    await trigger({ type: "event", event: { type: "paid.*" }, routes: [{ workflowId: flow }, { workflowId: flow }] })
    const { eventId } = (await ask("POST", "/events", { type: "paid.now" })).body.data
    const answer = await ask("POST", `/events/${eventId}/replay`, {})
    const { executionIds, eventId: again, replayOf } = answer.body.data
    assert.deepStrictEqual([answer.status, replayOf, executionIds.length], [202, eventId, 2], answer.text)
    const { deliveries } = (await ask("GET", `/events/${again}`)).body.data
    assert.deepStrictEqual(
      [...executionIds].sort(),
      deliveries.map((one: { executionId: string }) => one.executionId).sort()
    )
  })

  it("has none where none starts", async () => {
    const { eventId } = (await ask("POST", "/events", { type: "nobody.listens" })).body.data
    const answer = await ask("POST", `/events/${eventId}/replay`, {})
    assert.deepInclude(answer.body.data, { status: "ignored", executionIds: [] })
  })
})
