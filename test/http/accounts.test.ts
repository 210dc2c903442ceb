/** Organisations with a parent: what they come with, who decides about them, and how they share their parent's plan. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
beforeAll(async () => {
  svc = await start({ SVC_DEFAULT_PLAN: "growth" })
})
afterAll(() => svc.stop())

const target = "/api/v1/organizations"
type Asked = Parameters<Running["ask"]>[2]

/** An answer, or a part of one. */
type Members = Awaited<ReturnType<Running["ask"]>>["body"]

/** A client of one key. */
const clientOf =
  (key: string) =>
  (method: string, path: string, body?: unknown, asked: Asked = {}) =>
    svc.ask(method, path, { key, ...(body === undefined ? {} : { body }), ...asked })

let made = 0
/** A parent with one child, and clients of both. */
const family = async (plan: "starter" | "growth" | "unlimited" = "growth", body: object = {}) => {
  const parent = await svc.organisation(`Parent ${(made += 1)}`, plan)
  const ask = clientOf(parent.key)
  const answer = await ask("POST", target, { name: "Child", ...body })
  assert.strictEqual(answer.status, 201, answer.text)
  const child = answer.body.data
  return { parent, ask, child, askChild: clientOf(child.apiKey), answer }
}
const code = (name: string) => ({ name, form: "code", code: "export default async () => 1" })
const codeOf = ({ body, status }: { readonly status: number; readonly body: Members }) => [status, body.code]
const countOf = (answers: ReadonlyArray<{ readonly status: number }>, status: number) =>
  answers.filter((one) => one.status === status).length

describe("an organisation with a parent", () => {
  it("comes with a workspace, roles, environments and a key that is shown once", async () => {
    const { answer, ask, askChild, child, parent } = await family("growth", { teams: ["Sales", "Support"] })
    assert.deepInclude(child, {
      name: "Child",
      parentId: parent.organisationId,
      plan: "growth",
      status: "active",
      timezone: "UTC",
      settings: { codeEditing: false, dlqAutoReplay: false }
    })
    assert.strictEqual(answer.headers["cache-control"], "no-store")
    const names = async (path: string, member = "name") =>
      (await askChild("GET", path)).body.data.map((one: Record<string, string>) => one[member]).sort()
    assert.deepStrictEqual(await names("/api/v1/workspaces", "id"), [child.spaceId])
    assert.deepStrictEqual(await names("/api/v1/environments", "slug"), ["live", "test"])
    assert.deepStrictEqual(await names("/api/v1/roles"), [
      "admin",
      "developer",
      "end_user",
      "operator",
      "owner",
      "viewer"
    ])
    assert.deepStrictEqual(await names("/api/v1/api-keys", "id"), [child.apiKeyId])
    assert.deepStrictEqual(await names(`${target}?kind=team`), ["Sales", "Support"])
    const trail = (await ask("GET", "/api/v1/audit?action=organisation.create")).text
    assert.include(trail, child.id)
    assert.notInclude(trail, child.apiKey)
    // Another child may have the name: its slug is its own.
    const twin = (await ask("POST", target, { name: "Child" })).body.data
    assert.notStrictEqual(twin.slug, child.slug)
  })

  it("has records of its own, which its parent does not see, and sees none of its parent's", async () => {
    const { ask, askChild, child, parent } = await family()
    const customer = (await askChild("POST", "/api/v1/customers", { name: "Theirs" })).body.data
    assert.deepStrictEqual(codeOf(await ask("GET", `/api/v1/customers/${customer.id}`)), [404, "NOT_FOUND"])
    assert.deepStrictEqual(codeOf(await askChild("GET", `/api/v1/customers/${parent.customerId}`)), [404, "NOT_FOUND"])
    assert.deepStrictEqual(codeOf(await askChild("GET", `${target}/${parent.organisationId}`)), [404, "NOT_FOUND"])
    const listed = async (client: typeof ask) => (await client("GET", target)).body.data.map(({ id }: Members) => id)
    assert.deepStrictEqual(await listed(ask), [child.id, parent.organisationId])
    assert.deepStrictEqual(await listed(askChild), [child.id])
  })

  it("writes code only if its parent lets it", async () => {
    const { ask, askChild, child } = await family()
    const refused = await askChild("POST", "/api/v1/workflows", code("mine"))
    assert.deepStrictEqual([refused.status, refused.body.details[0].code], [403, "CODE_EDITING_DISABLED"])
    const own = await askChild("PUT", `${target}/${child.id}`, { settings: { codeEditing: true } })
    assert.deepStrictEqual([own.status, own.body.details[0].path], [403, "settings.codeEditing"])
    const lets = await ask("PUT", `${target}/${child.id}`, { settings: { codeEditing: true } })
    assert.strictEqual(lets.status, 200, lets.text)
    const saved = await askChild("POST", "/api/v1/workflows", code("mine"))
    assert.strictEqual(saved.status, 201, saved.text)
    const asked = await family("growth", { settings: { codeEditing: true } })
    assert.strictEqual((await asked.askChild("POST", "/api/v1/workflows", code("mine"))).status, 201)
  })

  it("is changed by its parent and itself, and by nobody else; its plan is its parent's", async () => {
    const { ask, askChild, child } = await family()
    const at = `${target}/${child.id}`
    assert.strictEqual((await askChild("PUT", at, { timezone: "Europe/Berlin" })).status, 200)
    assert.strictEqual((await ask("PUT", at, { name: "Renamed" })).status, 200)
    for (const client of [ask, askChild]) {
      const refused = await client("PUT", at, { plan: "enterprise" })
      assert.deepStrictEqual([refused.status, refused.body.details[0].path], [403, "plan"])
    }
    assert.deepStrictEqual(codeOf(await askChild("PUT", at, { status: "suspended" })), [403, "FORBIDDEN"])
    const stranger = clientOf((await family()).parent.key)
    assert.deepStrictEqual(codeOf(await stranger("PUT", at, { name: "Theirs" })), [404, "NOT_FOUND"])
    // An environment of the child, not of its parent.
    await ask("POST", "/api/v1/environments", { name: "Staging", slug: "staging" })
    assert.deepStrictEqual(codeOf(await ask("PUT", at, { defaultEnvironment: "staging" })), [422, "VALIDATION_FAILED"])
    const environment = await askChild("POST", "/api/v1/environments", { name: "Own", slug: "own" })
    assert.strictEqual(environment.status, 201, environment.text)
    assert.strictEqual((await ask("PUT", at, { defaultEnvironment: "own" })).status, 200)
  })

  it("is suspended with its parent, and keeps the state that its parent gave it", async () => {
    const { ask, askChild, child, parent } = await family()
    const other = (await ask("POST", target, { name: "Other" })).body.data
    const set = async (id: string, status: string) => ask("PUT", `${target}/${id}`, { status })
    assert.strictEqual((await set(other.id, "suspended")).status, 200)
    assert.strictEqual((await set(parent.organisationId, "suspended")).status, 200)
    const refused = await askChild("GET", "/api/v1/customers")
    assert.deepStrictEqual(codeOf(refused), [403, "FORBIDDEN"])
    assert.deepStrictEqual(codeOf(await set(other.id, "active")), [409, "CONFLICT"])
    assert.deepStrictEqual(codeOf(await ask("POST", target, { name: "New" })), [403, "FORBIDDEN"])
    assert.strictEqual((await set(parent.organisationId, "active")).status, 200)
    const states = (await ask("GET", target)).body.data
    assert.deepStrictEqual(
      [other.id, child.id].map((id) => states.find((one: Members) => one.id === id).status),
      ["suspended", "active"]
    )
    const again = await askChild("GET", "/api/v1/customers")
    assert.strictEqual(again.status, 200, again.text)
  })

  it("has a first key with no more than its creator has", async () => {
    const { ask } = await family()
    const permissions = { settings: ["read", "manage"], workflows: ["read"] }
    const bounds = {
      preset: "custom",
      permissions,
      allowedIps: ["127.0.0.1/32"],
      rateLimitPerMinute: 40,
      expires: "30d"
    }
    const creator = (await ask("POST", "/api/v1/api-keys", { name: "c", mode: "live", ...bounds })).body.data
    const { body } = await clientOf(creator.key)("POST", target, { name: "Narrow" })
    const [key] = (await clientOf(body.data.apiKey)("GET", "/api/v1/api-keys")).body.data
    assert.deepInclude(key, { mode: "live", allowedIps: ["127.0.0.1/32"], rateLimitPerMinute: 40 })
    assert.deepStrictEqual([key.permissions.settings, key.permissions.workflows], [["read", "manage"], ["read"]])
    assert.isAtLeast(Date.now(), Date.parse(key.expiresAt) - 31 * 86_400_000)
    assert.deepStrictEqual(codeOf(await clientOf(body.data.apiKey)("POST", "/api/v1/workflows", code("w"))), [
      403,
      "FORBIDDEN"
    ])
    const test = (await ask("POST", "/api/v1/api-keys", { name: "t", preset: "full_access" })).body.data
    const headers = { "x-svc-test-mode": "true" }
    const born = await clientOf(test.key)("POST", target, { name: "Tested" }, { headers })
    assert.match(born.body.data.apiKey, /^svk_test_/)
  })

  it("has none below it, is of the calling organisation, and takes only members of its kind", async () => {
    const { ask, askChild, child } = await family()
    const refused = await askChild("POST", target, { name: "Grandchild" })
    assert.deepStrictEqual([refused.status, refused.body.code], [409, "CONFLICT"])
    const foreign = await ask("POST", target, { name: "A", parentId: child.id })
    assert.deepStrictEqual([foreign.status, foreign.body.details[0].path], [422, "parentId"])
    for (const [body, path] of [
      [{ name: "A", memberIds: [] }, "memberIds"],
      [{ kind: "team", name: "A", slug: "a" }, "slug"],
      [{ kind: "project", name: "A", teams: [] }, "teams"],
      [{ kind: "company", name: "A" }, "kind"],
      [{ name: "" }, "name"],
      [{ name: "A", timezone: "Mars/Olympus" }, "timezone"]
    ] as const) {
      const answer = await ask("POST", target, body)
      assert.deepStrictEqual([answer.status, answer.body.details?.[0].path], [422, path], answer.text)
    }
    const taken = await ask("POST", target, { name: "A", slug: child.slug })
    assert.deepStrictEqual([taken.status, taken.body.code], [409, "CONFLICT"])
    assert.include(taken.body.message, "slug")
  })

  it("is one of at most 100, however many are made at once", async () => {
    const { ask, parent } = await family("unlimited")
    await svc.sql(`INSERT INTO organisations (id, name, slug, plan, parent_id)
      SELECT svc_new_id('org'), n::text, 'many-' || n, 'unlimited', '${parent.organisationId}' FROM generate_series(1, 97) n`)
    const answers = await Promise.all([1, 2, 3, 4].map((n) => ask("POST", target, { name: `Last ${n}` })))
    assert.deepStrictEqual([countOf(answers, 201), countOf(answers, 403)], [2, 2])
    const refused = answers.find(({ status }) => status === 403)
    assert.deepInclude(refused?.body.quota, { dimension: "organisations", limit: 100, used: 100 })
  })
})

describe("the organisations of an account share", () => {
  it("the records that the plan allows", async () => {
    const { ask, askChild, child, parent } = await family("starter")
    const newKey = (client: typeof ask, n: number) =>
      client("POST", "/api/v1/api-keys", { name: `k${n}`, mode: "live" })
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].flatMap((n) => [newKey(ask, n), newKey(askChild, n)]))
    assert.deepStrictEqual([countOf(answers, 201), countOf(answers, 403)], [8, 4])
    const refused = answers.find(({ status }) => status === 403)
    assert.deepInclude(refused?.body.quota, { dimension: "organisation_api_keys", limit: 10, used: 10 })
    assert.deepInclude((await ask("POST", target, { name: "Keyless" })).body.quota, {
      dimension: "organisation_api_keys"
    })
    await svc.sql(`INSERT INTO triggers
        (id, org, space, type, name, created_by, status, routes, workflow_ids, environments, delivery)
      SELECT svc_new_id('trg'), '${child.id}', '${child.spaceId}', 'event', n::text, 'test', 'disabled', '[]', '{}', '{}', '{}'
      FROM generate_series(1, 50) n`)
    const trigger = await ask("POST", "/api/v1/triggers", {
      type: "webhook",
      name: "Hook",
      webhook: { auth: "public" },
      routes: [{ workflowId: parent.workflowId }]
    })
    assert.deepInclude(trigger.body.quota ?? trigger.body, { dimension: "triggers", limit: 50, used: 50 })
    const usage = (await ask("GET", "/api/v1/quota/usage")).body.data
    assert.deepInclude(
      usage.find((one: Members) => one.dimension === "triggers"),
      { used: 50, limit: 50, remaining: 0 }
    )
  })

  it("a smaller plan only if all of them together use no more", async () => {
    const { ask, askChild, child, parent } = await family("growth")
    const keys = (client: typeof ask) =>
      Promise.all([1, 2, 3, 4, 5].map((n) => client("POST", "/api/v1/api-keys", { name: `k${n}`, mode: "live" })))
    await keys(ask)
    const [first] = await keys(askChild)
    const smaller = () => ask("PUT", `${target}/${parent.organisationId}`, { plan: "starter" })
    const refused = await smaller()
    assert.deepStrictEqual(
      [refused.status, refused.body.details.map(({ code }: Members) => code)],
      [409, ["organisation_api_keys"]]
    )
    assert.isDefined(first)
    const { id: firstId } = first.body.data
    const { data: all } = (await askChild("GET", "/api/v1/api-keys")).body
    for (const id of [firstId, all.find((other: Members) => other["id"] !== firstId).id])
      assert.strictEqual((await askChild("DELETE", `/api/v1/api-keys/${id}`)).status, 200)
    assert.strictEqual((await smaller()).status, 200)
    // Calls that the node has leased by the larger plan count until they are returned.
    const read = await eventually(
      () => ask("GET", `${target}/${child.id}`),
      ({ status }) => status === 200
    )
    assert.strictEqual(read.body.data.plan, "starter")
  })

  it("locks without waiting for each other, whatever is created and changed at once", async () => {
    const { ask, parent } = await family("growth")
    const plans = ["enterprise", "growth", "enterprise", "growth"] as const
    const answers = await Promise.all(
      plans.flatMap((plan, n) => [
        ask("POST", target, { name: `Sibling ${n}` }),
        ask("POST", "/api/v1/api-keys", { name: `k${n}`, mode: "live" }),
        ask("PUT", `${target}/${parent.organisationId}`, { plan }),
        ask("POST", "/api/v1/triggers", {
          type: "webhook",
          name: `Hook ${n}`,
          webhook: { auth: "public" },
          routes: [{ workflowId: parent.workflowId }]
        })
      ])
    )
    for (const { status, text } of answers) assert.include([200, 201], status, text)
  })

  it("the calls of a minute, exactly", async () => {
    const { ask, askChild } = await family("starter")
    // In the middle of a later minute, so that the window is fresh and does not end.
    const later = 90_000 - (Date.now() % 60_000)
    const list = (client: typeof ask, asked: Asked = {}) => client("GET", "/api/v1/customers", undefined, asked)
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, n) => list(n % 4 === 0 ? ask : askChild, { later }))
    )
    assert.deepStrictEqual([countOf(answers, 200), countOf(answers, 429)], [60, 20])
  })

  it("the starts of a day, and what they store", async () => {
    const { ask, askChild, child, parent } = await family("starter", { settings: { codeEditing: true } })
    const saved = (await askChild("POST", "/api/v1/workflows", { ...code("one"), tier: "instant" })).body.data
    assert.strictEqual((await askChild("POST", `/api/v1/workflows/${saved.id}/publish`, {})).status, 200)
    const run = (client: typeof ask, id: string, asked: Asked = {}) =>
      client("POST", `/api/v1/workflows/${id}/execute`, { input: {} }, asked)
    assert.strictEqual((await run(askChild, saved.id)).status, 200)
    assert.strictEqual((await run(ask, parent.workflowId)).status, 200)
    const windows = await svc.sql(
      `SELECT org, granted FROM rate_windows WHERE bucket = 'starts' AND org IN ('${child.id}', '${parent.organisationId}')`
    )
    assert.deepStrictEqual(
      windows.map(({ org }: Members) => org),
      [parent.organisationId]
    )
    await svc.sql(`UPDATE rate_windows SET granted = 1000 WHERE bucket = 'starts' AND org = '${parent.organisationId}'`)
    // The node may have leased up to 20 of them.
    let last = await run(askChild, saved.id)
    for (let n = 0; n < 20 && last.status === 200; n++) last = await run(askChild, saved.id)
    assert.deepStrictEqual(codeOf(last), [429, "QUOTA_EXCEEDED"])
    const trigger = await askChild("POST", "/api/v1/triggers", {
      type: "webhook",
      name: "Hook",
      webhook: { auth: "public" },
      routes: [{ workflowId: saved.id }]
    })
    assert.strictEqual(trigger.status, 201, trigger.text)
    const event = await svc.ask("POST", new URL(trigger.body.data.webhook.url).pathname, { body: {} })
    assert.strictEqual(event.status, 202, event.text)
    const held = (await askChild("GET", "/api/v1/events?status=held")).body.data
    assert.lengthOf(held, 1)
    const usage = (await askChild("GET", "/api/v1/quota/usage")).body.data
    assert.deepInclude(
      usage.find((one: Members) => one.dimension === "events_per_day"),
      { used: 1_000, remaining: 0 }
    )
    await svc.sql(`UPDATE rate_windows SET granted = 0 WHERE bucket = 'starts' AND org = '${parent.organisationId}'`)
    await svc.sql(`INSERT INTO storage_usage (org, bytes) VALUES ('${child.id}', 85000000), ('${parent.organisationId}', 85000000)
      ON CONFLICT (org) DO UPDATE SET bytes = excluded.bytes`)
    const full = await run(ask, parent.workflowId, { later: "2 seconds" })
    assert.deepStrictEqual([full.status, full.body.quota?.dimension], [403, "storage_mb"])
  })

  it("the messages of an hour", async () => {
    const { ask, child, parent } = await family("starter")
    const message = { channel: "webhook", title: "t", body: "b", severity: "info" }
    const targets = { level: "saas", key: "notifications", value: { webhook: ["https://example.com/hook"] } }
    assert.strictEqual((await ask("PUT", "/api/v1/config", targets)).status, 200)
    await svc.sql(`INSERT INTO notifications (id, org, channel, severity, title, body, source, status, targets, pending, hour, created_at)
      SELECT svc_new_id('ntf'), o, 'webhook', 'info', 't', 'b', '{}', 'sent', 25, 0, date_trunc('hour', now()), now()
      FROM unnest(ARRAY['${child.id}', '${parent.organisationId}']) AS o`)
    const refused = await ask("POST", "/api/v1/notifications", message)
    assert.deepStrictEqual(codeOf(refused), [429, "QUOTA_EXCEEDED"], refused.text)
  })
})
