/** The scope of a key binds connections by their id and by their connector, and credentials with their connection. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { makeCookieJar } from "../support/cookieJar.js"
import { eventually } from "../support/eventually.js"
import type { Answer, Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { scopedKey } from "../support/keys.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../support/oauthProvider.js"

let svc: Running
let provider: OAuthProvider
let customer: string
let otherCustomer: string
/** A connection to acme in the scope of all keys of this test. */
let inside: string
/** A connection to the same connector, in scope only of the key restricted to the connector. */
let sibling: string
/** A connection to another connector. */
let outside: string
/** Another customer's connection to acme. */
let foreign: string
let ofConnection: string
let ofConnector: string

const at = "/api/v1/connections"

const ask = (method: string, target: string, key: string, body?: unknown, headers: Answer["headers"] = {}) =>
  svc.ask(method, target, { key, headers, ...(body === undefined ? {} : { body }) })

const given = (connector: string, customerId: string, more: object = {}) => ({
  connector,
  customerId,
  config: { base: provider.url },
  authMethod: "key",
  credential: { apiKey: "canary_key_1" },
  ...more
})

const connect = async (connector: string, label: string, customerId = customer): Promise<string> => {
  const made = await ask("POST", at, svc.first.key, given(connector, customerId, { label }))
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}

const publish = async (slug: string) => {
  const made = await ask("POST", "/api/v1/connectors", svc.first.key, acme({ slug }))
  assert.strictEqual(made.status, 201, made.text)
  assert.strictEqual((await ask("POST", `/api/v1/connectors/${slug}/publish`, svc.first.key, {})).status, 200)
}

beforeAll(async () => {
  provider = await startOAuthProvider()
  svc = await startShared()
  customer = svc.first.customerId
  otherCustomer = (await ask("POST", "/api/v1/customers", svc.first.key, { name: "Other" })).body.data.id
  await publish("acme")
  await publish("zeta")
  inside = await connect("acme", "inside")
  sibling = await connect("acme", "sibling")
  outside = await connect("zeta", "outside")
  foreign = await connect("acme", "foreign", otherCustomer)
  const customers = { mode: "subset", ids: [customer] }
  ofConnection = await scopedKey(svc, [{ type: "connection", ids: [inside, foreign] }], { customers })
  ofConnector = await scopedKey(svc, [{ type: "connector", ids: ["acme"] }], { customers })
})
afterAll(async () => {
  await svc.stop()
  await provider.close()
})

const assertOutside = ({ body, status, text }: Answer) =>
  assert.deepStrictEqual([status, body.code], [403, "RESOURCE_OUT_OF_SCOPE"], text)

const assertMissing = ({ body, status, text }: Answer) =>
  assert.deepStrictEqual([status, body.code], [404, "NOT_FOUND"], text)

const orders = (id: string): ReadonlyArray<readonly [string, string, unknown]> => [
  ["GET", `${at}/${id}`, undefined],
  ["PUT", `${at}/${id}`, { label: "renamed" }],
  ["POST", `${at}/${id}/test`, undefined],
  ["POST", `${at}/${id}/refresh`, undefined],
  ["POST", `${at}/${id}/reconnect`, {}],
  ["POST", `${at}/${id}/disable`, undefined],
  ["POST", `${at}/${id}/enable`, undefined],
  ["POST", `${at}/${id}/reveal`, undefined],
  ["DELETE", `${at}/${id}`, undefined]
]

const listed = async (key: string, query = ""): Promise<ReadonlyArray<string>> => {
  const answer = await ask("GET", `${at}?${query}`, key)
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.body.data.map(({ label }: { readonly label: string }) => label)
}

describe("a key of particular connections", () => {
  it("reaches these", async () => {
    assert.strictEqual((await ask("GET", `${at}/${inside}`, ofConnection)).status, 200)
    const tested = await ask("POST", `${at}/${inside}/test`, ofConnection)
    assert.deepStrictEqual([tested.status, tested.body.data?.ok], [200, true], tested.text)
  })

  it("reaches no other one by any endpoint", async () => {
    for (const id of [sibling, outside])
      for (const [method, target, body] of orders(id)) assertOutside(await ask(method, target, ofConnection, body))
    assert.sameMembers([...(await listed(svc.first.key, `customer_id=${customer}`))], ["inside", "sibling", "outside"])
  })

  it("gets the same answers for unknown connections and other customers' ones as every key", async () => {
    for (const id of [foreign, "conn_00000000000000000000000000"])
      for (const [method, target, body] of orders(id)) assertMissing(await ask(method, target, ofConnection, body))
  })

  it("lists these only, also page by page and with filters", async () => {
    assert.deepStrictEqual(await listed(ofConnection), ["inside"])
    assert.deepStrictEqual(await listed(ofConnection, "connector=zeta"), [])
    const paged = await ask("GET", `${at}?page_size=1`, ofConnection)
    assert.deepStrictEqual(paged.body.page, { size: 1, nextCursor: null, hasMore: false })
  })

  it("creates none", async () => {
    assertOutside(await ask("POST", at, ofConnection, given("acme", customer)))
  })
})

describe("a key of particular connectors", () => {
  it("reaches all of their connections and no others, by any endpoint", async () => {
    assert.strictEqual((await ask("GET", `${at}/${sibling}`, ofConnector)).status, 200)
    for (const [method, target, body] of orders(outside)) assertOutside(await ask(method, target, ofConnector, body))
    for (const [method, target, body] of orders(foreign)) assertMissing(await ask(method, target, ofConnector, body))
  })

  it("lists their connections only", async () => {
    assert.sameMembers([...(await listed(ofConnector))], ["inside", "sibling"])
    assert.deepStrictEqual(await listed(ofConnector, "connector=zeta"), [])
  })

  it("connects to these connectors only, and the person behind the link needs no key", async () => {
    assertOutside(await ask("POST", at, ofConnector, given("zeta", customer)))
    const opened = await ask("POST", at, ofConnector, {
      connector: "acme",
      customerId: customer,
      authMethod: "oauth",
      config: { base: provider.url }
    })
    assert.strictEqual(opened.status, 201, opened.text)
    const browser = makeCookieJar()
    const visit = async (url: string) => {
      const { pathname, search } = new URL(url)
      const answer = await svc.ask("GET", `${pathname}${search}`, { headers: browser.sent() })
      browser.keep(answer.headers)
      return answer
    }
    const sent = await visit(opened.body.data.connectUrl)
    assert.strictEqual(sent.status, 303, sent.text)
    const back = provider.consent(sent.headers["location"] ?? "")
    assert.strictEqual((await visit(back.href)).status, 200)
    const connected = await ask("GET", `${at}/${opened.body.data.id}`, ofConnector)
    assert.strictEqual(connected.body.data.status, "active")
    assert.strictEqual((await ask("DELETE", `${at}/${opened.body.data.id}`, ofConnector)).status, 200)
  })
})

describe("stored credentials on surface B", () => {
  const credentials = (key: string, method: string, path = "", body?: unknown, headers: Answer["headers"] = {}) =>
    svc.ask(method, `/api/v1/tenants/${customer}/credentials${path}`, {
      headers: { "x-svc-api-key": key, "x-svc-space-id": svc.first.spaceId, ...headers },
      ...(body === undefined ? {} : { body })
    })
  const assertOutsideB = ({ body, status, text }: Answer) =>
    assert.deepStrictEqual(
      [status, body.code, body.details?.[0]?.code],
      [403, "FORBIDDEN", "RESOURCE_OUT_OF_SCOPE"],
      text
    )
  const connectionsListed = async (key: string, query = ""): Promise<ReadonlyArray<string>> => {
    const answer = await credentials(key, "GET", query)
    assert.strictEqual(answer.status, 200, answer.text)
    return answer.body.data.map(({ connectionId }: { readonly connectionId: string }) => connectionId)
  }
  const credentialOf = async (connection: string): Promise<string> => {
    const { body } = await credentials(svc.first.key, "GET")
    return body.data.find(({ connectionId }: { readonly connectionId: string }) => connectionId === connection).id
  }
  const stored = (connector: string, label: string) => ({
    connector,
    label,
    authMethod: "key",
    credential: { apiKey: "canary_key_1" },
    config: { base: provider.url }
  })

  it("are listed with the connections in scope only", async () => {
    assert.deepStrictEqual(await connectionsListed(ofConnection), [inside])
    assert.deepStrictEqual(await connectionsListed(ofConnection, "?reveal=true"), [inside])
    assert.sameMembers([...(await connectionsListed(ofConnector))], [inside, sibling])
    assert.deepStrictEqual(await connectionsListed(ofConnector, "?connector=zeta"), [])
  })

  it("are rotated in scope only", async () => {
    const rotate = async (key: string, connection: string) =>
      credentials(key, "PUT", `/${await credentialOf(connection)}`, { credential: { apiKey: "canary_key_1" } })
    assertOutsideB(await rotate(ofConnection, sibling))
    assertOutsideB(await rotate(ofConnector, outside))
    assert.strictEqual((await rotate(ofConnection, inside)).status, 200)
    assert.strictEqual((await rotate(ofConnector, sibling)).status, 200)
  })

  it("are stored if they reconnect a connection in scope; a key of connections creates none with it", async () => {
    assert.strictEqual((await credentials(ofConnection, "POST", "", stored("acme", "inside"))).status, 201)
    assertOutsideB(await credentials(ofConnection, "POST", "", stored("acme", "sibling")))
    assertOutsideB(await credentials(ofConnection, "POST", "", stored("acme", "new")))
    assertOutsideB(await credentials(ofConnector, "POST", "", stored("zeta", "outside")))
    assertOutsideB(await credentials(ofConnector, "POST", "", stored("zeta", "new")))
    const made = await credentials(ofConnector, "POST", "", stored("acme", "new"))
    assert.strictEqual(made.status, 201, made.text)
    assert.strictEqual((await ask("DELETE", `${at}/${made.body.data.connectionId}`, svc.first.key)).status, 200)
  })

  it("of another tenant than that of the headers are refused", async () => {
    const answer = await credentials(svc.first.key, "GET", "", undefined, { "x-svc-space-tenantid": otherCustomer })
    assert.deepStrictEqual([answer.status, answer.body.details?.[0]?.code], [400, "INVALID_HEADER"], answer.text)
    const body = stored("acme", "inside")
    const post = await credentials(svc.first.key, "POST", "", body, { "x-end-org-id": otherCustomer })
    assert.deepStrictEqual([post.status, post.body.details?.[0]?.code], [400, "INVALID_HEADER"], post.text)
    const same = await credentials(svc.first.key, "GET", "", undefined, { "x-svc-space-tenantid": customer })
    assert.strictEqual(same.status, 200, same.text)
  })

  it("that are shown in the clear are audited as decrypted connections", async () => {
    await credentials(svc.first.key, "GET", "?reveal=true&connector=zeta")
    const query = `action=connection.decrypt&resource_type=connection&resource_id=${outside}`
    const found: ReadonlyArray<{ readonly outcome: string }> = await eventually(
      async () => (await ask("GET", `/api/v1/audit?${query}`, svc.first.key)).body.data,
      (entries) => entries.some(({ outcome }: { readonly outcome: string }) => outcome === "success")
    )
    assert.strictEqual(found.filter(({ outcome }) => outcome === "success").length, 1)
  })
})

describe("the customer that headers name", () => {
  const named = (id: string) => ({ "x-end-org-id": id })

  it("is the only one whose connections are listed and reached", async () => {
    const list = await ask("GET", at, svc.first.key, undefined, named(otherCustomer))
    assert.deepStrictEqual(
      list.body.data.map(({ id }: { readonly id: string }) => id),
      [foreign]
    )
    assertMissing(await ask("GET", `${at}/${inside}`, svc.first.key, undefined, named(otherCustomer)))
    assert.strictEqual((await ask("GET", `${at}/${inside}`, svc.first.key, undefined, named(customer))).status, 200)
  })

  it("must be the one of the body and of the query", async () => {
    for (const answer of [
      await ask("POST", at, svc.first.key, given("acme", customer), named(otherCustomer)),
      await ask("GET", `${at}?customer_id=${customer}`, svc.first.key, undefined, named(otherCustomer))
    ])
      assert.deepStrictEqual([answer.status, answer.body.code], [400, "INVALID_HEADER"], answer.text)
  })
})
