/** svc.connector: bound, pinned, through the customer's own connection; refusals are typed, waiting holds no compute. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Connections } from "../../src/actors/ports/Connections.js"
import type { CustomerId, OrganisationId } from "../../src/domain/Ids.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { provider, type Provider, type Request } from "../support/provider.js"

let svc: Running
let systems: Provider
let names = 0
const scripts = new Map<
  string,
  (request: Request, nth: number) => { status?: number; headers?: object; body: unknown }
>()

beforeAll(async () => {
  systems = await provider((request, response) => {
    const path = request.url.split("?")[0] ?? ""
    const nth = systems.requests.filter(({ url }) => url.split("?")[0] === path).length
    const { body, headers = {}, status = 200 } = scripts.get(path)?.(request, nth) ?? { body: { path, nth } }
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(typeof body === "string" ? body : JSON.stringify(body))
  })
  svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
})
afterAll(async () => {
  await svc.stop()
  await systems.close()
})

const definition = (slug: string, version: string, more: object = {}) => ({
  svcConnector: 1,
  slug,
  name: slug,
  kind: "crm",
  version,
  baseUrl: "{{connection.config.base}}",
  connectionConfig: { type: "object", properties: { base: { type: "string" } }, required: ["base"] },
  auth: [
    {
      id: "key",
      type: "api_key",
      default: true,
      fields: [{ name: "apiKey", secret: true }],
      inject: [{ in: "header", name: "x-acme-key", value: "{{credential.apiKey}}" }]
    }
  ],
  retry: { initialMs: 10, maxAttempts: 3 },
  actions: [
    {
      name: "create",
      version: 1,
      request: { method: "POST", path: `/${slug}/create`, body: { name: "{{args.name}}" } },
      idempotency: { header: "Idempotency-Key" }
    },
    { name: "get", version: 1, request: { method: "GET", path: `/${slug}/get/{{args.id}}` } },
    {
      name: "list",
      version: 1,
      request: { method: "GET", path: `/${slug}/list`, query: { after: "{{args.cursor}}" } },
      response: { map: "$.results" },
      pagination: { type: "cursor", next: "$.next", param: "cursor", items: "$.results" }
    }
  ],
  ...more
})

const publishConnector = async (slug: string, version = "1.0.0", more: object = {}) => {
  const key = svc.first.key
  const body = definition(slug, version, more)
  const known = await svc.ask("GET", `/api/v1/connectors/${slug}`, { key })
  const made =
    known.status === 200
      ? await svc.ask("PUT", `/api/v1/connectors/${slug}`, { key, body })
      : await svc.ask("POST", "/api/v1/connectors", { key, body })
  assert.oneOf(made.status, [200, 201], made.text)
  const published = await svc.ask("POST", `/api/v1/connectors/${slug}/publish`, { key, body: {} })
  assert.strictEqual(published.status, 200, published.text)
}

const connect = (
  connector: string,
  apiKey: string,
  customerId: CustomerId = svc.first.customerId,
  label: string | null = null
) =>
  svc.run(
    Effect.flatMap(Connections, (connections) =>
      connections.connect({
        organisationId: svc.first.organisationId as OrganisationId,
        connector,
        customerId,
        userId: null,
        authMethod: null,
        authProvider: null,
        label,
        config: { base: systems.url },
        tags: {},
        metadata: {},
        credential: { apiKey: Redacted.make(apiKey) },
        redirectUrl: null,
        by: {
          actor: { type: "system", id: "test", name: "test", ip: null, userAgent: null, onBehalfOf: null },
          requestId: null
        }
      })
    )
  )

const workflow = async (body: string, tier = "instant") => {
  const key = svc.first.key
  const made = await svc.ask("POST", "/api/v1/workflows", {
    key,
    body: { name: `calls_${(names += 1)}`, form: "code", tier, code: `export default async (ctx) => { ${body} }` }
  })
  await svc.ask("POST", `/api/v1/workflows/${made.body.data.id}/publish`, { key, body: {} })
  return String(made.body.data.id)
}
const run = (id: string, input: unknown = {}, customer: string | null = svc.first.customerId) =>
  svc.ask("POST", `/api/v1/workflows/${id}/execute`, {
    key: svc.first.key,
    body: { input },
    headers: { authorization: `Bearer ${svc.first.key}`, ...(customer === null ? {} : { "x-org-id": customer }) }
  })
const execution = async (id: string | undefined) =>
  (await svc.ask("GET", `/api/v1/executions/${id}`, { key: svc.first.key })).body.data
const asked = (path: string) => systems.requests.filter(({ url }) => url.startsWith(path))

describe("A workflow's call of a connector", () => {
  it("goes through its customer's connection, under its key, and is a step that shows no credential", async () => {
    await publishConnector("acme-crm")
    await connect("acme-crm", "canary-of-the-first")
    const id = await workflow(
      `return [await svc.connector.acmeCrm.create({ name: "Ada" }), await svc.connectors["acme-crm"].get({ id: "a/b" }), await ctx.connectors.acmeCrm.get({ id: "2" })]`
    )
    const answer = await run(id)
    assert.deepStrictEqual(
      answer.body.map(({ path }: { path: string }) => path),
      ["/acme-crm/create", "/acme-crm/get/a%2Fb", "/acme-crm/get/2"]
    )
    const [created] = asked("/acme-crm/create")
    assert.strictEqual(created?.headers["x-acme-key"], "canary-of-the-first")
    assert.match(created?.key ?? "", /^[0-9a-f]{64}$/)
    assert.strictEqual(created?.body, '{"name":"Ada"}')
    const seen = await execution(answer.headers["x-svc-execution-id"])
    assert.deepInclude(seen.steps[0], {
      name: "connector.acmeCrm.create#1",
      connector: "acmeCrm",
      action: "create",
      actionVersion: 1,
      status: "completed"
    })
    assert.notInclude(JSON.stringify(seen), "canary")
  })

  it("uses each customer's own connection, the one that is named, and nobody else's", async () => {
    await publishConnector("own")
    const other = await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Other one" } })
    const theirs = other.body.data.id
    const mine = await connect("own", "mine")
    await connect("own", "mine-too", svc.first.customerId, "second")
    const id = await workflow(
      `try { await svc.connector.own.create({ name: "x" }, ctx.input.opts); return "done" } catch (e) { return { name: e.name, code: e.code, message: e.message, category: e.category } }`
    )
    const keyOf = () => asked("/own/create").at(-1)?.headers["x-acme-key"]
    assert.strictEqual((await run(id)).body, "done")
    assert.strictEqual(keyOf(), "mine")
    await run(id, { opts: { connection: "second" } })
    assert.strictEqual(keyOf(), "mine-too")
    const none = await run(id, {}, theirs)
    assert.deepInclude(none.body, { name: "ConnectorError", code: "CONNECTION_REQUIRED", category: "auth" })
    const stolen = await run(id, { opts: { connection: mine.id } }, theirs)
    const unknown = await run(id, { opts: { connection: "conn_00000000000000000000000000" } }, theirs)
    assert.strictEqual(stolen.body.code, unknown.body.code)
    assert.strictEqual(
      stolen.body.message.replace(mine.id, "X"),
      unknown.body.message.replace("conn_00000000000000000000000000", "X")
    )
    await connect("own", "theirs", theirs)
    assert.strictEqual((await run(id, {}, theirs)).body, "done")
    assert.strictEqual(keyOf(), "theirs")
    assert.match((await run(id, {}, null)).body.message, /acts for no customer/)
  })

  it("stays with the version of the action that was published, until the workflow is published again", async () => {
    await publishConnector("pinned")
    await connect("pinned", "k")
    const id = await workflow(`return await svc.connector.pinned.get({ id: "1" })`)
    const action = (version: number) => ({
      name: "get",
      version,
      request: { method: "GET", path: `/pinned/v${version}` }
    })
    await publishConnector("pinned", "1.1.0", { actions: [action(2)] })
    assert.strictEqual((await run(id)).body.path, "/pinned/get/1")
    const again = await svc.ask("POST", `/api/v1/workflows/${id}/publish`, { key: svc.first.key, body: {} })
    assert.deepInclude(again.body.data, { version: 2, created: true })
    const same = await svc.ask("POST", `/api/v1/workflows/${id}/publish`, { key: svc.first.key, body: {} })
    assert.deepInclude(same.body.data, { version: 2, created: false })
    assert.strictEqual(
      (
        await eventually(
          () => run(id),
          ({ body }) => body.path !== "/pinned/get/1"
        )
      ).body.path,
      "/pinned/v2"
    )
  })

  it("that is not bound, not known or not well said is refused before anything is sent", async () => {
    await publishConnector("strict")
    await connect("strict", "k")
    const attempt = async (call: string) =>
      (
        await run(
          await workflow(
            `try { return await ${call} } catch (e) { return { name: e.name, code: e.code, message: e.message } }`
          )
        )
      ).body
    const before = systems.requests.length
    assert.deepInclude(await attempt(`svc.connector[["str", "ict"].join("")].get({ id: "1" })`), {
      name: "ConnectorError",
      code: "UNBOUND_CONNECTOR"
    })
    assert.match((await attempt("svc.connector.strict.gett({})")).message, /strict has create, get, list/)
    assert.match((await attempt("svc.connector.nowhere.get({})")).message, /no such connector/)
    assert.match(
      (await attempt("svc.connector.strict.get({ id: '1' }, { retires: false })")).message,
      /no option retires/
    )
    assert.match((await attempt("svc.connector.strict.get({ id: '..' })")).message, /args\.id/)
    assert.strictEqual(systems.requests.length, before)
  })

  it("is tried again as the connector says, and throws the provider's words when that does not help", async () => {
    await publishConnector("shaky")
    await connect("shaky", "k")
    scripts.set("/shaky/create", (_, nth) => (nth < 3 ? { status: 503, body: "busy" } : { body: { ok: nth } }))
    scripts.set("/shaky/get/1", () => ({ status: 422, body: { error: { code: "bad_name", message: "No such name" } } }))
    const id = await workflow(`
      const made = await svc.connector.shaky.create({ name: "x" })
      try { await svc.connector.shaky.get({ id: "1" }) } catch (e) {
        return { made, is: e instanceof ConnectorError, name: e.name, message: e.message, status: e.status, body: e.body, category: e.category, retryable: e.retryable, connector: e.connector, action: e.action, code: e.code }
      }`)
    const answer = await run(id)
    assert.deepStrictEqual(answer.body, {
      made: { ok: 3 },
      is: true,
      name: "ConnectorError",
      message: "shaky.get: No such name",
      status: 422,
      body: { error: { code: "bad_name", message: "No such name" } },
      category: "provider",
      retryable: false,
      connector: "shaky",
      action: "get",
      code: "bad_name"
    })
    const keys = new Set(asked("/shaky/create").map(({ key }) => key))
    assert.strictEqual(keys.size, 1)
    const { steps } = await execution(answer.headers["x-svc-execution-id"])
    assert.deepStrictEqual(
      steps[0].attempts.map((one: { error: { message: string } | null }) => one.error?.message ?? null),
      ["shaky.create: HTTP 503: busy", "shaky.create: HTTP 503: busy", null]
    )
    const once = await workflow(
      `try { await svc.connector.shaky.create({}, { retry: false }) } catch (e) { return e.status }`
    )
    scripts.set("/shaky/create", () => ({ status: 503, body: "busy" }))
    const count = asked("/shaky/create").length
    assert.strictEqual((await run(once)).body, 503)
    assert.strictEqual(asked("/shaky/create").length, count + 1)
  })

  it("goes through the pages of a list, all or one by one", async () => {
    await publishConnector("paged")
    await connect("paged", "k")
    scripts.set("/paged/list", (request) => {
      const at = Number(new URL(request.url, "http://x").searchParams.get("after") ?? 0)
      return { body: { results: [at, at + 1], next: at < 4 ? String(at + 2) : null } }
    })
    const id = await workflow(`
      const sizes = []
      for await (const items of svc.connector.paged.list.pages({})) sizes.push(items.length)
      return { all: await svc.connector.paged.list.all(), some: await svc.connector.paged.list.all({}, { max: 3 }), sizes, plain: await svc.connector.paged.list({}) }`)
    assert.deepStrictEqual((await run(id)).body, {
      all: [0, 1, 2, 3, 4, 5],
      some: [0, 1, 2],
      sizes: [2, 2, 2],
      plain: [0, 1]
    })
  })

  it("that its provider does not take yet waits without compute, and is made when the time has come", async () => {
    await publishConnector("limited")
    await connect("limited", "k")
    scripts.set("/limited/create", (_, nth) =>
      nth === 1 ? { status: 429, headers: { "retry-after": "3" }, body: {} } : { body: { nth } }
    )
    const id = await workflow(`return await svc.connector.limited.create({ name: "x" })`, "standard")
    const started = await run(id)
    assert.strictEqual(started.status, 202)
    const waiting = await eventually(
      () => execution(started.body.executionId),
      ({ waiting }) => waiting !== null
    )
    assert.deepInclude(waiting.waiting, { kind: "rate_limit", step: "connector.limited.create#1" })
    const ended = await eventually(
      () => execution(started.body.executionId),
      ({ status }) => status === "completed",
      15_000
    )
    assert.deepStrictEqual(ended.output, { nth: 2 })
    const [first, second] = asked("/limited/create")
    assert.isAtLeast((second?.at ?? 0) - (first?.at ?? 0), 2_900)
    assert.strictEqual(first?.key, second?.key)
  }, 30_000)
})

describe("The connections that a request names", () => {
  const names = (value: string, customer: string | null = svc.first.customerId) => ({
    authorization: `Bearer ${svc.first.key}`,
    "x-svc-connections": value,
    ...(customer === null ? {} : { "x-org-id": customer })
  })
  const runWith = (id: string, headers: Readonly<Record<string, string>>, input: unknown = {}) =>
    svc.ask("POST", `/api/v1/workflows/${id}/execute`, { key: svc.first.key, body: { input }, headers })

  it("are the only ones that its run may use, by alias too", async () => {
    await publishConnector("named")
    const first = await connect("named", "first")
    const second = await connect("named", "second", svc.first.customerId, "spare")
    const id = await workflow(
      `try { await svc.connector.named.create({}, ctx.input.opts); return "done" } catch (e) { return e.code }`
    )
    const keyOf = () => asked("/named/create").at(-1)?.headers["x-acme-key"]
    assert.strictEqual((await runWith(id, names(second.id))).body, "done")
    assert.strictEqual(keyOf(), "second")
    assert.strictEqual(
      (await runWith(id, names(`named:ops=${first.id}`), { opts: { connection: "ops" } })).body,
      "done"
    )
    assert.strictEqual(keyOf(), "first")
    const outside = await runWith(id, names(first.id), { opts: { connection: "spare" } })
    assert.strictEqual(outside.body, "CONNECTION_REQUIRED")
  })

  it("must be the customer's own, and of the connector that is said", async () => {
    await publishConnector("checked")
    const { id } = await connect("checked", "k")
    const flow = await workflow("return 1")
    const other = (await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Stranger" } })).body
      .data
    const stolen = await runWith(flow, names(id, other.id))
    const unknown = await runWith(flow, names("conn_00000000000000000000000000", other.id))
    for (const answer of [stolen, unknown, await runWith(flow, names(id, null))])
      assert.deepStrictEqual([answer.status, answer.body.code], [403, "FORBIDDEN"])
    assert.strictEqual(stolen.body.message, unknown.body.message)
    const wrong = await runWith(flow, names(`acme-crm=${id}`))
    assert.deepStrictEqual([wrong.status, wrong.body.code], [400, "INVALID_HEADER"])
  })
})

describe("The proxy", () => {
  const through = (
    method: string,
    target: string,
    headers: Readonly<Record<string, string>> = {},
    body?: unknown,
    key = svc.first.key
  ) =>
    svc.ask(method, `/api/v1/proxy/${target}`, {
      key,
      ...(body === undefined ? {} : { body }),
      headers: {
        authorization: `Bearer ${key}`,
        "x-svc-connector": "passage",
        "x-org-id": svc.first.customerId,
        ...headers
      }
    })

  it("passes a request through a connection with its credential, and the answer back as it is", async () => {
    await publishConnector("passage")
    const { id } = await connect("passage", "canary-key")
    scripts.set("/v9/orders", (request) => ({
      status: 418,
      headers: { "x-own": "1", "set-cookie": "sid=1" },
      body: { got: request.body, agent: request.headers["x-mine"] }
    }))
    const answer = await through("POST", "v9/orders?limit=2&q=a%20b", { "x-mine": "yes", cookie: "no=1" }, { total: 1 })
    assert.deepStrictEqual([answer.status, answer.body], [418, { got: '{"total":1}', agent: "yes" }])
    assert.deepInclude(answer.headers, { "x-own": "1", "x-svc-connection-id": id })
    assert.isUndefined(answer.headers["set-cookie"])
    const sent = asked("/v9/orders").at(-1)
    assert.strictEqual(sent?.url, "/v9/orders?limit=2&q=a%20b")
    assert.deepInclude(sent?.headers, { "x-acme-key": "canary-key", "x-mine": "yes" })
    for (const hidden of ["authorization", "cookie", "x-org-id", "x-svc-connector"])
      assert.isUndefined(sent?.headers[hidden], hidden)
    const trail = await eventually(
      () => svc.ask("GET", `/api/v1/audit?action=proxy.call&resource_id=${id}`, { key: svc.first.key }),
      ({ body }) => body.data.length > 0
    )
    assert.deepInclude(trail.body.data[0], { outcome: "success", customerId: svc.first.customerId })
  })

  it("tries again what is harmless, as the connector says, and hands over the last answer", async () => {
    scripts.set("/flaky", (_, nth) => (nth < 3 ? { status: 503, body: {} } : { body: { nth } }))
    assert.deepStrictEqual((await through("GET", "flaky")).body, { nth: 3 })
    scripts.set("/down", () => ({ status: 503, body: { down: true } }))
    const down = await through("GET", "down")
    assert.deepStrictEqual([down.status, down.body, asked("/down").length], [503, { down: true }, 3])
    scripts.set("/broken", () => ({ status: 502, body: {} }))
    assert.strictEqual((await through("POST", "broken", {}, {})).status, 502)
    assert.lengthOf(asked("/broken"), 1)
    assert.strictEqual((await through("POST", "broken", { "idempotency-key": "k" }, {})).status, 502)
    assert.lengthOf(asked("/broken"), 4)
  })

  it("goes nowhere but below the connector's base URL, and says what is missing", async () => {
    const before = systems.requests.length
    for (const target of ["../x", "a/%2e%2e/b", "a%2fb", "a//b", "a\\b", "%00"]) {
      const answer = await through("GET", target)
      assert.oneOf(answer.status, [400, 404], target)
    }
    const nameless = await through("GET", "x", { "x-svc-connector": "" })
    assert.deepStrictEqual([nameless.status, nameless.body.code], [400, "INVALID_HEADER"])
    const unconnected = await through("GET", "x", { "x-svc-connector": "nowhere" })
    assert.deepStrictEqual(
      [unconnected.status, unconnected.body.code, unconnected.body.connector],
      [409, "CONNECTION_REQUIRED", "nowhere"]
    )
    assert.strictEqual(systems.requests.length, before)
  })
})
