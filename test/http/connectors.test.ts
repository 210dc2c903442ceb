import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Connectors } from "../../src/actors/ports/connection/Connectors.js"
import { catalogue } from "../../src/domain/connectors/index.js"
import { acme } from "../support/connectors.js"
import { eventually } from "../support/eventually.js"
import { type Ask, type Running, start } from "../support/InProcess.js"

let svc: Running
let key: string

beforeAll(async () => {
  svc = await start()
  key = svc.first.key
})
afterAll(() => svc.stop())

const at = "/api/v1/connectors"
const ask = (method: string, path = "", more: Ask = {}) => svc.ask(method, `${at}${path}`, { key, ...more })

const create = async (document: object) => {
  const made = await ask("POST", "", { body: document })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data
}

const find = (slug: string, version?: string) =>
  svc.run(Effect.flatMap(Connectors, (connectors) => connectors.find(svc.first.organisationId, slug, version)))

describe("a connector", () => {
  it("is a draft until it is published; then every node knows it within a second", async () => {
    const made = await ask("POST", "", { body: acme("lifecycle") })
    assert.strictEqual(made.status, 201, made.text)
    const { id, ...data } = made.body.data
    assert.match(id, /^ctr_[0-9a-hjkmnp-tv-z]{26}$/)
    assert.deepInclude(data, {
      slug: "lifecycle",
      status: "draft",
      version: "1.0.0",
      latestVersion: null,
      visibility: "private"
    })
    assert.deepStrictEqual([made.headers["location"], made.headers["etag"]], [`${at}/${id}`, '"1"'])
    assert.isTrue(Option.isNone(await find("lifecycle")))
    const published = await ask("POST", "/lifecycle/publish", { body: { notes: "first" } })
    assert.deepInclude(published.body.data, { status: "published", version: "1.0.0", latestVersion: "1.0.0" })
    await eventually(() => find("lifecycle"), Option.isSome)
    const again = await ask("POST", `/${id}/publish`, { body: {} })
    assert.deepStrictEqual([again.status, again.headers["etag"]], [200, published.headers["etag"]])
    const trail = await svc.ask("GET", `/api/v1/audit?resource_id=${id}`, { key })
    assert.deepStrictEqual(
      trail.body.data.map(({ action }: { action: string }) => action).filter((one: string) => !one.endsWith(".read")),
      ["connector.publish", "connector.publish", "connector.create"]
    )
  })

  it("changes by new versions: the published one is unchanged, and versions of actions are incremented", async () => {
    const { id } = await create(acme("versions"))
    await ask("POST", `/${id}/publish`, { body: {} })
    const me = { name: "getMe", request: { method: "GET", path: "/v2/me" } }
    const same = await ask("PUT", `/${id}`, { body: acme("versions", { actions: [me] }) })
    assert.deepStrictEqual([same.status, same.body.details[0].path], [422, "version"])
    assert.include(same.body.message, "1.0.1")
    const draft = await ask("PUT", `/${id}`, {
      body: acme("versions", { version: "1.1.0", actions: [me] }),
      headers: { "if-match": '"2"' }
    })
    assert.strictEqual(draft.status, 200, draft.text)
    assert.deepInclude(draft.body.data, { version: "1.1.0", latestVersion: "1.0.0", status: "published" })
    const more = await ask("PUT", `/${id}`, { body: acme("versions", { version: "1.2.0", actions: [me] }) })
    assert.strictEqual(more.status, 200, more.text)
    assert.strictEqual((await ask("GET", `/${id}?version=1.0.0`)).body.data.actions[0].request.path, "/me")
    assert.strictEqual((await ask("GET", `/${id}?version=1.1.0`)).status, 404)
    const published = await ask("POST", `/${id}/publish`, { body: {} })
    assert.deepStrictEqual([published.body.data.latestVersion, published.body.data.actions[0].version], ["1.2.0", 2])
    await eventually(
      () => find("versions"),
      (found) => Option.isSome(found) && found.value.version === "1.2.0"
    )
    const old = await svc.run(
      Effect.flatMap(Connectors, (connectors) =>
        connectors.withAction(svc.first.organisationId, "versions", { name: "getMe", version: 1, bound: true })
      )
    )
    assert.deepStrictEqual(
      Option.map(old, ({ actions }) => actions[0]?.request.path),
      Option.some("/me")
    )
    assert.strictEqual(Option.getOrThrow(await find("versions", "1.0.0")).version, "1.0.0")
    const stale = await ask("PUT", `/${id}`, {
      body: acme("versions", { version: "1.3.0" }),
      headers: { "if-match": '"1"' }
    })
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"])
    const renamed = await ask("PUT", `/${id}`, { body: acme("other", { version: "1.3.0" }) })
    assert.strictEqual(renamed.body.details[0].path, "slug")
  })

  it("keeps its three newest action versions callable, and every bound one", async () => {
    const { id } = await create(acme("kept"))
    for (let n = 1; n <= 5; n++) {
      const actions = [{ name: "getMe", request: { method: "GET", path: `/v${n}` } }]
      const saved = await ask("PUT", `/${id}`, { body: acme("kept", { version: `1.${n}.0`, actions }) })
      assert.strictEqual(saved.status, 200, saved.text)
      await ask("POST", `/${id}/publish`, { body: {} })
    }
    const callable = async (version: number, bound: boolean) => {
      const found = await svc.run(
        Effect.flatMap(Connectors, (connectors) =>
          connectors.withAction(svc.first.organisationId, "kept", { name: "getMe", version, bound })
        )
      )
      return Option.getOrNull(Option.map(found, ({ actions }) => actions[0]?.request.path ?? ""))
    }
    await eventually(
      () => callable(5, false),
      (path) => path === "/v5"
    )
    const paths = []
    for (const [version, bound] of [
      [5, false],
      [3, false],
      [2, false],
      [2, true],
      [1, true],
      [6, true]
    ] as const) {
      paths.push(await callable(version, bound))
    }
    assert.deepStrictEqual(paths, ["/v5", "/v3", null, "/v2", "/v1", null])
  })

  it("with mistakes is refused with the path of every one", async () => {
    const wrong = await ask("POST", "", {
      body: acme("wrong", {
        baseUrl: "http://x.example",
        test: { action: "nope" },
        actions: [{ name: "a b", request: { method: "GET", path: "x" } }]
      })
    })
    assert.deepStrictEqual([wrong.status, wrong.body.code], [422, "VALIDATION_FAILED"])
    assert.deepStrictEqual(wrong.body.details.map(({ path }: { path: string }) => path).sort(), [
      "actions[0].name",
      "actions[0].request.path",
      "baseUrl",
      "test.action"
    ])
    assert.strictEqual((await ask("POST", "", { body: acme("discover") })).body.code, "RESERVED_NAME")
    assert.strictEqual((await ask("POST", "", { body: { ...acme("x"), color: 1 } })).body.code, "UNKNOWN_FIELD")
    assert.strictEqual((await ask("POST", "", { body: {} })).status, 422)
    assert.strictEqual((await ask("GET", "?q=wrong")).body.data.length, 0)
  })

  it("has a unique slug; that of a deleted one is free again", async () => {
    const { id } = await create(acme("mine"))
    const taken = await ask("POST", "", { body: acme("mine") })
    assert.deepStrictEqual([taken.status, taken.body.code], [409, "CONFLICT"])
    assert.strictEqual((await ask("DELETE", "/mine")).status, 204)
    assert.deepStrictEqual([(await ask("GET", `/${id}`)).status, (await ask("DELETE", `/${id}`)).status], [404, 404])
    await create(acme("mine"))
  })

  it("is exported as a file that can be imported again", async () => {
    const { id } = await create(
      acme("exported", { connectionConfig: { type: "object", properties: { z: {}, a: {} } } })
    )
    const file = await ask("GET", `/${id}/export`)
    assert.strictEqual(file.headers["content-disposition"], 'attachment; filename="exported.connector.json"')
    assert.deepStrictEqual(Object.keys(file.body.connectionConfig.properties), ["z", "a"])
    const again = await ask("POST", "", { body: { import: { format: "svc", source: file.body, slug: "imported" } } })
    assert.strictEqual(again.status, 201, again.text)
    assert.deepStrictEqual((await ask("GET", "/imported/export")).body, { ...file.body, slug: "imported" })
    const text = await ask("POST", "", { body: { import: { format: "svc", source: file.text, slug: "from-text" } } })
    assert.strictEqual(text.status, 201, text.text)
  })

  it("of another organisation is unknown, and not in lists", async () => {
    const { id } = await create(acme("hidden"))
    const { key: other } = await svc.organisation("Elsewhere")
    for (const [method, path, body] of [
      ["GET", `/${id}`],
      ["GET", "/hidden/export"],
      ["PUT", "/hidden", acme("hidden", { version: "2.0.0" })],
      ["DELETE", `/${id}`],
      ["POST", `/${id}/publish`, {}],
      ["GET", `/${id}/auth-providers`]
    ] as const) {
      const answer = await ask(method, path, { key: other, ...(body === undefined ? {} : { body }) })
      assert.deepStrictEqual([answer.status, answer.body.code], [404, "NOT_FOUND"], `${method} ${path}`)
    }
    assert.notInclude((await ask("GET", "?page_size=200", { key: other })).text, "hidden")
  })
})

describe("the list", () => {
  it("has the organisation's own first, then the built-in ones, without gaps or repeats over its pages", async () => {
    const { key: fresh } = await svc.organisation("Listed")
    for (const slug of ["one", "two", "three"])
      assert.strictEqual((await ask("POST", "", { key: fresh, body: acme(slug) })).status, 201)
    const seen: Array<string> = []
    let cursor = ""
    for (let page = 0; page < 50; page++) {
      const { body } = await ask("GET", `?page_size=2${cursor === "" ? "" : `&cursor=${cursor}`}`, { key: fresh })
      seen.push(...body.data.map(({ slug }: { slug: string }) => slug))
      if (!body.page.hasMore) break
      cursor = body.page.nextCursor
    }
    assert.deepStrictEqual(seen.slice(0, 3), ["three", "two", "one"])
    assert.deepStrictEqual(
      seen.slice(3).sort(),
      catalogue()
        .map(({ slug }) => slug)
        .sort()
    )
  })

  it("filters by kind and text, and shows actions only on request", async () => {
    await create(acme("findable", { kind: "chat" }))
    const { body } = await ask("GET", "?kind=chat&q=FINDABLE")
    assert.deepStrictEqual(
      body.data.map(({ slug }: { slug: string }) => slug),
      ["findable"]
    )
    assert.deepStrictEqual(body.data[0].actions, [{ name: "getMe", version: 1, title: "getMe", readOnly: true }])
    const whole = await ask("GET", "?q=findable&include=actions")
    assert.strictEqual(whole.body.data[0].actions[0].request.path, "/me")
    assert.strictEqual((await ask("GET", "?kind=toaster")).status, 400)
  })
})

describe("a built-in connector", () => {
  const [builtIn] = catalogue()

  it("is readable for everyone, and cannot be changed", async () => {
    const slug = builtIn?.slug ?? assert.fail("the catalogue is empty")
    const found = await ask("GET", `/${slug}`)
    assert.deepInclude(found.body.data, { slug, visibility: "managed", status: "published" })
    assert.strictEqual((await ask("GET", `/${found.body.data.id}`)).body.data.slug, slug)
    for (const [method, path, body] of [
      ["PUT", "", acme(slug)],
      ["DELETE", ""],
      ["POST", "/publish", {}]
    ] as const) {
      const answer = await ask(method, `/${slug}${path}`, body === undefined ? {} : { body })
      assert.deepStrictEqual([answer.status, answer.body.code], [409, "CONFLICT"])
    }
    assert.strictEqual(Option.getOrThrow(await find(slug)).slug, slug)
  })

  it("is replaced by one of the organisation's own with its slug, once that is published", async () => {
    const slug = builtIn?.slug ?? ""
    const { id } = await create(acme(slug, { name: "Mine" }))
    assert.strictEqual((await ask("GET", `/${slug}`)).body.data.name, "Mine")
    assert.deepStrictEqual(
      (await ask("GET", `?q=${slug}`)).body.data.filter((one: { slug: string }) => one.slug === slug).length,
      1
    )
    await ask("POST", `/${id}/publish`, { body: {} })
    await eventually(
      () => find(slug),
      (found) => Option.isSome(found) && found.value.name === "Mine"
    )
    await ask("DELETE", `/${id}`)
    await eventually(
      () => find(slug),
      (found) => Option.isSome(found) && found.value.name === builtIn?.name
    )
  })
})
