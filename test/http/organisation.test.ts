/** The organisation and its workspaces: reading and changing them, and suspension. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
beforeAll(async () => {
  svc = await start({ SVC_DEFAULT_PLAN: "starter" })
})
afterAll(() => svc.stop())

let made = 0
/** A separate organisation for a test that changes it, with its path. */
const organisation = async (plan: "starter" | "growth" | "unlimited" = "growth") => {
  const first = await svc.organisation(`Organisation ${++made}`, plan)
  const ask = (method: string, target: string, body?: unknown, headers: { readonly [name: string]: string } = {}) =>
    svc.ask(method, target, { key: first.key, headers, ...(body === undefined ? {} : { body }) })
  const at = `/api/v1/organizations/${first.organisationId}`
  return { ...first, ask, at, put: (body: object) => ask("PUT", at, body) }
}
const sql = (statement: string) => svc.run(Effect.flatMap(WriterSql, (writer) => writer.unsafe(statement)))
const narrowedKey = async (key: string, resourceScope: unknown) =>
  (
    await svc.ask("POST", "/api/v1/api-keys", {
      key,
      body: { name: "n", mode: "live", preset: "full_access", resourceScope }
    })
  ).body.data.key

describe("the organisation", () => {
  it("is listed, read and changed by its keys, with each change in the audit trail", async () => {
    const { ask, at, organisationId, put } = await organisation()
    const listed = await ask("GET", "/api/v1/organizations")
    assert.deepStrictEqual(
      listed.body.data.map(({ id }: { id: string }) => id),
      [organisationId]
    )
    const read = await ask("GET", at)
    assert.deepInclude(read.body.data, {
      parentId: null,
      timezone: "UTC",
      plan: "growth",
      status: "active",
      defaultEnvironment: "live",
      settings: { codeEditing: true, dlqAutoReplay: false },
      version: 1
    })
    assert.strictEqual(read.headers["etag"], '"1"')
    const changed = await put({ name: "Renamed", timezone: "Europe/Berlin", settings: { dlqAutoReplay: true } })
    assert.deepInclude(changed.body.data, {
      name: "Renamed",
      timezone: "Europe/Berlin",
      settings: { codeEditing: true, dlqAutoReplay: true },
      version: 2
    })
    const stale = await ask("PUT", at, { name: "Again" }, { "if-match": '"1"' })
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"])
    // The entry of the refused request may be written by now.
    const entry = (await ask("GET", "/api/v1/audit?action=organisation.update")).body.data.find(
      ({ outcome }: { readonly outcome: string }) => outcome === "success"
    )
    assert.deepInclude(entry.resource, { type: "organisation", id: organisationId })
    assert.deepInclude(entry.changes, { path: "timezone", before: "UTC", after: "Europe/Berlin" })
  })

  it("can be put back as it was read; its read-only members do not change", async () => {
    const { ask, at, put } = await organisation()
    const { data } = (await ask("GET", at)).body
    assert.strictEqual((await put(data)).status, 200)
    const moved = await put({ slug: "another", createdAt: "2020-01-01T00:00:00.000Z" })
    assert.deepStrictEqual(
      [moved.status, moved.body.code, moved.body.details.map(({ path }: { path: string }) => path).sort()],
      [422, "IMMUTABLE_FIELD", ["createdAt", "slug"]]
    )
  })

  it("cannot be changed by another, and refuses invalid values", async () => {
    const mine = await organisation()
    const other = await organisation()
    assert.strictEqual((await mine.ask("GET", other.at)).status, 404)
    assert.strictEqual((await mine.ask("PUT", other.at, { name: "x" })).status, 404)
    for (const [body, path] of [
      [{ timezone: "Mars/Olympus" }, "timezone"],
      [{ defaultEnvironment: "nowhere" }, "defaultEnvironment"],
      [{ plan: "free" }, "plan"]
    ] as const) {
      const refused = await mine.put(body)
      assert.deepStrictEqual([refused.status, refused.body.details[0].path], [422, path], refused.text)
    }
  })

  it("runs in its default environment if a request names none", async () => {
    const { ask, put, workflowId } = await organisation()
    await ask("PUT", `/api/v1/workflows/${workflowId}`, {
      code: "export default async (ctx) => ctx.execution.environment"
    })
    await ask("POST", `/api/v1/workflows/${workflowId}/publish`, {})
    const run = async () => (await ask("POST", `/api/v1/workflows/${workflowId}/execute`, {})).body
    assert.strictEqual(await run(), "live")
    assert.strictEqual((await put({ defaultEnvironment: "TEST" })).body.data.defaultEnvironment, "test")
    assert.strictEqual(await run(), "test")
  })

  it("is limited by its plan at once, and refuses a plan that allows less than is in use", async () => {
    const { ask, put } = await organisation("unlimited")
    const create = (n: number) =>
      ask("POST", "/api/v1/workflows", { name: `flow_${n}`, form: "code", code: "export default async () => 1" })
    for (let n = 0; n < 10; n++) assert.strictEqual((await create(n)).status, 201)
    const smaller = await put({ plan: "starter" })
    assert.deepStrictEqual(
      [smaller.status, smaller.body.code, smaller.body.details[0].code],
      [409, "CONFLICT", "flows_per_tenant"],
      smaller.text
    )
    const [workflow] = (await ask("GET", "/api/v1/workflows?page_size=1")).body.data
    await ask("DELETE", `/api/v1/workflows/${workflow.id}`)
    assert.strictEqual((await put({ plan: "starter" })).status, 200)
    assert.deepInclude((await create(11)).body, { code: "PLAN_LIMIT_REACHED" })
    assert.strictEqual((await put({ plan: "growth" })).status, 200)
    assert.strictEqual((await create(11)).status, 201)
    // Only the operator gives the plan without limits; here new organisations get another one.
    const unlimited = await put({ plan: "unlimited" })
    assert.deepStrictEqual([unlimited.status, unlimited.body.details[0].path], [403, "plan"])
  })

  it("refuses every key while it is suspended, except for reading and resuming the organisation", async () => {
    const { ask, at, organisationId, put, workflowId } = await organisation()
    const suspended = await put({ status: "suspended" })
    assert.deepStrictEqual([suspended.status, suspended.body.data.status], [200, "suspended"])
    for (const [method, target, body] of [
      ["GET", "/api/v1/customers", undefined],
      ["POST", `/api/v1/workflows/${workflowId}/execute`, {}],
      ["POST", `/api/v1/workflows/${workflowId}/run`, {}],
      ["POST", "/api/v1/secrets", { name: "A", value: "1" }],
      ["GET", "/api/v1/audit", undefined],
      ["GET", "/api/v1/workspaces", undefined]
    ] as const) {
      const refused = await ask(method, target, body)
      assert.deepStrictEqual([refused.status, refused.body.code], [403, "FORBIDDEN"], `${method} ${target}`)
    }
    assert.strictEqual((await ask("GET", "/api/v1/organizations")).body.data[0].status, "suspended")
    assert.strictEqual((await ask("GET", at)).status, 200)
    assert.strictEqual((await put({ status: "active" })).status, 200)
    assert.strictEqual((await ask("GET", "/api/v1/customers")).status, 200)
    const { data } = (await ask("GET", `/api/v1/audit?resource_id=${organisationId}`)).body
    assert.deepStrictEqual(
      data.map(({ action }: { action: string }) => action).filter((action: string) => action !== "organisation.read"),
      ["organisation.update.active", "organisation.update.suspended"]
    )
  })

  it("is resumed over the network, where bodies are read only for admitted keys", async () => {
    const { at, key, put } = await organisation()
    const { baseUrl } = await svc.listen()
    await put({ status: "suspended" })
    const send = (target: string, method: string) =>
      fetch(`${baseUrl}${target}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ status: "active" })
      })
    assert.strictEqual((await send("/api/v1/customers", "POST")).status, 403)
    assert.strictEqual((await send(at, "PUT")).status, 200)
  })

  it("with a parent can change neither its plan, its status nor its code editing, and writes no code without it", async () => {
    const parent = await organisation()
    const child = await organisation("starter")
    await sql(
      `UPDATE organisations SET parent_id = '${parent.organisationId}', settings = '{"codeEditing":false}' WHERE id = '${child.organisationId}'`
    )
    assert.deepInclude((await child.ask("GET", child.at)).body.data, {
      parentId: parent.organisationId,
      settings: { codeEditing: false, dlqAutoReplay: false }
    })
    for (const [body, path] of [
      [{ plan: "growth" }, "plan"],
      [{ status: "suspended" }, "status"],
      [{ settings: { codeEditing: true } }, "settings.codeEditing"]
    ] as const) {
      const refused = await child.put(body)
      assert.deepStrictEqual([refused.status, refused.body.details[0].path], [403, path], refused.text)
    }
    assert.strictEqual((await child.put({ settings: { dlqAutoReplay: true } })).status, 200)
    const code = "export default async () => 1"
    const file = JSON.stringify({ name: "mine", steps: [{ name: "a", type: "action", config: { code } }] })
    const imported = (format: string, source: string) =>
      child.ask("POST", "/api/v1/workflows", { import: { format, source } })
    for (const write of [
      () => child.ask("PUT", `/api/v1/workflows/${child.workflowId}`, { code }),
      () => imported("flow.json", file),
      () => imported("flow.js", `export default ${file}`),
      () => child.ask("POST", "/api/v1/workflows", { name: "mine", form: "code", code })
    ]) {
      // A key's record may be cached for a second.
      const refused = await eventually(write, ({ status }) => status === 403)
      assert.deepStrictEqual(
        [refused.status, refused.body.code, refused.body.details[0].code],
        [403, "FORBIDDEN", "CODE_EDITING_DISABLED"]
      )
    }
    assert.strictEqual(
      (await child.ask("PUT", `/api/v1/workflows/${child.workflowId}`, { description: "d" })).status,
      200
    )
  })

  it("and its workspaces are read, and changed by no key that is narrowed or for some customers", async () => {
    const { at, ask, customerId, key, spaceId, workflowId } = await organisation()
    const narrow = await narrowedKey(key, [{ type: "workflow", ids: [workflowId] }])
    const subset = (
      await ask("POST", "/api/v1/api-keys", {
        name: "s",
        mode: "live",
        preset: "full_access",
        customers: { mode: "subset", ids: [customerId] }
      })
    ).body.data.key
    assert.strictEqual((await svc.ask("GET", at, { key: narrow })).status, 200)
    for (const [method, target, body] of [
      ["PUT", at, { name: "x" }],
      ["POST", "/api/v1/workspaces", { name: "x" }],
      ["PUT", `/api/v1/workspaces/${spaceId}`, { name: "x" }]
    ] as const) {
      const refused = await svc.ask(method, target, { key: narrow, body })
      assert.deepStrictEqual([refused.status, refused.body.code], [403, "RESOURCE_OUT_OF_SCOPE"], target)
      assert.strictEqual((await svc.ask(method, target, { key: subset, body })).status, 403)
    }
  })
})

describe("a workspace", () => {
  it("is created beside the first, listed, read, changed at its version, and audited", async () => {
    const { ask, spaceId } = await organisation()
    const created = await ask("POST", "/api/v1/workspaces", { name: "Second place" })
    assert.deepStrictEqual([created.status, created.body.data.slug], [201, "second-place"], created.text)
    const { id } = created.body.data
    const at = `/api/v1/workspaces/${id}`
    assert.strictEqual(created.headers["location"], at)
    assert.deepStrictEqual(
      (await ask("GET", "/api/v1/workspaces")).body.data.map((one: { id: string }) => one.id),
      [id, spaceId]
    )
    const read = await ask("GET", at)
    assert.deepStrictEqual(read.body.data, created.body.data)
    assert.notProperty(read.body.data, "callbackSecret")
    assert.strictEqual((await ask("PUT", at, read.body.data)).body.data.version, 2)
    const stale = await ask("PUT", at, read.body.data)
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"])
    assert.strictEqual((await ask("PUT", at, { slug: "second" })).body.data.slug, "second")
    const taken = await ask("POST", "/api/v1/workspaces", { name: "Third", slug: "second" })
    assert.deepStrictEqual([taken.status, taken.body.message], [409, "a workspace with this slug exists"])
    const { data } = (await ask("GET", `/api/v1/audit?resource_id=${id}&resource_type=workspace`)).body
    assert.includeMembers(
      data.map(({ action }: { action: string }) => action),
      ["workspace.update", "workspace.create"]
    )
    const other = await organisation()
    assert.strictEqual((await other.ask("GET", at)).status, 404)
  })

  it("has keys of its own, which find nothing of another workspace", async () => {
    const { ask, customerId, spaceId } = await organisation()
    const { id } = (await ask("POST", "/api/v1/workspaces", { name: "Second" })).body.data
    const made = await ask("POST", "/api/v1/api-keys", { name: "k", mode: "live", preset: "full_access", spaceId: id })
    assert.strictEqual(made.status, 201, made.text)
    const second = (method: string, target: string, body?: object) =>
      svc.ask(method, target, { key: made.body.data.key, ...(body === undefined ? {} : { body }) })
    await ask("POST", "/api/v1/secrets", { name: "OF_FIRST", value: "1" })
    assert.deepStrictEqual((await second("GET", "/api/v1/workflows")).body.data, [])
    assert.deepStrictEqual((await second("GET", "/api/v1/secrets")).body.data, [])
    const code = "export default async () => 1"
    assert.strictEqual((await second("POST", "/api/v1/workflows", { name: "w", form: "code", code })).status, 201)
    assert.lengthOf((await ask("GET", "/api/v1/workflows")).body.data, 1)
    assert.strictEqual((await second("GET", "/api/v1/customers")).body.data[0].id, customerId)
    const inFirst = await svc.ask("GET", "/api/v1/workflows", {
      key: made.body.data.key,
      headers: { "x-svc-space-id": spaceId }
    })
    assert.deepStrictEqual([inFirst.status, inFirst.body.code], [403, "FORBIDDEN"])
  })

  it("gets keys from no narrowed key, and must be one of the organisation's own", async () => {
    const { ask, key, workflowId } = await organisation()
    const other = await organisation()
    const unknown = await ask("POST", "/api/v1/api-keys", { name: "k", spaceId: other.spaceId })
    assert.deepStrictEqual([unknown.status, unknown.body.details[0].path], [422, "spaceId"], unknown.text)
    const { id } = (await ask("POST", "/api/v1/workspaces", { name: "Second" })).body.data
    const resourceScope = [{ type: "workflow", ids: [workflowId] }]
    const narrow = await narrowedKey(key, resourceScope)
    const refused = await svc.ask("POST", "/api/v1/api-keys", {
      key: narrow,
      body: { name: "k", spaceId: id, resourceScope }
    })
    assert.deepStrictEqual([refused.status, refused.body.details[0].path], [403, "spaceId"], refused.text)
  })

  it("keeps its callback secret when it is changed", async () => {
    const { ask, spaceId } = await organisation()
    const { secret } = (await ask("POST", "/api/v1/callback-secret", {})).body.data
    assert.strictEqual((await ask("PUT", `/api/v1/workspaces/${spaceId}`, { name: "Renamed" })).status, 200)
    assert.strictEqual((await ask("POST", "/api/v1/callback-secret", {})).body.data.secret, secret)
  })
})
