/** The scope of a new key: connectors by id or slug, and never more than its creator's. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { makeKey, makeKeyOfOtherWorkspace, makeScopedKey } from "../support/keys.js"

let svc: Running
let own: { readonly id: string; readonly slug: string }
let builtIn: { readonly id: string; readonly slug: string }

const ask = (method: string, target: string, body?: unknown, key = svc.first.key) =>
  svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })

const create = (ids: ReadonlyArray<string>, key = svc.first.key) =>
  ask("POST", "/api-keys", { name: "n", mode: "live", resourceScope: [{ type: "connector", ids }] }, key)

beforeAll(async () => {
  svc = await startShared()
  const made = await ask("POST", "/connectors", {
    svcConnector: 1,
    slug: "own-crm",
    name: "Own",
    kind: "crm",
    version: "1.0.0",
    baseUrl: "https://api.example.com",
    auth: [{ id: "none", type: "none" }],
    actions: [{ name: "me", request: { method: "GET", path: "/me" } }]
  })
  assert.strictEqual(made.status, 201, made.text)
  own = made.body.data
  builtIn = (await ask("GET", "/connectors/slack")).body.data
})
afterAll(() => svc.stop())

describe("the connectors that a key is narrowed to", () => {
  it("are stored by slug, whether they are named by id or by slug", async () => {
    for (const ids of [
      [own.id, builtIn.id],
      ["own-crm", "slack"],
      [own.id, "own-crm", "slack", builtIn.id]
    ]) {
      const made = await create(ids)
      assert.strictEqual(made.status, 201, made.text)
      assert.deepStrictEqual(made.body.data.resourceScope, [{ type: "connector", ids: ["own-crm", "slack"] }])
    }
  })

  it("exist: an unknown one is refused by its place", async () => {
    const near = `${own.id.slice(0, -1)}${own.id.endsWith("0") ? "1" : "0"}`
    for (const unknown of ["nothing", near, "ctr_0"]) {
      const refused = await create(["slack", unknown])
      const { code, path } = refused.body.details[0]
      assert.deepStrictEqual([refused.status, path, code], [422, "resourceScope[0].ids[1]", "NOT_FOUND"], refused.text)
    }
  })

  it("are among those of its maker", async () => {
    const { key } = await makeScopedKey(svc, { connector: ["slack"] })
    for (const ids of [[builtIn.id], ["slack"]]) assert.strictEqual((await create(ids, key)).status, 201)
    for (const ids of [[own.id], ["own-crm"], ["slack", own.id]]) {
      const refused = await create(ids, key)
      assert.deepStrictEqual([refused.status, refused.body.details?.[0]?.path], [403, "resourceScope"], refused.text)
    }
    const unbound = await ask("POST", "/api-keys", { name: "n", mode: "live" }, key)
    assert.deepStrictEqual([unbound.status, unbound.body.details?.[0]?.path], [403, "resourceScope"], unbound.text)
  })
})

describe("a key that was read", () => {
  it("can be put back, used or not, with a change of its own", async () => {
    const { id, key } = await makeKey(svc, { allowedIps: ["127.0.0.0/8"] })
    const read = await ask("GET", `/api-keys/${id}`)
    assert.strictEqual((await ask("GET", "/customers", undefined, key)).status, 200)
    const back = await ask("PUT", `/api-keys/${id}`, { ...read.body.data, name: "renamed" })
    assert.deepStrictEqual([back.status, back.body.data?.name], [200, "renamed"], back.text)
  })

  it("keeps what it was made with", async () => {
    const { id } = await makeKey(svc, {})
    const { body } = await ask("GET", `/api-keys/${id}`)
    for (const [member, value] of Object.entries({
      mode: "test",
      preset: "custom",
      resourceScope: [{ type: "workflow", ids: ["wf_000000000000"] }],
      expiresAt: null,
      lastUsedAt: "2999-01-01T00:00:00.000Z",
      hmac: { enabled: true }
    })) {
      const refused = await ask("PUT", `/api-keys/${id}`, { ...body.data, name: "lost", [member]: value })
      const { code, details } = refused.body
      assert.deepStrictEqual([refused.status, code, details?.[0]?.path], [422, "IMMUTABLE_FIELD", member], refused.text)
    }
    assert.strictEqual((await ask("PUT", `/api-keys/${id}`, { permissions: { audit: ["read"] } })).status, 422)
    assert.strictEqual((await ask("GET", `/api-keys/${id}`)).body.data.name, body.data.name)
  })
})

describe("a key of another workspace", () => {
  it("reads no key of this one, and no key of this one reads it", async () => {
    const mine = await makeKey(svc, {})
    const elsewhere = await makeKeyOfOtherWorkspace(svc)
    const listed = await ask("GET", "/api-keys", undefined, elsewhere.key)
    assert.deepStrictEqual(
      listed.body.data.map(({ id }: { readonly id: string }) => id),
      [elsewhere.id]
    )
    for (const [id, key] of [
      [mine.id, elsewhere.key],
      [elsewhere.id, mine.key]
    ] as const)
      for (const [method, below, body] of [
        ["GET", "", undefined],
        ["PUT", "", { name: "taken over" }],
        ["DELETE", "", undefined],
        ["POST", "/rotate", {}],
        ["POST", "/identity-secret", undefined]
      ] as const)
        assert.strictEqual((await ask(method, `/api-keys/${id}${below}`, body, key)).status, 404, `${method} ${below}`)
  })
})
