/** A key that is narrowed to particular secrets or environments: which secrets it lists, reads, creates and changes. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let key: string
/** Ids of secrets, by their names. */
const ids: { [name: string]: string } = {}

beforeAll(async () => {
  svc = await startShared()
  key = svc.first.key
  for (const [name, environment] of [
    ["EVERYWHERE", null],
    ["IN_TEST", "test"],
    ["IN_LIVE", "live"]
  ] as const) {
    const made = await svc.ask("POST", "/api/v1/secrets", { key, body: { name, value: name, environment } })
    ids[name] = made.body.data.id
  }
})
afterAll(() => svc.stop())

const idOf = (name: string): string => ids[name] ?? ""

const keyFor = async (resourceScope: unknown): Promise<string> => {
  const body = { name: "narrow", mode: "live", preset: "full_access", resourceScope }
  const made = await svc.ask("POST", "/api/v1/api-keys", { key, body })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.key
}
const list = async (by: string, query = "") =>
  (await svc.ask("GET", `/api/v1/secrets${query}`, { key: by })).body.data
    .map(({ name }: { name: string }) => name)
    .sort()
const reveal = (by: string, id: string) => svc.ask("GET", `/api/v1/secrets/${id}/value`, { key: by })
const store = (by: string, body: object) => svc.ask("POST", "/api/v1/secrets", { key: by, body })
const remove = (by: string, id: string) => svc.ask("DELETE", `/api/v1/secrets/${id}`, { key: by })

const outcome = ({ body, status }: { readonly status: number; readonly body: { readonly code?: string } }) => [
  status,
  body.code
]
const outside = [403, "RESOURCE_OUT_OF_SCOPE"]

describe("a key that is narrowed to particular secrets", () => {
  it("lists these alone, on every page", async () => {
    const narrow = await keyFor([{ type: "secret", ids: [idOf("IN_TEST"), idOf("IN_LIVE")] }])
    assert.deepStrictEqual(await list(narrow), ["IN_LIVE", "IN_TEST"])
    const first = (await svc.ask("GET", "/api/v1/secrets?page_size=1", { key: narrow })).body
    const second = (
      await svc.ask("GET", `/api/v1/secrets?page_size=1&cursor=${first.page.nextCursor}`, { key: narrow })
    ).body
    assert.deepStrictEqual(
      [first.data.length, second.data.length, second.page.hasMore],
      [1, 1, false],
      "no entry is filtered out of a page that was cut before"
    )
  })

  it("reads, overwrites and deletes these, and creates no other", async () => {
    const made = (await store(key, { name: "MINE", value: "1" })).body.data
    const narrow = await keyFor([{ type: "secret", ids: [made.id] }])
    assert.strictEqual((await reveal(narrow, made.id)).body.data.value, "1")
    assert.deepStrictEqual(outcome(await reveal(narrow, idOf("IN_TEST"))), outside)
    assert.strictEqual((await store(narrow, { name: "MINE", value: "2" })).status, 200)
    assert.deepStrictEqual(outcome(await store(narrow, { name: "EVERYWHERE", value: "2" })), outside)
    assert.deepStrictEqual(outcome(await store(narrow, { name: "NEW", value: "2" })), outside)
    assert.notInclude(await list(key), "NEW")
    assert.strictEqual((await reveal(key, idOf("EVERYWHERE"))).body.data.value, "EVERYWHERE")
    assert.deepStrictEqual(outcome(await remove(narrow, idOf("IN_TEST"))), outside)
    assert.strictEqual((await remove(narrow, made.id)).status, 204)
  })
})

describe("a key that is narrowed to particular environments", () => {
  it("lists and reads their secrets and those of all environments", async () => {
    const narrow = await keyFor([{ type: "environment", ids: ["test"] }])
    assert.deepStrictEqual(await list(narrow), ["EVERYWHERE", "IN_TEST"])
    assert.deepStrictEqual(await list(narrow, "?environment=test"), ["IN_TEST"])
    assert.deepStrictEqual(await list(narrow, "?environment=live"), [])
    assert.strictEqual((await reveal(narrow, idOf("EVERYWHERE"))).status, 200)
    assert.strictEqual((await reveal(narrow, idOf("IN_TEST"))).status, 200)
    assert.deepStrictEqual(outcome(await reveal(narrow, idOf("IN_LIVE"))), outside)
  })

  it("creates, overwrites and deletes their secrets only", async () => {
    const narrow = await keyFor([{ type: "environment", ids: ["test"] }])
    assert.strictEqual((await store(narrow, { name: "IN_TEST", value: "2", environment: "TEST" })).status, 200)
    const made = await store(narrow, { name: "FRESH", value: "1", environment: "test" })
    assert.strictEqual(made.status, 201)
    for (const environment of [null, "live"])
      for (const name of ["EVERYWHERE", "IN_LIVE", "FRESH"])
        assert.deepStrictEqual(outcome(await store(narrow, { name, value: "2", environment })), outside)
    assert.deepStrictEqual(outcome(await remove(narrow, idOf("EVERYWHERE"))), outside)
    assert.deepStrictEqual(outcome(await remove(narrow, idOf("IN_LIVE"))), outside)
    assert.strictEqual((await remove(narrow, made.body.data.id)).status, 204)
    assert.deepStrictEqual(await list(key), ["EVERYWHERE", "IN_LIVE", "IN_TEST"])
  })
})

describe("an endpoint that concerns the whole organisation", () => {
  it("is closed to every narrowed key", async () => {
    const { customerId, workflowId } = svc.first
    const scopes = [
      { type: "secret", ids: [idOf("IN_TEST")] },
      { type: "environment", ids: ["test"] },
      { type: "workflow", ids: [workflowId] }
    ]
    for (const scope of scopes) {
      const narrow = await keyFor([scope])
      for (const [method, target, body] of [
        ["GET", "/api/v1/audit", undefined],
        ["GET", "/api/v1/audit/verify", undefined],
        ["POST", "/api/v1/callback-secret", {}],
        ["POST", "/api/v1/callback-secret/rotate", {}],
        ["POST", "/api/v1/users/invite", { email: "a@b.example", role: "viewer" }],
        ["DELETE", `/api/v1/customers/${customerId}`, undefined]
      ] as const) {
        const answer = await svc.ask(method, target, { key: narrow, ...(body === undefined ? {} : { body }) })
        assert.deepStrictEqual(outcome(answer), outside, `${scope.type} ${method} ${target}`)
      }
      assert.strictEqual((await svc.ask("GET", `/api/v1/customers/${customerId}`, { key: narrow })).status, 200)
    }
  })
})
