/** A key that reaches some customers is for their data: shared records are closed to it or read-only. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Answer, Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { eventually } from "../support/eventually.js"

let svc: Running
let key: string
let explicit: string
let own: string
let other: string

const made = async (body: object): Promise<string> => {
  const answer = await svc.ask("POST", "/api/v1/api-keys", { key: svc.first.key, body: { mode: "live", ...body } })
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.body.data.key
}

beforeAll(async () => {
  svc = await startShared()
  own = svc.first.customerId
  const neighbour = await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Neighbour" } })
  other = neighbour.body.data.id
  const customers = { mode: "subset", ids: [own] }
  key = await made({ name: "subset", preset: "full_access", customers })
  explicit = await made({
    name: "explicit",
    preset: "custom",
    permissions: { connectors: ["create", "read"], secrets: ["write"] },
    customers
  })
})
afterAll(() => svc.stop())

const ask = (method: string, target: string, body?: unknown, as = key) =>
  svc.ask(method, target, { key: as, ...(body === undefined ? {} : { body }) })

const assertClosed = ({ body, status, text }: Answer) =>
  assert.deepStrictEqual([status, body.code, body.details?.[0]?.code], [403, "FORBIDDEN", "SUBSET_KEY"], text)

const source = "export default async function () { return {} }"
const connector = {
  svcConnector: 1,
  slug: "shared",
  name: "Shared",
  kind: "crm",
  version: "1.0.0",
  baseUrl: "https://api.example.com",
  auth: [{ id: "none", type: "none" }],
  actions: [{ name: "me", request: { method: "GET", path: "/me" } }]
}

describe("a key of some customers", () => {
  it("cannot change what all customers share", async () => {
    const workflow = `/api/v1/workflows/${svc.first.workflowId}`
    for (const [method, target, body] of [
      ["POST", "/api/v1/connectors", connector],
      ["PUT", "/api/v1/connectors/shared/auth-providers", { name: "n", methodId: "m", clientId: "c" }],
      ["POST", "/api/v1/secrets", { name: "ALL", value: "x" }],
      ["PUT", "/api/v1/config", { level: "saas", key: "a.b", value: 1 }],
      ["PUT", workflow, { description: "taken over" }],
      ["POST", `${workflow}/publish`, {}],
      ["POST", `${workflow}/archive`, {}],
      ["DELETE", workflow, undefined],
      ["POST", "/api/v1/customers", { name: "Another" }],
      ["POST", "/api/v1/roles", { name: "r", parent: "viewer", permissions: {} }],
      ["POST", "/api/v1/api-keys", { name: "k" }],
      ["POST", "/api/v1/callback-secret", {}],
      ["POST", "/api/v1/callback-secret/rotate", {}]
    ] as const)
      assertClosed(await ask(method, target, body))
    const kept = await ask("GET", workflow, undefined, svc.first.key)
    assert.notStrictEqual(kept.body.data.description, "taken over")
  })

  it("reads what all customers share if its customers need it, and nothing of the organisation alone", async () => {
    for (const target of ["/api/v1/workflows", `/api/v1/workflows/${svc.first.workflowId}`, "/api/v1/connectors"])
      assert.strictEqual((await ask("GET", target)).status, 200, target)
    for (const target of ["/api/v1/api-keys", "/api/v1/users", "/api/v1/roles", "/api/v1/audit/verify"])
      assertClosed(await ask("GET", target))
    const secret = await ask("POST", "/api/v1/secrets", { name: "SHARED", value: "canary" }, svc.first.key)
    const revealed = await ask("GET", `/api/v1/secrets/${secret.body.data.id}/value`)
    assertClosed(revealed)
    assert.notInclude(revealed.text, "canary")
  })

  it("may do all that its preset allows with its own customers' records", async () => {
    const secret = await ask("POST", "/api/v1/secrets", { name: "MINE", value: "x", customerId: own })
    assert.strictEqual(secret.status, 201, secret.text)
    assert.strictEqual((await ask("GET", `/api/v1/secrets/${secret.body.data.id}/value`)).status, 200)
    const set = await ask("PUT", "/api/v1/config", { level: "tenant", scopeId: own, key: "a.b", value: 1 })
    assert.strictEqual(set.status, 200, set.text)
    const workflow = await ask("POST", "/api/v1/workflows", {
      name: "Mine",
      form: "code",
      tier: "instant",
      code: source,
      customerId: own
    })
    assert.strictEqual(workflow.status, 201, workflow.text)
    assert.strictEqual((await ask("DELETE", `/api/v1/workflows/${workflow.body.data.id}`)).status, 204)
    const foreign = await ask("PUT", `/api/v1/customers/${other}`, { name: "x" })
    assert.strictEqual(foreign.status, 404)
  })

  it("reads audit entries of its customers and itself only", async () => {
    await ask("PUT", `/api/v1/customers/${own}`, { name: "Own" }, svc.first.key)
    await ask("PUT", `/api/v1/customers/${other}`, { name: "Other" }, svc.first.key)
    const entries: ReadonlyArray<{ readonly customerId: string | null; readonly actor: { readonly name: string } }> =
      await eventually(
        async () => (await ask("GET", "/api/v1/audit?page_size=200")).body.data,
        (found) => found.some(({ customerId }: { customerId: string | null }) => customerId === own)
      )
    for (const { actor, customerId } of entries) assert.isTrue(customerId === own || actor.name === "subset")
  })

  it("with custom permissions may do what they allow", async () => {
    const answer = await ask("POST", "/api/v1/connectors", connector, explicit)
    assert.strictEqual(answer.status, 201, answer.text)
    assert.strictEqual((await ask("POST", "/api/v1/secrets", { name: "X", value: "x" }, explicit)).status, 201)
  })
})
