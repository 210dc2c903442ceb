/** Events over the public interface: what their senders are told, which runs they start, and what becomes of the rest. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { gzipSync } from "node:zlib"
import { eventually } from "../support/eventually.js"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { announce } from "../support/LogExpectations.js"
import { startService } from "../support/Service.js"
import { webhookSends } from "../support/webhookSends.js"
import { worldOf } from "../support/World.js"

const world = worldOf({ allow: true })
const call = (method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>) =>
  world.api().call(method, `/api/v1${path}`, body, headers)

let echo = ""
let failing = ""
let named = 0

beforeAll(async () => {
  await world.start()
  echo = await world
    .api()
    .workflow("echo", "instant", "export default async (ctx) => ({ got: ctx.input, of: ctx.event?.type })")
  failing = await world.api().workflow("failing", "instant", "export default async () => { throw new TypeError('no') }")
})
afterAll(() => world.stop())

interface Trigger {
  readonly id: string
  readonly path: string
  readonly key: string
  readonly routes: ReadonlyArray<{ readonly id: string }>
}

const trigger = async (routes: ReadonlyArray<object>, webhook: object = {}, more: object = {}): Promise<Trigger> => {
  const made = await call("POST", "/triggers", {
    type: "webhook",
    name: `trigger ${(named += 1)}`,
    webhook: { auth: "public", ...webhook },
    routes,
    ...more
  })
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  const { accessKey, id, routes: stored, webhook: settings } = made.body.data
  return { id, path: new URL(settings.url).pathname, key: accessKey, routes: stored }
}
const { event, send, settled } = webhookSends(world)
const deadLettersOf = async (eventId: string) =>
  (await call("GET", "/dlq?page_size=200")).body.data.filter((one: { eventId: string }) => one.eventId === eventId)

describe("a webhook", () => {
  it("answers 202 after the commit, and its event leads to the run", async () => {
    const { path } = await trigger([{ workflowId: echo }])
    const sent = await send(path, { total: 12 })
    assert.deepStrictEqual([sent.status, sent.body.status], [202, "accepted"])
    const found = await settled(sent.body.eventId)
    assert.strictEqual(found.status, "delivered")
    const ended = await world.api().ended(found.deliveries[0].executionId)
    assert.deepInclude(ended.output, { got: { total: 12 } })
    assert.deepInclude(ended.trigger, { type: "webhook", eventId: sent.body.eventId })
    assert.strictEqual(ended.priority, 2)
  })

  it("recognises a repetition by its deduplication key and by the id of the delivery", async () => {
    const byKey = await trigger([{ workflowId: echo }], { deduplicationKey: "order.id" })
    const first = await send(byKey.path, { order: { id: 7 } })
    const again = await send(byKey.path, { order: { id: 7 }, retried: true })
    assert.deepStrictEqual([again.status, again.body], [200, { eventId: first.body.eventId, status: "duplicate" }])
    const byId = await trigger([{ workflowId: echo }])
    const one = await send(byId.path, {}, { "webhook-id": "msg_1" })
    const other = await send(byId.path, {}, { "webhook-id": "msg_1" })
    assert.deepStrictEqual([other.status, other.body.eventId], [200, one.body.eventId])
    const two = [await send(byId.path, {}), await send(byId.path, {})]
    assert.deepStrictEqual(
      two.map(({ body }) => body.status),
      ["accepted", "accepted"],
      "equal payloads without an id are two events"
    )
  })

  it("says that no route takes the event", async () => {
    const { path } = await trigger([{ workflowId: echo, filter: { path: "total", op: "gt", value: 10 } }])
    const sent = await send(path, { total: 3 })
    assert.deepStrictEqual([sent.status, sent.body.status], [202, "ignored"])
    assert.strictEqual((await event(sent.body.eventId)).status, "ignored")
  })

  it("refuses who has no access key, and records that without the payload", async () => {
    const { id, key, path } = await trigger([{ workflowId: echo }], { auth: "access_key" })
    for (const headers of [{}, { "x-svc-access-key": "wak_wrong" }])
      assert.strictEqual((await send(path, { secret: "canary-payload" }, headers)).status, 401)
    assert.strictEqual((await send(path, {}, { "x-svc-access-key": key })).status, 202)
    const { data } = (await call("GET", `/events?trigger_id=${id}&status=rejected`)).body
    assert.lengthOf(data, 2)
    const refused = await event(data[0].id)
    assert.deepStrictEqual([refused.reason, refused.payload], ["access_key", null])
    assert.notInclude(JSON.stringify(refused), "wak_wrong")
  })

  it("takes forms and compressed bodies, and refuses others with what to send", async () => {
    const { path } = await trigger([{ workflowId: echo }])
    const form = await send(path, "a=1&b=x+y&b=z", { "content-type": "application/x-www-form-urlencoded" })
    assert.deepStrictEqual((await settled(form.body.eventId)).payload, { a: "1", b: ["x y", "z"] })
    const packed = gzipSync(JSON.stringify({ packed: true }))
    const inflated = await send(path, packed, { "content-encoding": "gzip" })
    assert.deepStrictEqual((await settled(inflated.body.eventId)).payload, { packed: true })
    const xml = await send(path, "<a/>", { "content-type": "text/xml" })
    assert.strictEqual(xml.status, 415)
    assert.include(xml.body.message, "application/json or application/x-www-form-urlencoded, not text/xml")
    assert.strictEqual((await send(path, "{", {})).status, 400)
    assert.strictEqual((await send(path, packed, { "content-encoding": "zstd" })).status, 400)
    const bomb = await send(path, gzipSync(Buffer.alloc(20_000_000, "1")), { "content-encoding": "gzip" })
    assert.deepStrictEqual([bomb.status, /more than 20 times as large/.test(bomb.body.message)], [413, true])
  })

  it("that is unknown is 404, that is disabled 409, and a challenge is echoed as text", async () => {
    const { id, path } = await trigger([{ workflowId: echo }])
    assert.strictEqual((await send(`${path.slice(0, -1)}${path.endsWith("0") ? "1" : "0"}`, {})).status, 404)
    const checked = await fetch(`${world.api().dev.baseUrl}${path}?hub.challenge=abc`)
    assert.deepStrictEqual([checked.status, await checked.text()], [200, "abc"])
    assert.include(checked.headers.get("content-type") ?? "", "text/plain")
    assert.strictEqual((await call("POST", `/triggers/${id}/disable`, {})).status, 200)
    assert.strictEqual((await send(path, {})).status, 409)
  })

  it("that responds with the result answers like execute", async () => {
    const { path } = await trigger([{ workflowId: echo }], { respond: "result" })
    const sent = await send(path, { n: 1 })
    assert.strictEqual(sent.status, 200)
    assert.deepInclude(sent.body, { got: { n: 1 } })
    assert.match(sent.headers.get("x-svc-event-id") ?? "", /^evt_/)
  })

  it("that responds with the result says so of one route, whatever its tier, and accepts when there are two", async () => {
    const standard = await world
      .api()
      .workflow("standard", "standard", "export default async (ctx) => ({ got: ctx.input })")
    const failing = await world
      .api()
      .workflow("fails_at_once", "instant", "export default async () => { throw new Error('no') }")
    const answers = async (routes: ReadonlyArray<string>) => {
      const { path } = await trigger(
        routes.map((workflowId) => ({ workflowId })),
        { respond: "result" }
      )
      const { body, status } = await send(path, { n: 1 })
      return [status, body.got?.n ?? body.error?.message ?? body.status]
    }
    assert.deepStrictEqual(await answers([standard]), [200, 1])
    assert.deepStrictEqual(await answers([failing]), [200, "no"])
    assert.deepStrictEqual(await answers([echo, standard]), [202, "accepted"])
  })

  it("lets headers choose a customer only behind its access key", async () => {
    const { customerId } = world.api().dev
    const open = await trigger([{ workflowId: echo }])
    const keyed = await trigger([{ workflowId: echo }], { auth: "access_key" })
    const naming = { "x-end-org-id": customerId }
    const forged = await settled((await send(open.path, {}, naming)).body.eventId)
    assert.isNull(forged.customerId)
    const honest = await settled(
      (await send(keyed.path, {}, { ...naming, "x-svc-access-key": keyed.key })).body.eventId
    )
    assert.strictEqual(honest.customerId, customerId)
  })
})

describe("a sequential webhook", () => {
  it("starts its runs in the order of arrival, one after the other, also over a crash", async () => {
    const slow = await world.api().workflow(
      "slow",
      "standard",
      `export default async (ctx) => {
        await (await fetch("${world.systems().url}/begin/" + ctx.input.lane + "/" + ctx.input.n)).text()
        await new Promise((done) => setTimeout(done, 30))
        await (await fetch("${world.systems().url}/end/" + ctx.input.lane + "/" + ctx.input.n)).text()
      }`
    )
    const { path } = await trigger([{ workflowId: slow }], { executionMode: "sequential", partitionKey: "lane" })
    const lanes = ["a", "b"]
    const ids: Array<string> = []
    for (let n = 0; n < 12; n++)
      for (const lane of lanes) {
        ids.push((await send(path, { lane, n })).body.eventId)
        if (n === 5 && lane === "b") await world.crash()
      }
    for (const id of ids) {
      const { deliveries } = await settled(id)
      await world.api().ended(deliveries[0].executionId)
    }
    for (const lane of lanes) {
      const seen = world
        .systems()
        .requests.map(({ url }) => url.split("/").slice(1))
        .filter(([, of]) => of === lane)
        .map(([what, , n]) => `${what} ${n}`)
        // A call in flight at the crash is made again under its key.
        .filter((one, at, all) => one !== all[at - 1])
      assert.deepStrictEqual(seen, Array.from({ length: 12 }, (_, n) => [`begin ${n}`, `end ${n}`]).flat())
    }
  })
})

describe("an event with several routes", () => {
  it("starts all of them, and a route that cannot start loses no other", async () => {
    const unpublished = (
      await call("POST", "/workflows", { name: "draft_only", form: "code", code: "export default async () => 1" })
    ).body.data.id
    const { path, routes } = await trigger([{ workflowId: echo }, { workflowId: unpublished }, { workflowId: echo }])
    const { eventId } = (await send(path, { n: 1 })).body
    const found = await settled(eventId)
    assert.deepStrictEqual(found.deliveries.map(({ status }: { status: string }) => status).toSorted(), [
      "failed",
      "started",
      "started"
    ])
    const letters = await deadLettersOf(eventId)
    assert.lengthOf(letters, 1)
    assert.strictEqual(letters[0].error.code, "WORKFLOW_NOT_PUBLISHED")
    // Once the cause is gone, only the route that failed is replayed.
    assert.strictEqual((await call("POST", `/workflows/${unpublished}/publish`, {})).status, 200)
    const replayed = await call("POST", `/dlq/${letters[0].id}/replay`, {})
    assert.strictEqual(replayed.status, 202, JSON.stringify(replayed.body))
    const second = await settled(replayed.body.data.eventId)
    assert.deepStrictEqual(
      second.deliveries.map(({ route }: { route: string }) => route),
      [routes[1]?.id]
    )
    assert.strictEqual(second.replayOf, eventId)
    assert.strictEqual((await call("POST", `/dlq/${letters[0].id}/replay`, {})).status, 409)
  })
})

describe("a failed run of an event", () => {
  it("is a dead letter with payload, error and attempts, and the event counts as executed", async () => {
    const { path } = await trigger([{ workflowId: failing }])
    const { eventId } = (await send(path, { order: 1, apiKey: "canary-1" })).body
    assert.strictEqual((await settled(eventId)).status, "delivered")
    const [letter] = await eventually(
      () => deadLettersOf(eventId),
      (found) => found.length > 0
    )
    const detail = (await call("GET", `/dlq/${letter.id}`)).body.data
    assert.deepStrictEqual(detail.payload, { order: 1, apiKey: "[redacted]" })
    assert.deepInclude(detail.error, { name: "TypeError", message: "no", code: "EXECUTION_FAILED" })
    const byCode = (await call("GET", "/dlq?code=EXECUTION_FAILED")).body.data
    assert.include(
      byCode.map(({ id }: { id: string }) => id),
      letter.id
    )
    assert.match(detail.executionId, /^exec_/)
    const discarded = await call("DELETE", `/dlq/${letter.id}`)
    assert.strictEqual(discarded.status, 204)
    assert.strictEqual((await call("DELETE", `/dlq/${letter.id}`)).status, 404)
    assert.strictEqual((await call("GET", `/dlq/${letter.id}`)).body.data.status, "discarded")
    assert.strictEqual((await call("POST", `/dlq/${letter.id}/replay`, {})).status, 409)
  })

  it("is replayed with the exact payload, many at a rate, and goes on after a crash", async () => {
    const name = `later_${(named += 1)}`
    const workflow = await world
      .api()
      .workflow(name, "instant", "export default async () => { throw new Error('not yet') }")
    const { id, path } = await trigger([{ workflowId: workflow }])
    const ids: Array<string> = []
    for (let n = 0; n < 12; n++) ids.push((await send(path, { n, token: `canary-${n}` })).body.eventId)
    const ofTrigger = async () => (await call("GET", `/dlq?trigger_id=${id}&page_size=200`)).body.data
    await eventually(ofTrigger, (found) => found.length === 12)
    await call("PUT", `/workflows/${workflow}`, { code: "export default async (ctx) => ctx.input.token" })
    assert.strictEqual((await call("POST", `/workflows/${workflow}/publish`, {})).status, 200)
    const job = await call("POST", "/dlq/replay", { filter: { triggerId: id }, ratePerSecond: 4 })
    assert.strictEqual(job.status, 202, JSON.stringify(job.body))
    await eventually(
      async () => (await call("GET", `/dlq-replays/${job.body.data.id}`)).body.data,
      ({ replayed }) => replayed > 0
    )
    await world.crash()
    const finished = await eventually(
      async () => (await call("GET", `/dlq-replays/${job.body.data.id}`)).body.data,
      ({ status }) => status === "finished"
    )
    assert.deepStrictEqual([finished.replayed, finished.failed], [12, 0])
    const executions = (await call("GET", `/executions?workflow_id=${workflow}&status=completed&page_size=200`)).body
      .data
    const outputs = await Promise.all(
      executions.map(async ({ id: one }: { id: string }) => (await world.api().ended(one)).output)
    )
    assert.sameMembers(
      outputs,
      ids.map((_, n) => `canary-${n}`)
    )
  })
})

describe("an event for a suspended customer", () => {
  it("is held, and starts its run once the customer is active again", async () => {
    const customer = (await call("POST", "/customers", { name: `held ${(named += 1)}` })).body.data.id
    const { path } = await trigger([{ workflowId: echo }], {}, { customerId: customer })
    assert.strictEqual((await call("PUT", `/customers/${customer}`, { status: "suspended" })).status, 200)
    const sent = await send(path, { n: 1 })
    assert.deepStrictEqual([sent.status, sent.body.status], [202, "held"])
    assert.deepInclude(await event(sent.body.eventId), { status: "held", reason: "customer_suspended" })
    assert.strictEqual((await call("PUT", `/customers/${customer}`, { status: "active" })).status, 200)
    const found = await eventually(
      () => event(sent.body.eventId),
      ({ status }) => status === "delivered"
    )
    assert.isNull(found.reason)
  })
})

describe("an injected event", () => {
  it("starts the triggers of its type and of a prefix of it", async () => {
    const type = `order.created.${(named += 1)}`
    for (const pattern of [type, "order.*", "invoice.*"]) {
      const made = await call("POST", "/triggers", {
        type: "event",
        name: `event ${(named += 1)}`,
        event: { type: pattern },
        routes: [{ workflowId: echo }]
      })
      assert.strictEqual(made.status, 201, JSON.stringify(made.body))
    }
    const injected = await call("POST", "/events", { type, payload: { n: 1 }, deduplicationKey: type })
    assert.deepStrictEqual([injected.status, injected.body.data.status], [202, "accepted"])
    const found = await settled(injected.body.data.eventId)
    assert.lengthOf(found.deliveries, 2)
    assert.strictEqual(found.priority, 1)
    const again = await call("POST", "/events", { type, payload: { n: 2 }, deduplicationKey: type })
    assert.deepStrictEqual(again.body.data, { eventId: injected.body.data.eventId, status: "duplicate" })
  })
})

// The command prints text, and the refusals that this test asks for.
announce(/^[^{]/)

describe("reconciliation", () => {
  const verifyEvents = async (...options: ReadonlyArray<string>) => {
    const one = startService({ dataDir: world.dataDir, command: ["verify-events", ...options] })
    return { code: await one.ended, output: one.output() }
  }
  const reconciled = async () => (await call("GET", "/events/reconciliation")).body.data

  it("accounts for every event, and names one whose row was removed by hand", async () => {
    const before = await reconciled()
    const { accepted, dead, duplicate, executed, held, ignored, unaccounted, waiting } = before
    assert.deepStrictEqual(unaccounted, [])
    assert.strictEqual(accepted, executed + ignored + held + waiting + dead + duplicate)
    const { path } = await trigger([{ workflowId: echo }], { deduplicationKey: "n" })
    const { eventId } = (await send(path, { n: 1 })).body
    await settled(eventId)
    const database = await connectEmbedded(world.dataDir)
    await database.query("DELETE FROM event_records WHERE id = $1", [eventId])
    const after = await reconciled()
    assert.deepStrictEqual([after.unaccounted, after.accepted], [[eventId], accepted + 1])
    const { code, output } = await verifyEvents("--since", "1h")
    assert.deepStrictEqual([code, output.includes(eventId)], [1, true], output)
    await database.query("DELETE FROM claims WHERE target_id = $1", [eventId])
    assert.deepStrictEqual((await reconciled()).unaccounted, [eventId], "its run remembers it")
    await database.query("DELETE FROM executions WHERE record->'trigger'->>'eventId' = $1", [eventId])
    await database.query("DELETE FROM event_counts WHERE minute = svc_event_minute($1)", [eventId])
    await database.end()
    const right = await verifyEvents()
    assert.deepStrictEqual([right.code, / 0 unaccounted for/.test(right.output)], [0, true], right.output)
    assert.strictEqual((await verifyEvents("--since", "soon")).code, 1)
  })

  it("counts more events than one statement looks at, and names the only one whose run is gone", async () => {
    const database = await connectEmbedded(world.dataDir)
    await database.query(
      `INSERT INTO event_records (id, class, org, space, source, type, priority, status, received_at, record, finished_at, deliveries)
       SELECT svc_ulid_bound('evt', now() - interval '2 hours') || lpad(n::text, 16, '0'), r.class, r.org, r.space, 'webhook',
         'many', 2, CASE WHEN n = 12345 THEN 'delivered' ELSE 'ignored' END, now(), '{}', now(),
         CASE WHEN n = 12345 THEN '[{"executionId":"exec_none"}]'::json END
       FROM generate_series(1, 25000) n, (SELECT * FROM event_records LIMIT 1) r`
    )
    const hour = 3_600_000
    const [from, to] = [-3, -1].map((hours) => new Date(Date.now() + hours * hour).toISOString())
    const { data } = (await call("GET", `/events/reconciliation?from=${from}&to=${to}`)).body
    assert.deepStrictEqual([data.complete, data.accepted, data.ignored, data.executed], [true, 25_000, 24_999, 1])
    assert.match(data.unaccounted.join(), /^evt_\w{10}0{11}12345$/)
    await database.query("DELETE FROM event_records WHERE type = 'many'")
    await database.end()
  })
})
