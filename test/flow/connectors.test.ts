/**
 * svc.connector calls the bound, pinned action through the customer's connection. Failures are typed; a waiting run is
 * suspended.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import {
  requestsTo,
  connect,
  execution,
  publishConnector,
  run,
  scripts,
  startSharedCalls,
  stopCalls,
  svc,
  systems,
  workflow
} from "../support/calls.js"
import { eventually } from "../support/eventually.js"

beforeAll(() => startSharedCalls())
afterAll(stopCalls)

describe("A workflow's call of a connector", () => {
  it("goes through the customer's connection with an Idempotency-Key, and its step in the trace shows no credential", async () => {
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
    const [created] = requestsTo("/acme-crm/create")
    assert.strictEqual(created?.headers["x-acme-key"], "canary-of-the-first")
    assert.match(created?.key ?? "", /^[0-9a-f]{64}$/)
    assert.strictEqual(created?.body, '{"name":"Ada"}')
    const seen = await execution(answer.headers["x-svc-execution-id"])
    assert.deepInclude(seen.steps[0], {
      name: "connector.acme-crm.create#1",
      connector: "acme-crm",
      action: "create",
      actionVersion: 1,
      idempotencyKey: created?.key,
      status: "completed"
    })
    assert.notProperty(seen.steps[1], "idempotencyKey")
    assert.notInclude(JSON.stringify(seen), "canary")
  })

  it("uses the customer's own connection or the named one, and never another customer's", async () => {
    await publishConnector("own")
    const other = await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Other one" } })
    const theirs = other.body.data.id
    const mine = await connect("own", "mine")
    await connect("own", "mine-too", svc.first.customerId, "second")
    const id = await workflow(
      `try { await svc.connector.own.create({ name: "x" }, ctx.input.opts); return "done" } catch (e) { return { name: e.name, code: e.code, message: e.message, category: e.category } }`
    )
    const keyOf = () => requestsTo("/own/create").at(-1)?.headers["x-acme-key"]
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

  it("uses the version of the action at the time of publishing, until the workflow is published again", async () => {
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

  it("that is not bound, unknown or has invalid arguments is refused before a request is sent", async () => {
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

  it("is retried as the connector defines, and throws the provider's message when all retries fail", async () => {
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
    const keys = new Set(requestsTo("/shaky/create").map(({ key }) => key))
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
    const count = requestsTo("/shaky/create").length
    assert.strictEqual((await run(once)).body, 503)
    assert.strictEqual(requestsTo("/shaky/create").length, count + 1)
  })

  it("reads the pages of a list, all at once or one by one", async () => {
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

  it("ends a list with a failure when the provider gives an earlier cursor again", async () => {
    await publishConnector("looped")
    await connect("looped", "k")
    scripts.set("/looped/list", (request) => {
      const after = new URL(request.url, "http://x").searchParams.get("after")
      return { body: { results: [after], next: after === "A" ? "B" : "A" } }
    })
    const id = await workflow(`
      const pages = []
      try { for await (const items of svc.connector.looped.list.pages({})) pages.push(...items) }
      catch (e) { return { pages, name: e.name, code: e.code, category: e.category, status: e.status } }`)
    assert.deepStrictEqual((await run(id)).body, {
      pages: [null, "A"],
      name: "ConnectorError",
      code: "PAGINATION_LOOP",
      category: "provider",
      status: 200
    })
  })

  it("that the provider defers suspends the run, and is sent when the time has come", async () => {
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
      ({ status }) => status === "completed"
    )
    assert.deepStrictEqual(ended.output, { nth: 2 })
    const [first, second] = requestsTo("/limited/create")
    assert.isAtLeast((second?.at ?? 0) - (first?.at ?? 0), 2_900)
    assert.strictEqual(first?.key, second?.key)
  })
})

describe("The list of a connection's actions", () => {
  it("is that of its connector's version, and only keys that reach the connection see it", async () => {
    await publishConnector("offered")
    const { id } = await connect("offered", "k")
    const ask = (connectionId: string, key: string) =>
      svc.ask("POST", "/api/v1/connectors/discover", { key, body: { connectionId } })
    const offer = await ask(id, svc.first.key)
    assert.deepStrictEqual(
      [offer.body.data.connector, offer.body.data.actions.map(({ name }: { name: string }) => name)],
      ["offered", ["create", "get", "list"]]
    )
    const other = await svc.organisation("Curious")
    const [foreign, unknown] = await Promise.all([
      ask(id, other.key),
      ask("conn_00000000000000000000000000", other.key)
    ])
    assert.deepStrictEqual([foreign.status, foreign.body.message], [404, unknown.body.message])
  })
})

describe("A run with mocks", () => {
  const mocked = (id: string, more: object) =>
    svc.ask("POST", `/api/v1/workflows/${id}/execute`, { key: svc.first.key, body: { input: {}, ...more } })

  it("takes answers from its fixtures and the actions' mocks, and sends no request", async () => {
    await publishConnector("mocked", "1.0.0", {
      actions: [
        {
          name: "get",
          request: { method: "GET", path: "/mocked/{{args.id}}" },
          mocks: [
            { name: "two", input: { id: "2" }, output: { name: "two" } },
            { name: "any", output: { name: "any" } }
          ]
        },
        { name: "create", request: { method: "POST", path: "/mocked" } }
      ]
    })
    const id = await workflow(`
      const names = []
      for (const id of ["1", "2", "3"]) names.push((await svc.connector.mocked.get({ id })).name)
      try { await svc.connector.mocked.create({}) } catch (e) { names.push(e.code) }
      return names`)
    const before = systems.requests.length
    const fixtures = [{ connector: "mocked", action: "get", input: { id: "3" }, output: { name: "three" } }]
    const full = await mocked(id, { mock: "full", fixtures })
    assert.deepStrictEqual(full.body, ["any", "two", "three", "NO_MOCK"])
    const partial = await mocked(id, { fixtures })
    assert.deepStrictEqual(partial.body, ["any", "two", "three", "CONNECTION_REQUIRED"])
    assert.strictEqual(systems.requests.length, before)
    const { steps } = await execution(full.headers["x-svc-execution-id"])
    assert.isTrue(steps[0].mocked)
    for (const wrong of [{ mock: "some" }, { fixtures: [{ action: "get" }] }])
      assert.strictEqual((await mocked(id, wrong)).status, 422)
  })

  it("can use the answers that another run recorded", async () => {
    await publishConnector("recorded")
    await connect("recorded", "k")
    scripts.set("/recorded/get/7", () => ({ body: { id: 7 } }))
    const id = await workflow(
      `return [await svc.connector.recorded.get({ id: "7" }), await svc.connector.recorded.get({ id: "7" })]`
    )
    const real = await run(id)
    const { body } = await svc.ask("GET", `/api/v1/executions/${real.headers["x-svc-execution-id"]}/fixtures`, {
      key: svc.first.key
    })
    assert.deepStrictEqual(body.data[0], {
      connector: "recorded",
      action: "get",
      input: { id: "7" },
      output: { id: 7 }
    })
    const count = requestsTo("/recorded").length
    assert.deepStrictEqual((await mocked(id, { mock: "full", fixtures: body.data })).body, real.body)
    assert.lengthOf(requestsTo("/recorded"), count)
  })
})
