/** The scope of a key binds connectors by their slugs, with their OAuth clients and the installations that use them. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Answer, Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { scopedKey } from "../support/keys.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../support/oauthProvider.js"

let svc: Running
let provider: OAuthProvider
/** A key that is restricted to the connectors acme and slack. */
let key: string
let ids: { readonly [slug: string]: string }

const at = "/api/v1/connectors"

const ask = (method: string, target: string, as: string, body?: unknown, headers: Answer["headers"] = {}) =>
  svc.ask(method, target, { key: as, headers, ...(body === undefined ? {} : { body }) })

const publish = async (slug: string): Promise<string> => {
  const made = await ask("POST", at, svc.first.key, acme({ slug }))
  assert.strictEqual(made.status, 201, made.text)
  assert.strictEqual((await ask("POST", `${at}/${slug}/publish`, svc.first.key, {})).status, 200)
  return made.body.data.id
}

const connect = async (connector: string): Promise<string> => {
  const made = await ask("POST", "/api/v1/connections", svc.first.key, {
    connector,
    customerId: svc.first.customerId,
    config: { base: provider.url },
    authMethod: "key",
    credential: { apiKey: "canary_key_1" }
  })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}

beforeAll(async () => {
  provider = await startOAuthProvider()
  svc = await startShared()
  ids = { acme: await publish("acme"), zeta: await publish("zeta") }
  key = await scopedKey(svc, [{ type: "connector", ids: ["acme", "slack"] }])
})
afterAll(async () => {
  await svc.stop()
  await provider.close()
})

const assertOutside = ({ body, status, text }: Answer) =>
  assert.deepStrictEqual([status, body.code], [403, "RESOURCE_OUT_OF_SCOPE"], text)

const slugs = async (as: string, query = ""): Promise<ReadonlyArray<string>> => {
  const answer = await ask("GET", `${at}?${query}`, as)
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.body.data.map(({ slug }: { readonly slug: string }) => slug)
}

const client = { name: "own", methodId: "oauth", clientId: "client" }

describe("a key of particular connectors", () => {
  it("reaches these by id and by slug, the built-in ones too", async () => {
    for (const named of ["acme", ids["acme"], "slack"])
      assert.strictEqual((await ask("GET", `${at}/${named}`, key)).status, 200, named)
  })

  it("reaches no other one by any endpoint, by id or by slug, the built-in ones neither", async () => {
    for (const named of ["zeta", ids["zeta"], "github"])
      for (const [method, path, body] of [
        ["GET", "", undefined],
        ["GET", "/export", undefined],
        ["PUT", "", acme({ slug: "zeta", version: "2.0.0" })],
        ["POST", "/publish", {}],
        ["GET", "/auth-providers", undefined],
        ["PUT", "/auth-providers", client],
        ["DELETE", "/auth-providers/aup_00000000000000000000000000", undefined],
        ["DELETE", "", undefined]
      ] as const)
        assertOutside(await ask(method, `${at}/${named}${path}`, key, body))
    assert.strictEqual((await ask("GET", `${at}/zeta`, svc.first.key)).status, 200)
  })

  it("gets 404 for unknown ones", async () => {
    assert.strictEqual((await ask("GET", `${at}/unknown`, key)).status, 404)
    assert.strictEqual((await ask("GET", `${at}/ctr_00000000000000000000000000`, key)).status, 404)
  })

  it("lists these only, also page by page and with filters", async () => {
    assert.sameMembers([...(await slugs(key))], ["acme", "slack"])
    assert.deepStrictEqual(await slugs(key, "q=zeta"), [])
    const found: Array<string> = []
    let cursor = ""
    for (let page = 0; page < 3; page++) {
      const { body } = await ask("GET", `${at}?page_size=1&cursor=${cursor}`, key)
      found.push(...body.data.map(({ slug }: { readonly slug: string }) => slug))
      cursor = body.page.nextCursor ?? ""
      if (!body.page.hasMore) break
    }
    assert.deepStrictEqual(found, ["acme", "slack"])
    assert.includeMembers([...(await slugs(svc.first.key))], ["acme", "zeta", "github"])
  })

  it("creates and imports none", async () => {
    assertOutside(await ask("POST", at, key, acme({ slug: "new" })))
    assertOutside(await ask("POST", at, key, { import: { format: "svc", source: acme({ slug: "new" }) } }))
  })

  it("discovers these only, also through a connection", async () => {
    const discover = (body: object) => ask("POST", `${at}/discover`, key, body)
    assert.strictEqual((await discover({ connector: "acme" })).status, 200)
    assert.strictEqual((await discover({ connectionId: await connect("acme") })).status, 200)
    assertOutside(await discover({ connector: "zeta" }))
    assertOutside(await discover({ connectionId: await connect("zeta") }))
    const ofOther = await scopedKey(svc, [{ type: "connection", ids: ["conn_00000000000000000000000000"] }])
    assertOutside(await ask("POST", `${at}/discover`, ofOther, { connectionId: await connect("acme") }))
  })

  it("changes these and their OAuth clients", async () => {
    assert.strictEqual((await ask("PUT", `${at}/acme`, key, acme({ slug: "acme", version: "1.1.0" }))).status, 200)
    const made = await ask("PUT", `${at}/acme/auth-providers`, key, client)
    assert.strictEqual(made.status, 200, made.text)
    const removed = await ask("DELETE", `${at}/acme/auth-providers/${made.body.data.id}`, key)
    assert.strictEqual(removed.status, 204, removed.text)
  })
})

describe("an installation", () => {
  const installations = "/api/v1/installations"
  let made = 0
  const install = async (parts: object, as = svc.first.key, customerId: string = svc.first.customerId) =>
    ask("POST", installations, as, { customerId, integration: `integration-${(made += 1)}`, ...parts })
  const installed = async (parts: object, customerId?: string): Promise<string> => {
    const answer = await install(parts, svc.first.key, customerId)
    assert.strictEqual(answer.status, 201, answer.text)
    return answer.body.data.id
  }
  const listed = async (as: string): Promise<ReadonlyArray<string>> =>
    (await ask("GET", `${installations}?page_size=200`, as)).body.data.map(({ id }: { readonly id: string }) => id)

  /** For each type of scope: parts in scope, and parts of which one is out of scope. */
  const matrix = async () => {
    const [connection, other] = [await connect("acme"), await connect("acme")]
    const zeta = await connect("zeta")
    const workflow = async (name: string): Promise<string> => {
      const code = "export default async () => 1"
      const { body } = await ask("POST", "/api/v1/workflows", svc.first.key, { name, form: "code", code })
      return body.data.id
    }
    const [own, foreign] = [await workflow(`own${made}`), await workflow(`foreign${made}`)]
    return [
      {
        scope: { type: "connector", ids: ["acme"] },
        inside: { connections: { acme: connection } },
        outside: { connections: { acme: connection, zeta } }
      },
      {
        scope: { type: "connection", ids: [connection] },
        inside: { connections: { acme: connection } },
        outside: { connections: { acme: other } }
      },
      {
        scope: { type: "workflow", ids: [own] },
        inside: { workflowIds: [own] },
        outside: { workflowIds: [own, foreign] }
      }
    ] as const
  }

  it("is in scope when all of its workflows, connections and connectors are", async () => {
    for (const { inside, outside, scope } of await matrix()) {
      const narrow = await scopedKey(svc, [scope])
      const [reached, other] = [await installed(inside), await installed(outside)]
      const all = await listed(narrow)
      assert.include(all, reached, scope.type)
      assert.notInclude(all, other, scope.type)
      assert.strictEqual((await ask("GET", `${installations}/${reached}`, narrow)).status, 200)
      for (const [method, body] of [
        ["GET", undefined],
        ["PUT", { status: "paused" }],
        ["DELETE", undefined]
      ] as const)
        assertOutside(await ask(method, `${installations}/${other}`, narrow, body))
      assertOutside(await ask("PUT", `${installations}/${reached}`, narrow, outside))
      assertOutside(await install(outside, narrow))
      assert.strictEqual((await install(inside, narrow)).status, 201)
      assert.strictEqual((await ask("DELETE", `${installations}/${reached}`, narrow)).status, 204)
    }
  })

  it("can be put back as it was read, also while it needs a connection, and keeps its read-only members", async () => {
    const code = "export default async ({ connectors }) => connectors.acme.getMe({})"
    const workflow = await ask("POST", "/api/v1/workflows", svc.first.key, { name: "needing", form: "code", code })
    const target = `${installations}/${await installed({ workflowIds: [workflow.body.data.id], config: { a: 1 } })}`
    const { body } = await ask("GET", target, svc.first.key)
    const back = await ask("PUT", target, svc.first.key, { ...body.data, config: { a: 2 } })
    assert.strictEqual(back.status, 200, back.text)
    assert.deepStrictEqual(
      { ...back.body.data, updatedAt: body.data.updatedAt },
      { ...body.data, config: { a: 2 }, version: body.data.version + 1 }
    )
    for (const [member, value] of Object.entries({ id: "inst_x", customerId: "cus_x", integration: "other" })) {
      const refused = await ask("PUT", target, svc.first.key, { ...back.body.data, [member]: value })
      assert.deepStrictEqual(
        [refused.status, refused.body.code, refused.body.details[0].path],
        [422, "IMMUTABLE_FIELD", member]
      )
    }
  })

  it("can be put back after its connection has gone", async () => {
    const connection = await connect("acme")
    const target = `${installations}/${await installed({ connections: { acme: connection } })}`
    await ask("DELETE", `/api/v1/connections/${connection}`, svc.first.key)
    const { body } = await ask("GET", target, svc.first.key)
    const back = await ask("PUT", target, svc.first.key, body.data)
    assert.strictEqual(back.status, 200, back.text)
  })

  it("is uninstalled once", async () => {
    const target = `${installations}/${await installed({})}`
    assert.strictEqual((await ask("DELETE", target, svc.first.key)).status, 204)
    assert.strictEqual((await ask("DELETE", target, svc.first.key)).status, 404)
  })

  it("belongs to the customer that the headers name, or is unknown", async () => {
    const other = (await ask("POST", "/api/v1/customers", svc.first.key, { name: "Other" })).body.data.id
    const theirs = await installed({}, other)
    const headers = { "x-end-org-id": other }
    const list = await ask("GET", installations, svc.first.key, undefined, headers)
    assert.deepStrictEqual(
      list.body.data.map(({ id }: { readonly id: string }) => id),
      [theirs]
    )
    const mine = await installed({})
    assert.strictEqual((await ask("GET", `${installations}/${mine}`, svc.first.key, undefined, headers)).status, 404)
    const body = { customerId: svc.first.customerId, integration: "disagreeing" }
    const refused = await ask("POST", installations, svc.first.key, body, headers)
    assert.deepStrictEqual([refused.status, refused.body.code], [400, "INVALID_HEADER"], refused.text)
  })
})

describe("what headers name", () => {
  it("is in the scope of the key: connections by their connectors, installations by their connections", async () => {
    const [acmes, zetas] = [await connect("acme"), await connect("zeta")]
    const customer = { "x-end-org-id": svc.first.customerId }
    const run = (headers: Answer["headers"]) =>
      ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, key, {}, { ...customer, ...headers })
    assert.strictEqual((await run({ "x-svc-connections": acmes })).status, 200)
    assertOutside(await run({ "x-svc-connections": zetas }))
    const proxied = (id: string) =>
      ask("GET", "/api/v1/proxy/me", key, undefined, { ...customer, "x-svc-connections": id })
    assert.strictEqual((await proxied(acmes)).status, 200)
    assertOutside(await proxied(zetas))
    const installed = await ask("POST", "/api/v1/installations", svc.first.key, {
      customerId: svc.first.customerId,
      integration: "of-zeta",
      connections: { zeta: zetas }
    })
    assertOutside(await run({ "x-installation-id": installed.body.data.id }))
  })
})

describe("a connector that was read", () => {
  it("can be put back, as a draft and as it is published, with its OAuth clients", async () => {
    const auth = [
      {
        id: "oauth",
        type: "oauth2",
        authorizationUrl: "https://acme.example/authorize",
        tokenUrl: "https://acme.example/token",
        clientId: "client",
        clientSecret: "canary_secret"
      }
    ]
    assert.strictEqual((await ask("POST", at, svc.first.key, acme({ slug: "back", auth }))).status, 201)
    const draft = await ask("GET", `${at}/back`, svc.first.key)
    const saved = await ask("PUT", `${at}/back`, svc.first.key, { ...draft.body.data, name: "Renamed" })
    assert.strictEqual(saved.status, 200, saved.text)
    assert.deepStrictEqual(
      { ...saved.body.data, updatedAt: draft.body.data.updatedAt },
      { ...draft.body.data, name: "Renamed" }
    )
    await ask("POST", `${at}/back/publish`, svc.first.key, {})
    const read = await ask("GET", `${at}/back`, svc.first.key)
    const back = await ask("PUT", `${at}/back`, svc.first.key, read.body.data, {
      "if-match": read.headers["etag"] ?? ""
    })
    assert.deepStrictEqual([back.status, back.body.data], [200, read.body.data], back.text)
    assert.strictEqual(back.headers["etag"], read.headers["etag"])
    const exported = await ask("GET", `${at}/back/export`, svc.first.key)
    assert.strictEqual((await ask("PUT", `${at}/back`, svc.first.key, exported.body)).status, 200)
    const clients = await ask("GET", `${at}/back/auth-providers`, svc.first.key)
    assert.isTrue(clients.body.data[0].hasClientSecret)
  })

  it("keeps its read-only members: another value is refused by name", async () => {
    const { body } = await ask("GET", `${at}/back`, svc.first.key)
    const others = { id: "ctr_x", status: "draft", latestVersion: "9.9.9", redirectUri: "https://evil.example" }
    for (const [member, value] of Object.entries(others)) {
      const refused = await ask("PUT", `${at}/back`, svc.first.key, { ...body.data, [member]: value })
      assert.deepStrictEqual(
        [refused.status, refused.body.code, refused.body.details[0].path],
        [422, "IMMUTABLE_FIELD", member],
        refused.text
      )
    }
    const unknown = await ask("PUT", `${at}/back`, svc.first.key, { ...body.data, colour: "red" })
    assert.strictEqual(unknown.body.code, "UNKNOWN_FIELD")
  })
})

describe("an OAuth client that was read", () => {
  it("can be put back at its version, and keeps its read-only members", async () => {
    const put = (body: object) => ask("PUT", `${at}/zeta/auth-providers`, svc.first.key, body)
    const made = await put(client)
    const back = await put({ ...made.body.data, scopes: ["read"] })
    assert.strictEqual(back.status, 200, back.text)
    assert.deepInclude(back.body.data, { id: made.body.data.id, scopes: ["read"], version: 2 })
    const stale = await put(made.body.data)
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"])
    for (const [member, value] of Object.entries({
      id: "aup_x",
      connector: "acme",
      redirectUri: "https://x.example"
    })) {
      const refused = await put({ ...back.body.data, [member]: value })
      assert.deepStrictEqual(
        [refused.status, refused.body.code, refused.body.details[0].path],
        [422, "IMMUTABLE_FIELD", member]
      )
    }
    const fresh = await put({ ...back.body.data, name: "another" })
    assert.strictEqual(fresh.status, 409, fresh.text)
  })
})
