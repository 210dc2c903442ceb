/** Credentials on surface B: headers, errors, storing, listing and rotating. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../support/oauthProvider.js"

let svc: Running
let provider: OAuthProvider

beforeAll(async () => {
  provider = await startOAuthProvider()
  svc = await startShared()
  await svc.ask("POST", "/api/v1/connectors", { key: svc.first.key, body: acme() })
  await svc.ask("POST", "/api/v1/connectors/acme/publish", { key: svc.first.key, body: {} })
})
afterAll(async () => {
  await svc.stop()
  await provider.close()
})

const path = (tid: string = svc.first.customerId) => `/api/v1/tenants/${tid}/credentials`

const ask = (
  method: string,
  target: string,
  body?: unknown,
  headers: { readonly [name: string]: string } = { "x-svc-api-key": svc.first.key, "x-svc-space-id": svc.first.spaceId }
) => svc.ask(method, target, { headers, ...(body === undefined ? {} : { body }) })

const key = (apiKey: string, more: object = {}) => ({
  connector: "acme",
  authMethod: "key",
  credential: { apiKey },
  config: { base: provider.url },
  ...more
})

describe("a request of surface B", () => {
  it("needs its key in x-svc-api-key: authorization is a flow's own", async () => {
    const answer = await ask("GET", path(), undefined, {
      authorization: `Bearer ${svc.first.key}`,
      "x-svc-space-id": svc.first.spaceId
    })
    assert.deepStrictEqual([answer.status, answer.body.code], [401, "UNAUTHORIZED"])
    assert.strictEqual(answer.body.message, "no API key: send x-svc-api-key: <key>")
    assert.deepInclude(answer.body, { isCustomAuthError: false, step: "", datasourceDebug: null })
  })
  it("without its workspace is refused with the missing header", async () => {
    const answer = await ask("GET", path(), undefined, { "x-svc-api-key": svc.first.key })
    assert.deepStrictEqual(
      [answer.status, answer.body.code, answer.body.details[0].code],
      [400, "INVALID_REQUEST", "MISSING_SPACE_ID"]
    )
  })
  it("with a mistake in its body is a bad request with the precise code", async () => {
    const answer = await ask("POST", path(), { connector: "acme" })
    assert.deepStrictEqual([answer.status, answer.body.code], [400, "INVALID_REQUEST"])
    assert.strictEqual(answer.body.details[0].code, "VALIDATION_FAILED")
  })
  it("for an unknown tenant, or one of another organisation, is not found", async () => {
    const other = await svc.organisation("Other")
    const [foreign, nobody] = [
      await ask("GET", path(other.customerId)),
      await ask("GET", path("cus_00000000000000000000000000"))
    ]
    assert.deepStrictEqual([foreign.status, foreign.body.code], [404, "NOT_FOUND"])
    assert.deepStrictEqual({ ...foreign.body, requestId: "" }, { ...nobody.body, requestId: "" })
  })
})

describe("a tenant's credential", () => {
  it("is stored with a connection, listed without its values, and revealed to those who may", async () => {
    const made = await ask("POST", path(), key("canary_key_b"))
    assert.strictEqual(made.status, 201, made.text)
    assert.deepInclude(made.body.data, { connector: "acme", status: "active", fields: ["apiKey"], rotatedAt: null })
    assert.match(made.body.data.id, /^cred_/)
    const listed = await ask("GET", path())
    assert.deepStrictEqual(listed.body.data, [made.body.data])
    assert.notInclude(listed.text, "canary")
    const shown = await ask("GET", `${path()}?reveal=true`)
    assert.strictEqual(shown.body.data[0].credential.apiKey, "canary_key_b")
    assert.strictEqual(shown.headers["cache-control"], "no-store")
  })
  it("stored again replaces the credential of the existing connection", async () => {
    const [first, second] = [
      await ask("POST", path(), key("canary_key_1", { label: "Same" })),
      await ask("POST", path(), key("canary_key_2", { label: "Same" }))
    ]
    assert.strictEqual(second.body.data.connectionId, first.body.data.connectionId)
    assert.notStrictEqual(second.body.data.fingerprint, first.body.data.fingerprint)
  })
  it("is rotated only to one that the provider accepts; the old one stays until then", async () => {
    const { id } = (await ask("POST", path(), key("canary_key_old", { label: "Rotating" }))).body.data
    const refused = await ask("PUT", `${path()}/${id}`, { credential: { apiKey: "canary_wrong" } })
    assert.deepStrictEqual([refused.status, refused.body.details[0].code], [400, "CREDENTIAL_TEST_FAILED"])
    const value = async () =>
      (await ask("GET", `${path()}?reveal=true`)).body.data.find((one: { readonly id: string }) => one.id === id)
    assert.strictEqual((await value()).credential.apiKey, "canary_key_old")
    const rotated = await ask("PUT", `${path()}/${id}`, { credential: { apiKey: "canary_key_new" } })
    assert.strictEqual(rotated.status, 200, rotated.text)
    assert.isNotNull(rotated.body.data.rotatedAt)
    assert.strictEqual((await value()).credential.apiKey, "canary_key_new")
  })
  it("is not shown to a key without the permission to decrypt", async () => {
    const made = await svc.ask("POST", "/api/v1/api-keys", {
      key: svc.first.key,
      body: { name: "operator", mode: "live", preset: "operator" }
    })
    const answer = await ask("GET", `${path()}?reveal=true`, undefined, {
      "x-svc-api-key": made.body.data.key,
      "x-svc-space-id": svc.first.spaceId
    })
    assert.deepStrictEqual([answer.status, answer.body.details[0].code], [403, "connections:decrypt"])
  })
  it("is listed page by page, each exactly once", async () => {
    const made = await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Many" } })
    const many = path(made.body.data.id)
    for (const label of ["One", "Two", "Three"]) await ask("POST", many, key(`canary_key_${label}`, { label }))
    const labels: Array<string> = []
    let cursor = ""
    do {
      const { body } = await ask("GET", `${many}?page_size=2&cursor=${cursor}`)
      labels.push(...body.data.map((one: { readonly label: string }) => one.label))
      cursor = body.page.nextCursor ?? ""
      assert.strictEqual(body.page.hasMore, cursor !== "")
    } while (cursor !== "")
    assert.deepStrictEqual(labels, ["Three", "Two", "One"])
    const wrong = await ask("GET", `${many}?cursor=nonsense`)
    assert.deepStrictEqual([wrong.status, wrong.body.details[0].code], [400, "INVALID_CURSOR"])
    const own = await svc.ask("GET", `/api/v1/customers/${made.body.data.id}`, { key: svc.first.key })
    assert.strictEqual(own.body.data.connectionCount, 3)
    const [gone] = (await ask("GET", many)).body.data
    await svc.ask("DELETE", `/api/v1/connections/${gone.connectionId}`, { key: svc.first.key })
    const listed = await svc.ask("GET", "/api/v1/customers?q=Many", { key: svc.first.key })
    assert.deepStrictEqual(
      listed.body.data.map((one: { readonly connectionCount: number }) => one.connectionCount),
      [2]
    )
  })
})

describe("an Idempotency-Key on surface B", () => {
  const once = (name: string) => ({
    "x-svc-api-key": svc.first.key,
    "x-svc-space-id": svc.first.spaceId,
    "idempotency-key": name
  })

  it("stores a credential once and answers the repetition word for word; another body is refused", async () => {
    const body = key("canary_key_once", { label: "Once" })
    const [first, second] = [await ask("POST", path(), body, once("b-1")), await ask("POST", path(), body, once("b-1"))]
    assert.deepStrictEqual([first.status, second.status, second.text], [201, 201, first.text])
    assert.deepStrictEqual(
      [first.headers["idempotent-replayed"], second.headers["idempotent-replayed"]],
      [undefined, "true"]
    )
    const other = await ask("POST", path(), key("canary_key_other", { label: "Once" }), once("b-1"))
    assert.deepStrictEqual([other.status, other.body.code], [400, "INVALID_REQUEST"])
    assert.strictEqual(other.body.details[0].code, "IDEMPOTENCY_KEY_REUSED")
  })

  it("rotates one once: a repetition does not undo a later rotation", async () => {
    const { id } = (await ask("POST", path(), key("canary_key_0", { label: "Twice" }))).body.data
    const rotate = (apiKey: string, name: string) =>
      ask("PUT", `${path()}/${id}`, { credential: { apiKey } }, once(name))
    const first = await rotate("canary_key_1", "b-2")
    await rotate("canary_key_2", "b-3")
    const again = await rotate("canary_key_1", "b-2")
    assert.deepStrictEqual([again.status, again.text], [200, first.text])
    assert.strictEqual(again.headers["idempotent-replayed"], "true")
    const shown = await ask("GET", `${path()}?reveal=true`)
    const found = shown.body.data.find((one: { readonly id: string }) => one.id === id)
    assert.strictEqual(found.credential.apiKey, "canary_key_2")
  })

  it("of a refused credential can be used again", async () => {
    const refused = await ask("POST", path(), key("wrong", { label: "Free" }), once("b-4"))
    assert.strictEqual(refused.status, 400, refused.text)
    const taken = await ask("POST", path(), key("canary_key_free", { label: "Free" }), once("b-4"))
    assert.deepStrictEqual([taken.status, taken.headers["idempotent-replayed"]], [201, undefined])
  })

  it("stores nothing of the body from which its secret could be guessed", async () => {
    const body = key("canary_key_kept", { label: "Kept" })
    await ask("POST", path(), body, once("b-5"))
    const rows = await svc.run(
      Effect.flatMap(
        WriterSql,
        (sql) => sql`SELECT key, hash, encode(sealed, 'escape') AS sealed
        FROM idempotent_replies`
      )
    )
    const kept = JSON.stringify(rows)
    assert.include(kept, "b-5")
    assert.notInclude(kept, "canary")
    assert.notInclude(kept, createHash("sha256").update(JSON.stringify(body)).digest("hex"))
  })
})
