/** A connection whose access token has expired or was revoked recovers by one token request, whatever triggers it. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Running, start } from "../support/InProcess.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../support/oauthProvider.js"

let svc: Running
let provider: OAuthProvider
let workflowId: string

/** How far the service's clock is ahead during requests. */
let later = 0

const ask = (method: string, target: string, body?: unknown, headers: { readonly [name: string]: string } = {}) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, headers, later, ...(body === undefined ? {} : { body }) })

beforeAll(async () => {
  provider = await startOAuthProvider()
  svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
  assert.strictEqual((await ask("POST", "/connectors", acme())).status, 201)
  assert.strictEqual((await ask("POST", "/connectors/acme/publish", {})).status, 200)
  const code = "export default async () => await svc.connector.acme.me({})"
  const made = await ask("POST", "/workflows", { name: "whoami", form: "code", tier: "instant", code })
  assert.strictEqual(made.status, 201, made.text)
  workflowId = made.body.data.id
  assert.strictEqual((await ask("POST", `/workflows/${workflowId}/publish`, {})).status, 200)
})
afterAll(async () => {
  await svc.stop()
  await provider.close()
})

/** Makes requests when access tokens of so many seconds have ended, for the service and for the provider. */
const afterEnd = async <A>(seconds: number, requests: () => Promise<A>): Promise<A> => {
  provider.endAccess()
  later = seconds * 1_000 + 50
  try {
    return await requests()
  } finally {
    later = 0
  }
}

const connect = async (expiresIn: number): Promise<string> => {
  provider.behaviour.expiresIn = expiresIn
  const credential = { ...provider.issue(), expiresIn }
  provider.behaviour.expiresIn = 3_600
  const { customerId } = svc.first
  const body = { connector: "acme", customerId, config: { base: provider.url }, credential }
  const made = await ask("POST", "/connections", body)
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}

const statusOf = async (id: string): Promise<string> => (await ask("GET", `/connections/${id}`)).body.data.status

const proxied = (id: string, headers: { readonly [name: string]: string } = {}) =>
  ask("GET", "/proxy/me", undefined, { "x-svc-connections": id, ...headers })

const ways: {
  readonly [name: string]: (id: string) => Promise<{ readonly status: number; readonly text: string }>
} = {
  run: (id) =>
    ask(
      "POST",
      `/workflows/${workflowId}/execute`,
      { input: {} },
      {
        "x-svc-connections": id,
        "x-end-org-id": svc.first.customerId
      }
    ),
  proxy: (id) => proxied(id),
  test: async (id) => {
    const answer = await ask("POST", `/connections/${id}/test`)
    return { ...answer, status: answer.body.data.ok === true ? 200 : 500 }
  },
  refresh: (id) => ask("POST", `/connections/${id}/refresh`)
}

describe.each(Object.keys(ways))("%s", (way) => {
  const go = ways[way] ?? assert.fail()

  it.each([1, 20])("after the token's end, %i at once: one token request, and all succeed", async (callers) => {
    const before = provider.tokenRequests.length
    const id = await connect(2)
    const answers = await afterEnd(2, () => Promise.all(Array.from({ length: callers }, () => go(id))))
    assert.deepStrictEqual([...new Set(answers.map(({ status, text }) => (status < 300 ? 200 : text)))], [200])
    // Later requests refresh again.
    if (way !== "refresh") assert.strictEqual(provider.tokenRequests.length - before, 1)
    assert.strictEqual(await statusOf(id), "active")
  })

  it("after the provider revoked the access token: one token request, and it succeeds", async () => {
    const id = await connect(3_600)
    const before = provider.tokenRequests.length
    provider.endAccess()
    const answer = await go(id)
    assert.isBelow(answer.status, 300, answer.text)
    assert.strictEqual(provider.tokenRequests.length - before, 1)
    assert.strictEqual(await statusOf(id), "active")
  })
})

describe("The lifetime of a credential that is given", () => {
  it.each([" ", "0x10", "Infinity", "soon", "0"])("is not %j: it is a number of seconds", async (expiresIn) => {
    const credential = { ...provider.issue(), expiresIn }
    const body = { connector: "acme", customerId: svc.first.customerId, config: { base: provider.url }, credential }
    const refused = await ask("POST", "/connections", body)
    assert.strictEqual(refused.status, 422)
    assert.deepInclude(refused.body.details[0], { path: "credential.expiresIn" })
  })
})

describe("a connection", () => {
  it("that was disabled is enabled after its token has ended", async () => {
    const id = await connect(1)
    assert.strictEqual((await ask("POST", `/connections/${id}/disable`)).status, 200)
    await afterEnd(1, async () => {
      const refused = await proxied(id)
      assert.deepStrictEqual([refused.status, refused.body.code], [409, "CONNECTION_NOT_ACTIVE"])
      assert.include(refused.body.message, "/enable")
      const enabled = await ask("POST", `/connections/${id}/enable`)
      assert.strictEqual(enabled.status, 200, enabled.text)
      assert.strictEqual((await proxied(id)).status, 200)
    })
  })

  it("stays active under concurrent tests, refreshes and runs", async () => {
    const id = await connect(2)
    const many = (way: string, count: number) => Array.from({ length: count }, () => ways[way]?.(id))
    await afterEnd(2, () => Promise.all([...many("run", 100), ...many("test", 20), ...many("refresh", 20)]))
    assert.strictEqual(await statusOf(id), "active")
    for (const way of ["run", "proxy", "test"]) assert.isBelow((await ways[way]?.(id))?.status ?? 0, 300, way)
  })

  it("whose grant has ended says so, with the remedy, and is not refreshed again", async () => {
    const id = await connect(1)
    // Counts from here, since a background refresh may precede the first request.
    provider.behaviour.refuses = { status: 400, body: { error: "invalid_grant" } }
    const before = provider.tokenRequests.length
    const answers = await afterEnd(1, async () => [await proxied(id), await proxied(id)])
    provider.behaviour.refuses = undefined
    for (const { body, status } of answers) {
      assert.deepStrictEqual([status, body.code], [409, "CONNECTION_NOT_ACTIVE"])
      assert.include(body.message, "/reconnect")
    }
    assert.isAtMost(provider.tokenRequests.length - before, 1)
    assert.strictEqual(await statusOf(id), "expired")
  })
})

describe("a proxied request", () => {
  it("needs no customer if it names one connection, and cannot use another customer's connection", async () => {
    const id = await connect(3_600)
    const answer = await proxied(id)
    assert.deepStrictEqual([answer.status, answer.headers["x-svc-connection-id"]], [200, id])
    const other = await ask("POST", "/customers", { name: "Stranger" })
    const stolen = await proxied(id, { "x-end-org-id": other.body.data.id })
    assert.deepStrictEqual([stolen.status, stolen.body.code], [403, "FORBIDDEN"])
    const unknown = await proxied("conn_00000000000000000000000000")
    assert.deepStrictEqual([unknown.status, unknown.body.code], [403, "FORBIDDEN"])
  })

  it.each(["abc", "0", "-1", "1e9", "1.5", "60001"])("with the timeout %s is refused", async (text) => {
    const answer = await proxied(await connect(3_600), { "x-svc-timeout-ms": text })
    assert.deepStrictEqual([answer.status, answer.body.code], [400, "INVALID_HEADER"])
  })
})
