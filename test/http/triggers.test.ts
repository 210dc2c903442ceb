/** Triggers: what cannot fire is refused with its path; access keys, schedules, states and visibility. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TriggerReads } from "../../src/actors/ports/event/Triggers.js"
import type { OrganisationId } from "../../src/domain/Ids.js"
import { Digests } from "../../src/actors/ports/Digests.js"
import { WriterSql } from "../support/Sql.js"
import { connect, publishConnector, startSharedCalls, stopCalls, svc, workflow } from "../support/calls.js"

const event = { id: "contact.updated", delivery: "webhook" }
let flow: string
let connection: string
beforeAll(async () => {
  await startSharedCalls()
  await publishConnector("acme", "1.0.0", {
    events: [event],
    webhooks: [
      {
        id: "app",
        type: "app",
        eventKey: "$.type",
        account: { payload: "$.account", connection: "$.accountLabel" },
        verify: { secretName: "ACME" }
      }
    ]
  })
  flow = await workflow("return 1")
  connection = (await connect("acme", "canary_key_1")).id
})
afterAll(() => stopCalls())

const at = "/api/v1/triggers"
const ask = (method: string, path: string, body?: unknown, headers: { readonly [name: string]: string } = {}) =>
  svc.ask(method, `${at}${path}`, { key: svc.first.key, headers, ...(body === undefined ? {} : { body }) })
const create = (body: object) => ask("POST", "", { name: "A trigger", routes: [{ workflowId: flow }], ...body })
const made = async (body: object) => {
  const answer = await create(body)
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.body.data
}
const daily = { mode: "cron", cron: "0 9 * * *" }
const minutesAhead = (text: string) => (Date.parse(text) - Date.now()) / 60_000

describe("a trigger", () => {
  it("is created with the documented defaults, put back as it was read, changed at its version, and listed", async () => {
    const answer = await create({ type: "webhook", name: "Orders" })
    assert.strictEqual(answer.status, 201, answer.text)
    const { accessKey, ...view } = answer.body.data
    assert.match(view.id, /^trg_/)
    assert.match(accessKey, /^wak_[A-Za-z0-9_-]{32}$/)
    assert.deepInclude(view, { type: "webhook", status: "active", customerId: null, schedule: null, appEvent: null })
    assert.deepStrictEqual(view.delivery, {
      maxAttempts: 3,
      backoff: "exponential",
      initialMs: 1_000,
      coefficient: 2,
      maxMs: 60_000,
      jitter: 0.2
    })
    const id = `whk_${view.id.slice(4)}`
    assert.deepInclude(view.webhook, {
      id,
      auth: "access_key",
      accessKeyPrefix: accessKey.slice(0, 8),
      executionMode: "parallel",
      respond: "ack",
      verify: null
    })
    assert.isTrue(view.webhook.url.endsWith(`/api/v1/clients/${svc.first.spaceId}/webhooks/${id}`))
    assert.deepInclude(view.routes[0], { workflowId: flow, environment: "live", filter: null, payload: null })
    assert.strictEqual(answer.headers["cache-control"], "no-store")

    const same = await ask("PUT", `/${view.id}`, view)
    assert.strictEqual(same.status, 200, same.text)
    assert.deepStrictEqual(same.body.data, {
      ...view,
      accessKey: null,
      updatedAt: same.body.data.updatedAt,
      version: 2
    })
    const stale = await ask("PUT", `/${view.id}`, { name: "x" }, { "if-match": '"1"' })
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"])
    for (const [change, path] of [
      [{ webhook: { url: "https://other.example" } }, "webhook.url"],
      [{ type: "manual" }, "type"],
      [{ customerId: svc.first.customerId }, "customerId"]
    ] as const) {
      const refused = await ask("PUT", `/${view.id}`, change)
      assert.deepStrictEqual(
        [refused.status, refused.body.code, refused.body.details[0].path],
        [422, "IMMUTABLE_FIELD", path]
      )
    }
    const ids = async (query: string) => (await ask("GET", query)).body.data.map((one: { id: string }) => one.id)
    assert.include(await ids("?type=webhook&q=orders"), view.id)
    assert.notInclude(await ids("?type=schedule"), view.id)
    assert.strictEqual((await ask("DELETE", `/${view.id}`)).status, 204)
    assert.strictEqual((await ask("DELETE", `/${view.id}`)).status, 404)
    assert.notInclude(await ids(""), view.id)
  })

  it("keeps an access key as a hash, replaces it, and gets one when its webhook is no longer public", async () => {
    const { accessKey, id } = await made({ type: "webhook" })
    const stored = (text: string) => svc.run(Effect.map(Digests, ({ keyHash }) => keyHash(text)))
    const row = async () =>
      (
        await svc.run(
          Effect.flatMap(
            WriterSql,
            (sql) =>
              sql<{ readonly webhook: { accessKeyHash: string | null } }>`SELECT webhook FROM triggers WHERE id = ${id}`
          )
        )
      )[0]?.webhook.accessKeyHash
    assert.strictEqual(await row(), await stored(accessKey))
    const rotated = await ask("POST", `/${id}/rotate-key`)
    assert.strictEqual(rotated.status, 200, rotated.text)
    assert.notStrictEqual(rotated.body.data.accessKey, accessKey)
    assert.strictEqual(await row(), await stored(rotated.body.data.accessKey))
    assert.notInclude((await ask("GET", `/${id}`)).text, rotated.body.data.accessKey)

    const open = await ask("PUT", `/${id}`, { webhook: { auth: "public" } })
    assert.deepStrictEqual(
      [open.body.data.accessKey, open.body.data.webhook.accessKeyPrefix, await row()],
      [null, null, null]
    )
    assert.strictEqual((await ask("POST", `/${id}/rotate-key`)).body.code, "INVALID_STATE")
    const closed = await ask("PUT", `/${id}`, { webhook: { auth: "access_key" } })
    assert.match(closed.body.data.accessKey, /^wak_/)
    assert.strictEqual(await row(), await stored(closed.body.data.accessKey))
  })

  it("is found by the pipeline within a second of its change", async () => {
    const reads = await svc.run(TriggerReads)
    const organisation = svc.first.organisationId as OrganisationId
    const { id } = await made({ type: "event", event: { type: "connection.*" } })
    const matching = async (type: string) =>
      (await svc.run(reads.ofEvent(organisation, type))).map((one) => one.id as string)
    assert.include(await matching("connection.expired"), id)
    assert.notInclude(await matching("trigger.disabled"), id)
    await ask("POST", `/${id}/disable`)
    assert.notInclude(await matching("connection.expired"), id)
    assert.strictEqual(Option.getOrThrow(await svc.run(reads.byId(id))).status, "disabled")
    await ask("DELETE", `/${id}`)
    assert.isNotNull(Option.getOrThrow(await svc.run(reads.byId(id))).deletedAt)
    const app = await made({ type: "app_event", appEvent: { connector: "acme", event: "contact.updated" } })
    const found = await svc.run(reads.ofConnector(organisation, "acme", "contact.updated"))
    assert.include(
      found.map((one) => one.id as string),
      app.id
    )
    assert.lengthOf(await svc.run(reads.ofConnector(organisation, "acme", "contact.deleted")), 0)
  })
})

describe("a webhook's body", () => {
  it.each([
    ['{"order":{"notes":["a\\u0000b"]}}', "order.notes[0]", /^order\.notes\[0\] contains .*`\\u0000` in JSON/],
    ['{"order":"\\ud800"}', "order", /half of a surrogate pair/]
  ])("%s, valid JSON that cannot be stored, is refused with its path and what to do", async (raw, path, message) => {
    const { webhook } = await made({ type: "webhook", webhook: { auth: "public" } })
    const headers = { "content-type": "application/json" }
    const answer = await svc.ask("POST", new URL(webhook.url).pathname, { raw, headers })
    assert.deepStrictEqual(
      [answer.status, answer.body.details.at(-1).path, answer.body.details.at(-1).code],
      [400, path, "NOT_STORABLE"]
    )
    assert.match(answer.body.message, message)
  })
})

describe("a schedule", () => {
  it("shows when it fires next; disabling stops it, enabling and editing count from now on", async () => {
    const trigger = await made({
      type: "schedule",
      routes: [{ workflowId: flow, payload: { page: 1 } }],
      schedule: { mode: "interval", every: { n: 30 } }
    })
    assert.approximately(minutesAhead(trigger.stats.nextFireAt), 30, 1)
    assert.deepInclude(trigger.schedule, { overlap: "skip", catchUp: "one", timezone: "UTC", runOnCreate: false })
    const next = async (method: string, path: string, body?: unknown) => {
      const answer = await ask(method, `/${trigger.id}${path}`, body)
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body.data.stats.nextFireAt
    }
    const unchanged = await next("PUT", "", { schedule: trigger.schedule, description: "the same times" })
    assert.strictEqual(unchanged, trigger.stats.nextFireAt)
    const edited = await next("PUT", "", {
      schedule: { mode: "interval", every: { n: 2, unit: "hours" }, delayMinutes: 5 }
    })
    assert.approximately(minutesAhead(edited), 125, 1)
    assert.isNull(await next("POST", "/disable"))
    assert.isNull(await next("PUT", "", { schedule: { mode: "interval", every: { n: 10 } } }))
    assert.approximately(minutesAhead(await next("POST", "/enable")), 10, 1)
  })

  it("lists its next ten times, also while it is disabled", async () => {
    const trigger = await made({
      type: "schedule",
      schedule: { mode: "cron", cron: "30 2 * * *", timezone: "Europe/Berlin", delayMinutes: 5 }
    })
    const fires = async (id: string): Promise<ReadonlyArray<string>> => (await ask("GET", `/${id}/fires`)).body.data
    const listed = await fires(trigger.id)
    assert.lengthOf(listed, 10)
    assert.strictEqual(listed[0], trigger.stats.nextFireAt)
    const local = new Intl.DateTimeFormat("en-GB", { timeStyle: "short", timeZone: "Europe/Berlin" })
    for (const at of listed) assert.include(["02:35", "03:05"], local.format(new Date(at)))
    await ask("POST", `/${trigger.id}/disable`)
    assert.deepStrictEqual(await fires(trigger.id), listed)
    assert.deepStrictEqual(await fires((await made({ type: "webhook", webhook: { auth: "public" } })).id), [])
  })

  it("fires at its creation if asked to, after its delay", async () => {
    const trigger = await made({ type: "schedule", schedule: { ...daily, runOnCreate: true, delayMinutes: 2 } })
    assert.approximately(minutesAhead(trigger.stats.nextFireAt), 2, 1)
  })
})

describe("what cannot fire is refused with its path", () => {
  const route = { workflowId: "wf_000000000000" }
  const table: ReadonlyArray<readonly [name: string, body: () => object, path: string, code: string]> = [
    [
      "cron",
      () => ({ type: "schedule", schedule: { mode: "cron", cron: "0 0 30 2 *" } }),
      "schedule.cron",
      "NEVER_FIRES"
    ],
    [
      "zone",
      () => ({ type: "schedule", schedule: { ...daily, timezone: "Mars/Olympus" } }),
      "schedule.timezone",
      "INVALID_VALUE"
    ],
    ["settings", () => ({ type: "schedule" }), "schedule", "REQUIRED"],
    ["others' settings", () => ({ type: "manual", schedule: daily }), "schedule", "NOT_ALLOWED"],
    [
      "payload",
      () => ({ type: "webhook", routes: [{ workflowId: flow, payload: {} }] }),
      "routes[0].payload",
      "NOT_ALLOWED"
    ],
    [
      "filter",
      () => ({
        type: "webhook",
        routes: [{ workflowId: flow, filter: { all: [{ path: "a..b", op: "eq", value: 1 }] } }]
      }),
      "routes[0].filter.all[0].path",
      "INVALID_PATH"
    ],
    [
      "pattern",
      () => ({ type: "webhook", routes: [{ workflowId: flow, filter: { path: "a", op: "matches", value: "(a" } }] }),
      "routes[0].filter.value",
      "INVALID_PATTERN"
    ],
    [
      "workflow",
      () => ({ type: "webhook", routes: [{ workflowId: flow }, route] }),
      "routes[1].workflowId",
      "NOT_FOUND"
    ],
    [
      "environment",
      () => ({ type: "webhook", routes: [{ workflowId: flow, environment: "staging" }] }),
      "routes[0].environment",
      "NOT_FOUND"
    ],
    [
      "path",
      () => ({ type: "webhook", webhook: { deduplicationKey: "a[" } }),
      "webhook.deduplicationKey",
      "INVALID_PATH"
    ],
    [
      "partition",
      () => ({ type: "webhook", webhook: { partitionKey: "$.id" } }),
      "webhook.partitionKey",
      "NOT_ALLOWED"
    ],
    [
      "secret",
      () => ({ type: "webhook", webhook: { verify: { preset: "github" } } }),
      "webhook.verify.secretName",
      "REQUIRED"
    ],
    [
      "unknown secret",
      () => ({ type: "webhook", webhook: { verify: { preset: "github", secretName: "MISSING" } } }),
      "webhook.verify.secretName",
      "NOT_FOUND"
    ],
    [
      "client secret",
      () => ({ type: "webhook", webhook: { verify: { scheme: "standard", clientSecret: true } } }),
      "webhook.verify.clientSecret",
      "NOT_ALLOWED"
    ],
    ["event type", () => ({ type: "event", event: { type: "a.*.b" } }), "event.type", "INVALID_VALUE"],
    [
      "connector",
      () => ({ type: "app_event", appEvent: { connector: "none", event: "x" } }),
      "appEvent.connector",
      "NOT_FOUND"
    ],
    [
      "event",
      () => ({ type: "app_event", appEvent: { connector: "acme", event: "x" } }),
      "appEvent.event",
      "NOT_FOUND"
    ],
    [
      "connection",
      () => ({
        type: "app_event",
        appEvent: { connector: "acme", event: "contact.updated", connectionId: "conn_00000000000000000000000000" }
      }),
      "appEvent.connectionId",
      "NOT_FOUND"
    ],
    ["customer", () => ({ type: "webhook", customerId: "ref:nobody" }), "customerId", "NOT_FOUND"]
  ]
  it.each(table.map(([name, body, path, code]) => ({ name, body, path, code })))(
    "$name",
    async ({ body, code, path }) => {
      const answer = await create(body())
      assert.deepStrictEqual(
        [answer.status, answer.body.code, answer.body.details?.[0]?.path, answer.body.details?.[0]?.code],
        [422, "VALIDATION_FAILED", path, code],
        answer.text
      )
    }
  )

  it("an event trigger without an active connection of its connector", async () => {
    await publishConnector("gamma", "1.0.0", {
      events: [event],
      webhooks: [
        {
          id: "app",
          type: "app",
          eventKey: "$.type",
          account: { payload: "$.account", connection: "$.accountLabel" },
          verify: { secretName: "ACME" }
        }
      ]
    })
    const answer = await create({ type: "app_event", appEvent: { connector: "gamma", event: "contact.updated" } })
    assert.deepStrictEqual(
      [answer.status, answer.body.code, answer.body.connector],
      [409, "CONNECTION_REQUIRED", "gamma"]
    )
  })

  it("another connector of an app event", async () => {
    const { id } = await made({
      type: "app_event",
      appEvent: { connector: "acme", event: "contact.updated", connectionId: connection }
    })
    const answer = await ask("PUT", `/${id}`, { appEvent: { connector: "gamma", event: "contact.updated" } })
    assert.deepStrictEqual(
      [answer.status, answer.body.code, answer.body.details[0].path],
      [422, "IMMUTABLE_FIELD", "appEvent.connector"]
    )
  })

  it("a workflow of one customer by a trigger for all of them, or for another", async () => {
    const own = await svc.ask("POST", "/api/v1/workflows", {
      key: svc.first.key,
      body: {
        name: "of-one-customer",
        form: "code",
        code: "export default async () => 1",
        customerId: svc.first.customerId
      }
    })
    const routes = [{ workflowId: own.body.data.id }]
    assert.strictEqual((await create({ type: "webhook", routes })).body.details[0].path, "routes[0].workflowId")
    await made({ type: "webhook", routes, customerId: svc.first.customerId })
  })
})
