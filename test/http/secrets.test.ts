import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { CallbackSecrets } from "../../src/actors/ports/delivery/CallbackSecrets.js"
import { WriterSql } from "../support/Sql.js"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
let key: string
beforeAll(async () => {
  svc = await start()
  key = svc.first.key
})
afterAll(() => svc.stop())

const store = (body: object, more: object = {}) => svc.ask("POST", "/api/v1/secrets", { key, body, ...more })
const reveal = (id: string) => svc.ask("GET", `/api/v1/secrets/${id}/value`, { key })

describe("a secret", () => {
  it("is listed without its value, read one by one, and audited each time", async () => {
    const made = await store({ name: "API_TOKEN", value: "tok-12345-sensitive" })
    assert.strictEqual(made.status, 201)
    assert.deepStrictEqual(
      [made.body.data.type, made.body.data.scope, made.headers["etag"]],
      ["text", { customerId: null, environment: null }, '"1"']
    )
    const listed = await svc.ask("GET", "/api/v1/secrets?q=token", { key })
    assert.strictEqual(listed.body.data.length, 1)
    for (const { text } of [made, listed]) assert.notInclude(text, "sensitive")
    const told = await reveal(made.body.data.id)
    assert.deepStrictEqual(
      [told.status, told.body.data.value, told.headers["cache-control"]],
      [200, "tok-12345-sensitive", "no-store"]
    )
    await reveal(made.body.data.id)
    const trail = await svc.ask("GET", `/api/v1/audit?resource_id=${made.body.data.id}`, { key })
    assert.deepStrictEqual(
      trail.body.data.map(({ action }: { action: string }) => action),
      ["secret.read", "secret.read", "secret.create"]
    )
    assert.notInclude(trail.text, "sensitive")
  })

  it("is overwritten under the same name and scope, and keeps the versions that runs may still read", async () => {
    const made = await store({ name: "ROTATED", value: "one" })
    const again = await store({ name: "ROTATED", value: "two" })
    assert.deepStrictEqual([again.status, again.body.data.id, again.body.data.version], [200, made.body.data.id, 2])
    assert.strictEqual((await reveal(made.body.data.id)).body.data.value, "two")
    const rows = await svc.run(
      Effect.flatMap(
        WriterSql,
        (sql) => sql<{ number: number; retired: boolean; sealed: Uint8Array }>`
      SELECT number, retired_at IS NOT NULL AS retired, sealed FROM secret_versions WHERE secret_id = ${made.body.data.id} ORDER BY number`
      )
    )
    assert.deepStrictEqual(
      rows.map(({ number, retired }) => [number, retired]),
      [
        [1, true],
        [2, false]
      ]
    )
    for (const { sealed } of rows) assert.notMatch(Buffer.from(sealed).toString("latin1"), /one|two/)
    const stale = await store({ name: "ROTATED", value: "three" }, { headers: { "if-match": '"1"' } })
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"])
    const trail = await svc.ask("GET", `/api/v1/audit?resource_id=${made.body.data.id}&action=secret.update`, { key })
    assert.deepStrictEqual(trail.body.data[0].changes, [{ path: "value", before: "[redacted]", after: "[redacted]" }])
  })

  it("created by ten concurrent requests is one secret", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => store({ name: "CROWD", value: `v${i}` })))
    assert.deepStrictEqual(
      answers.filter(({ status }) => status === 201).length,
      1,
      JSON.stringify(answers.map(({ status, text }) => [status, text]))
    )
    assert.isTrue(answers.every(({ status }) => [200, 201, 409].includes(status)))
    assert.strictEqual(new Set(answers.filter(({ status }) => status < 300).map(({ body }) => body.data.id)).size, 1)
  })

  it("of the type json is JSON", async () => {
    const made = await store({ name: "CONFIG", type: "json", value: { a: [1, "x"] } })
    assert.deepStrictEqual((await reveal(made.body.data.id)).body.data.value, { a: [1, "x"] })
    await store({ name: "CONFIG", type: "json", value: '{"b":2}' })
    assert.deepStrictEqual((await reveal(made.body.data.id)).body.data.value, { b: 2 })
  })

  it.each([
    [{ type: "json", value: "{not json" }, "SYNTAX_ERROR"],
    [{ value: { a: 1 } }, "INVALID_TYPE"],
    [{ value: "" }, "REQUIRED"],
    [{ value: "x".repeat(70_000) }, "OUT_OF_RANGE"],
    [{ type: "json", value: '"\\u0000"' }, "NOT_STORABLE"]
  ])("%j is refused with %s", async (body, code) => {
    const answer = await store({ name: "WRONG", ...body })
    assert.deepStrictEqual(
      [answer.status, answer.body.details[0].path, answer.body.details[0].code],
      [422, "value", code]
    )
  })

  it.each([
    [{ name: "lower" }, "name"],
    [{ name: "A".repeat(65) }, "name"],
    [{ customerId: "cus_00000000000000000000000000" }, "customerId"],
    [{ environment: "moon" }, "environment"]
  ])("%j is refused at %s", async (body, path) => {
    const answer = await store({ name: "WRONG", value: "x", ...body })
    assert.deepStrictEqual([answer.status, answer.body.details[0].path], [422, path])
  })

  it("is unknown once it is deleted, and its name is free", async () => {
    const made = await store({ name: "PASSING", value: "x" })
    const at = `/api/v1/secrets/${made.body.data.id}`
    assert.deepStrictEqual(
      [
        (await svc.ask("DELETE", at, { key })).status,
        (await svc.ask("DELETE", at, { key })).status,
        (await reveal(made.body.data.id)).status
      ],
      [204, 404, 404]
    )
    const again = await store({ name: "PASSING", value: "y" })
    assert.deepStrictEqual([again.status, again.body.data.id === made.body.data.id], [201, false])
  })

  it("is resolved most specific first: customer and environment, customer, environment, organisation", async () => {
    const code = `export default async function reader() { return { value: await svc.secrets.get("LEVEL") } }`
    const made = await svc.ask("POST", "/api/v1/workflows", { key, body: { name: "reader", form: "code", code } })
    assert.strictEqual(made.status, 201, made.text)
    const read = async (environment: string, customer: boolean) =>
      (
        await svc.ask("POST", `/api/v1/workflows/${made.body.data.id}/execute`, {
          key,
          body: { input: {}, draft: true, environment },
          headers: customer ? { "x-end-org-id": svc.first.customerId } : {}
        })
      ).body.value
    const all = async () => [
      await read("test", true),
      await read("live", true),
      await read("test", false),
      await read("live", false)
    ]
    const customerId = svc.first.customerId
    await store({ name: "LEVEL", value: "organisation" })
    assert.deepStrictEqual(await all(), ["organisation", "organisation", "organisation", "organisation"])
    await store({ name: "LEVEL", value: "environment", environment: "test" })
    assert.deepStrictEqual(await all(), ["environment", "organisation", "environment", "organisation"])
    await store({ name: "LEVEL", value: "customer", customerId })
    assert.deepStrictEqual(await all(), ["customer", "customer", "environment", "organisation"])
    await store({ name: "LEVEL", value: "both", customerId, environment: "test" })
    assert.deepStrictEqual(await all(), ["both", "customer", "environment", "organisation"])
    const listed = await svc.ask("GET", `/api/v1/secrets?q=LEVEL&customer_id=${customerId}`, { key })
    assert.strictEqual(listed.body.data.length, 2)
  })
})

describe("the callback secret", () => {
  const ask = (what = "", later: `${number} hours` = "0 hours") =>
    svc.ask("POST", `/api/v1/callback-secret${what}`, { key, later })

  it("stays the same until it is rotated; then both are valid for a day", async () => {
    const [first, second] = [await ask(), await ask()]
    assert.match(first.body.data.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.deepStrictEqual(
      [second.body.data.secret, second.headers["cache-control"]],
      [first.body.data.secret, "no-store"]
    )
    const rotated = await ask("/rotate")
    assert.notStrictEqual(rotated.body.data.secret, first.body.data.secret)
    assert.strictEqual((await ask()).body.data.secret, rotated.body.data.secret)
    const valid = await svc.run(
      Effect.flatMap(CallbackSecrets, (secrets) => secrets.valid(svc.first.organisationId, svc.first.spaceId))
    )
    assert.strictEqual(valid.length, 2)
    const trail = await svc.ask("GET", "/api/v1/audit?resource_type=callback_secret", { key })
    assert.deepStrictEqual(
      trail.body.data.map(({ action }: { action: string }) => action),
      ["callback_secret.read", "callback_secret.rotate", "callback_secret.read", "callback_secret.read"]
    )
    assert.notInclude(trail.text, "whsec_")
  })

  it("is created once by many concurrent first requests", async () => {
    const other = await svc.organisation("Callbacks")
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => svc.ask("POST", "/api/v1/callback-secret", { key: other.key }))
    )
    assert.strictEqual(new Set(answers.map(({ body }) => body.data.secret)).size, 1)
  })
})

describe("people and roles", () => {
  it("are invited by a link of which only the hash is kept", async () => {
    const invited = await svc.ask("POST", "/api/v1/users/invite", {
      key,
      body: { email: "ann@example.com", role: "developer", customerIds: [svc.first.customerId] }
    })
    assert.strictEqual(invited.status, 201)
    const { expiresAt, inviteUrl, status, userId } = invited.body.data
    const token: string =
      /^http:\/\/svc\.test\/invite#token=([\w-]{43})$/.exec(inviteUrl)?.[1] ?? assert.fail(inviteUrl)
    assert.strictEqual(status, "invited")
    assert.approximately((Date.parse(expiresAt) - Date.now()) / 86_400_000, 7, 0.01)
    const rows = await svc.run(
      Effect.flatMap(
        WriterSql,
        (sql) => sql<{ text: string }>`SELECT users::text AS text FROM users WHERE id = ${userId}`
      )
    )
    assert.notInclude(rows[0]?.text ?? token, token)
    const listed = await svc.ask("GET", "/api/v1/users?q=ann&status=invited", { key })
    assert.deepStrictEqual(
      listed.body.data.map(({ email, id }: { email: string; id: string }) => [id, email]),
      [[userId, "ann@example.com"]]
    )
    assert.notMatch(listed.text, /hash/i)
    const again = await svc.ask("POST", "/api/v1/users/invite", {
      key,
      body: { email: "Ann@Example.com", role: "viewer" }
    })
    assert.deepStrictEqual([again.status, again.body.code], [409, "CONFLICT"])
  })

  it.each([
    [{ email: "nobody" }, "email"],
    [{ role: "emperor" }, "role"],
    [{ role: "role_00000000000000000000000000" }, "role"],
    [{ customerIds: ["cus_00000000000000000000000000"] }, "customerIds[0]"]
  ])("an invitation with %j is refused at %s", async (body, path) => {
    const answer = await svc.ask("POST", "/api/v1/users/invite", {
      key,
      body: { email: "bob@example.com", role: "viewer", ...body }
    })
    assert.deepStrictEqual([answer.status, answer.body.details[0].path], [422, path])
  })

  it("have six built-in roles; a custom one is a part of its parent", async () => {
    const names = async () =>
      (await svc.ask("GET", "/api/v1/roles", { key })).body.data.map(({ name }: { name: string }) => name).sort()
    assert.deepStrictEqual(await names(), ["admin", "developer", "end_user", "operator", "owner", "viewer"])
    const made = await svc.ask("POST", "/api/v1/roles", {
      key,
      body: { name: "support", parent: "viewer", permissions: { executions: [], workflows: ["read"] } }
    })
    assert.strictEqual(made.status, 201, made.text)
    assert.deepStrictEqual([made.body.data.builtin, made.body.data.permissions.workflows], [false, ["read"]])
    const child = await svc.ask("POST", "/api/v1/roles", {
      key,
      body: { name: "narrower", parent: made.body.data.id, permissions: { workflows: ["read"] } }
    })
    assert.deepStrictEqual([child.status, child.body.data.parent], [201, made.body.data.id])
    const refusals: ReadonlyArray<readonly [object, number, string | undefined]> = [
      [{ name: "more", parent: "viewer", permissions: { workflows: ["execute"] } }, 422, "permissions.workflows"],
      [
        { name: "more", parent: made.body.data.id, permissions: { connectors: ["read"] } },
        422,
        "permissions.connectors"
      ],
      [{ name: "none", parent: "viewer", permissions: {} }, 422, "permissions"],
      [{ name: "orphan", parent: "nobody", permissions: { workflows: ["read"] } }, 422, "parent"],
      [{ name: "support", parent: "viewer", permissions: { workflows: ["read"] } }, 409, undefined]
    ]
    for (const [body, status, path] of refusals) {
      const answer = await svc.ask("POST", "/api/v1/roles", { key, body })
      assert.deepStrictEqual([answer.status, answer.body.details[0]?.path], [status, path], answer.text)
    }
  })
})
