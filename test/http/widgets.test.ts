/** Widgets: a draft that is changed, versions that stay, refusals with their place, limits, and who reaches them. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Answer } from "../support/InProcess.js"
import { scopedKey } from "../support/keys.js"
import { WriterSql } from "../support/Sql.js"
import { definition, publishConnector, startCalls, stopCalls, svc } from "../support/calls.js"

const at = "/api/v1/widgets"
let names = 0
const unique = () => `widget ${(names += 1)}`

const ask = (method: string, path: string, body?: unknown, headers: Answer["headers"] = {}, key = svc.first.key) =>
  svc.ask(method, `${at}${path}`, { key, headers, ...(body === undefined ? {} : { body }) })

const create = (body: object = {}, key = svc.first.key) => ask("POST", "", { name: unique(), ...body }, {}, key)

const made = async (body: object = {}) => {
  const answer = await create(body)
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.body.data
}

const publish = (id: string, key = svc.first.key) => ask("POST", `/${id}/publish`, undefined, {}, key)
const published = async (id: string) => {
  const answer = await publish(id)
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.body.data
}

const workflow = async (more: object = {}): Promise<string> => {
  const body = { name: `workflow_${(names += 1)}`, form: "code", code: "export default async () => 1", ...more }
  const answer = await svc.ask("POST", "/api/v1/workflows", { key: svc.first.key, body })
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.body.data.id
}

const placesOf = ({ body }: Answer): ReadonlyArray<string> =>
  (body.details ?? []).map(({ path }: { readonly path: string }) => path)

const refusedAt = ({ body, status, text }: Answer, ...places: ReadonlyArray<string>) => {
  assert.deepStrictEqual([status, body.code], [422, "VALIDATION_FAILED"], text)
  assert.deepStrictEqual(placesOf({ body } as Answer), places, text)
}

beforeAll(async () => {
  await startCalls()
  await publishConnector("widget-crm")
})
afterAll(() => stopCalls())

describe("a widget", () => {
  it("is created with what it leaves out, read, changed at its version, listed and deleted", async () => {
    const { body, headers, status } = await create({ name: "Einstellungen für Kunden" })
    assert.strictEqual(status, 201)
    const { id } = body.data
    assert.match(id, /^wdg_/)
    assert.deepInclude(body.data, {
      slug: "einstellungen-fur-kunden",
      connectors: [],
      theme: {},
      locale: "en",
      allowedOrigins: [],
      features: { integrations: [], actions: [], runs: false, disconnect: true },
      status: "draft",
      publishedVersion: null,
      version: 1
    })
    assert.notProperty(body.data, "organisationId")
    assert.deepStrictEqual([headers["etag"], headers["location"]], ['"1"', `${at}/${id}`])
    assert.deepStrictEqual((await ask("GET", `/${id}`)).body.data, body.data)

    const changed = await ask("PUT", `/${id}`, { locale: "de" }, { "if-match": '"1"' })
    assert.deepInclude(changed.body.data, { locale: "de", name: "Einstellungen für Kunden", version: 2 })
    const stale = await ask("PUT", `/${id}`, { locale: "en" }, { "if-match": '"1"' })
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"])
    const sentBack = await ask("PUT", `/${id}`, changed.body.data)
    assert.strictEqual(sentBack.status, 200, sentBack.text)
    const forged = await ask("PUT", `/${id}`, { status: "published" })
    assert.deepStrictEqual([forged.status, forged.body.code], [422, "IMMUTABLE_FIELD"])

    const ids = async (query: string) => (await ask("GET", query)).body.data.map((one: { id: string }) => one.id)
    assert.deepStrictEqual(await ids("?q=einstellungen"), [id])
    assert.notInclude(await ids("?status=published"), id)
    assert.include(await ids("?status=draft"), id)
    assert.strictEqual((await ask("DELETE", `/${id}`)).status, 204)
    for (const gone of [await ask("GET", `/${id}`), await ask("DELETE", `/${id}`), await publish(id)])
      assert.strictEqual(gone.status, 404, gone.text)
  })

  it("has a slug of its own: one from the name is changed if it is taken, one that is given is refused", async () => {
    const first = await made({ name: "Panel" })
    const second = await made({ name: "Panel" })
    assert.strictEqual(first.slug, "panel")
    assert.match(second.slug, /^panel-[0-9a-z]{8}$/)
    const taken = await create({ slug: "panel" })
    assert.deepStrictEqual([taken.status, taken.body.code], [409, "CONFLICT"])
    assert.include(taken.body.message, "widget with this slug")
    assert.strictEqual((await ask("PUT", `/${second.id}`, { slug: "panel" })).status, 409)
    assert.match((await made({ name: "設定" })).slug, /^widget-/)
  })

  it("is refused with the place of each mistake", async () => {
    refusedAt(
      await create({
        theme: { colors: { text: "#777777", background: "#ffffff" } },
        allowedOrigins: ["https://app.example.com", "https://app.example.com/"],
        features: { actions: [{ id: "a", title: "A", workflowId: "wf_1", confirm: "" }] },
        locale: "fr"
      }),
      "theme.colors.text",
      "locale",
      "allowedOrigins[1]",
      "features.actions[0].confirm"
    )
    const contrast = await create({ theme: { colors: { text: "#777777", background: "#ffffff" } } })
    assert.include(contrast.body.message, "4.47:1")
  })

  it("is one of a hundred of an organisation at most", async () => {
    const { key } = await svc.organisation("Many widgets")
    const answers = await Promise.all(Array.from({ length: 101 }, (_, n) => create({ name: `widget ${n}` }, key)))
    const refused = answers.filter(({ status }) => status !== 201)
    assert.lengthOf(refused, 1)
    assert.deepStrictEqual([refused[0]?.status, refused[0]?.body.code], [403, "PLAN_LIMIT_REACHED"])
  })
})

describe("a published widget", () => {
  it("keeps its version while the draft is changed, and has the next one when that is published", async () => {
    const run = await workflow()
    const { id } = await made({
      connectors: ["widget-crm", "hubspot"],
      theme: { radius: 4 },
      features: {
        integrations: [{ slug: "contacts", title: "Contacts", connectors: ["widget-crm"], workflowIds: [run] }],
        actions: [{ id: "run", title: "Run", workflowId: run, inputSchema: { type: "object" } }]
      }
    })
    const first = await published(id)
    assert.deepInclude(first, { status: "published", publishedVersion: 1, version: 2 })
    const frozen = (await ask("GET", `/${id}/versions`)).body.data
    assert.lengthOf(frozen, 1)
    const { allowedOrigins, connectors, features, locale, name, theme } = first
    assert.deepInclude(frozen[0], { number: 1, allowedOrigins, connectors, features, locale, name, theme })
    assert.notProperty(frozen[0], "widgetId")

    const changed = await ask("PUT", `/${id}`, { theme: {}, features: { runs: true }, connectors: ["stripe"] })
    assert.deepInclude(changed.body.data, { status: "published", publishedVersion: 1, theme: {} })
    assert.deepStrictEqual((await ask("GET", `/${id}/versions`)).body.data, frozen)

    assert.strictEqual((await published(id)).publishedVersion, 2)
    const both = (await ask("GET", `/${id}/versions`)).body.data
    assert.deepStrictEqual([both.length, both[0].number, both[0].features.runs, both[1]], [2, 2, true, frozen[0]])
  })

  it("has no new version without a change, nor for one that was taken back", async () => {
    const { id } = await made({ theme: { radius: 1 } })
    const first = await published(id)
    assert.deepStrictEqual(await published(id), first)
    await ask("PUT", `/${id}`, { theme: { radius: 2 } })
    await ask("PUT", `/${id}`, { theme: { radius: 1 } })
    assert.strictEqual((await published(id)).publishedVersion, 1)
    assert.lengthOf((await ask("GET", `/${id}/versions`)).body.data, 1)
  })

  it("lists its versions in pages, newest first", async () => {
    const { id } = await made()
    for (const radius of [1, 2, 3, 4, 5]) {
      await ask("PUT", `/${id}`, { theme: { radius } })
      await published(id)
    }
    const numbers: Array<number> = []
    for (let cursor = ""; ;) {
      const { body } = await ask("GET", `/${id}/versions?page_size=2&cursor=${cursor}`)
      numbers.push(...body.data.map((one: { number: number }) => one.number))
      if (!body.page.hasMore) break
      cursor = body.page.nextCursor
    }
    assert.deepStrictEqual(numbers, [5, 4, 3, 2, 1])
    assert.deepStrictEqual((await ask("GET", `/${(await made()).id}/versions`)).body.data, [])
  })

  it("names only connectors and workflows that can be used", async () => {
    const own = await workflow({ customerId: svc.first.customerId })
    const archived = await workflow()
    await svc.ask("POST", `/api/v1/workflows/${archived}/publish`, { key: svc.first.key, body: {} })
    await svc.ask("POST", `/api/v1/workflows/${archived}/archive`, { key: svc.first.key })
    const draft = await svc.ask("POST", "/api/v1/connectors", {
      key: svc.first.key,
      body: definition("widget-draft", "1.0.0")
    })
    assert.strictEqual(draft.status, 201, draft.text)
    const foreign = await svc.organisation("Other widgets")
    const { id } = await made({
      connectors: ["hubspot", "widget-draft", "no-such"],
      features: {
        integrations: [
          { slug: "a", title: "A", connectors: ["widget-crm", "no-such"], workflowIds: [own, await workflow()] }
        ],
        actions: [
          { id: "archived", title: "A", workflowId: archived },
          { id: "foreign", title: "B", workflowId: foreign.workflowId },
          { id: "unknown", title: "C", workflowId: "nothing" }
        ]
      }
    })
    const refused = await publish(id)
    refusedAt(
      refused,
      "connectors[1]",
      "connectors[2]",
      "features.integrations[0].connectors[1]",
      "features.integrations[0].workflowIds[0]",
      "features.actions[0].workflowId",
      "features.actions[1].workflowId",
      "features.actions[2].workflowId"
    )
    assert.include(refused.body.details[0].message, "publish the connector")
    assert.deepInclude((await ask("GET", `/${id}`)).body.data, { status: "draft", publishedVersion: null, version: 1 })
  })

  it("has schemas of which the panel can make forms", async () => {
    const run = await workflow()
    const withSchemas = (configSchema: object, inputSchema: object) => ({
      integrations: [{ slug: "a", title: "A", configSchema }],
      actions: [{ id: "a", title: "A", workflowId: run, inputSchema }]
    })
    const list = { type: "object", properties: { x: { type: "array" } } }
    const { id } = await made({ features: withSchemas(list, { type: "string" }) })
    refusedAt(
      await publish(id),
      "features.integrations[0].configSchema.properties.x",
      "features.actions[0].inputSchema.type"
    )
    const pattern = { type: "object", properties: { x: { type: "string", pattern: "(" } } }
    await ask("PUT", `/${id}`, { features: withSchemas({ type: "object" }, pattern) })
    const broken = await publish(id)
    assert.strictEqual(broken.status, 422, broken.text)
    assert.include(placesOf(broken)[0], "features.actions[0].inputSchema")
    await ask("PUT", `/${id}`, { features: withSchemas({ type: "object" }, { type: "object", properties: {} }) })
    assert.strictEqual((await published(id)).publishedVersion, 1)
  })

  it("has a thousand versions at most", async () => {
    const { id } = await made()
    await published(id)
    await svc.sql(`UPDATE widgets SET published_version = 1000 WHERE id = '${id}'`)
    const refused = await publish(id)
    assert.deepStrictEqual([refused.status, refused.body.code], [409, "CONFLICT"], refused.text)
    assert.include(refused.body.message, "1000 versions")
  })

  it("goes with its versions", async () => {
    const { id } = await made()
    await published(id)
    assert.strictEqual((await ask("DELETE", `/${id}`)).status, 204)
    const left = await svc.run(
      Effect.flatMap(WriterSql, (sql) => sql`SELECT 1 FROM widget_versions WHERE widget_id = ${id}`)
    )
    assert.lengthOf(left, 0)
  })
})

describe("a key", () => {
  it("that is narrowed to a widget reaches that one, and makes none", async () => {
    const [own, other] = [await made(), await made()]
    const key = await scopedKey(svc, [{ type: "widget", ids: [own.id] }])
    const listed = await ask("GET", "", undefined, {}, key)
    assert.deepStrictEqual(
      listed.body.data.map((one: { id: string }) => one.id),
      [own.id]
    )
    assert.strictEqual((await ask("GET", `/${own.id}`, undefined, {}, key)).status, 200)
    for (const refused of [
      await ask("GET", `/${other.id}`, undefined, {}, key),
      await ask("GET", `/${other.id}/versions`, undefined, {}, key),
      await ask("PUT", `/${other.id}`, { locale: "de" }, {}, key),
      await ask("DELETE", `/${other.id}`, undefined, {}, key),
      await publish(other.id, key),
      await create({}, key)
    ])
      assert.deepStrictEqual([refused.status, refused.body.code], [403, "RESOURCE_OUT_OF_SCOPE"], refused.text)
  })

  it("that is narrowed to connectors and workflows names no others, and changes no widget that does", async () => {
    const [inside, outside] = [await workflow(), await workflow()]
    const key = await scopedKey(svc, [
      { type: "connector", ids: ["hubspot"] },
      { type: "workflow", ids: [inside] }
    ])
    const naming = (id: string) => ({ features: { integrations: [{ slug: "a", title: "A", workflowIds: [id] }] } })
    const own = await create({ connectors: ["hubspot"], ...naming(inside) }, key)
    assert.strictEqual(own.status, 201, own.text)
    assert.strictEqual((await publish(own.body.data.id, key)).status, 200)
    const { id } = await made(naming(outside))
    // What it may not change it may read: a widget has a scope of its own.
    assert.strictEqual((await ask("GET", `/${id}`, undefined, {}, key)).status, 200)
    for (const refused of [
      await create({ connectors: ["stripe"] }, key),
      await create(naming(outside), key),
      await ask("PUT", `/${own.body.data.id}`, naming(outside), {}, key),
      await ask("PUT", `/${id}`, { locale: "de" }, {}, key),
      await publish(id, key),
      await ask("DELETE", `/${id}`, undefined, {}, key)
    ])
      assert.deepStrictEqual([refused.status, refused.body.code], [403, "RESOURCE_OUT_OF_SCOPE"], refused.text)
  })

  it("for some customers reads the organisation's widgets, and changes none", async () => {
    const { id } = await made()
    await published(id)
    const key = await scopedKey(svc, [], { customers: { mode: "subset", ids: [svc.first.customerId] } })
    for (const path of ["", `/${id}`, `/${id}/versions`])
      assert.strictEqual((await ask("GET", path, undefined, {}, key)).status, 200)
    for (const refused of [
      await create({}, key),
      await ask("PUT", `/${id}`, { locale: "de" }, {}, key),
      await publish(id, key),
      await ask("DELETE", `/${id}`, undefined, {}, key)
    ])
      assert.deepStrictEqual([refused.status, refused.body.details?.[0]?.code], [403, "SUBSET_KEY"], refused.text)
  })

  it("of another organisation finds none", async () => {
    const { id } = await made()
    const { key } = await svc.organisation("Stranger to widgets")
    assert.strictEqual((await ask("GET", `/${id}`, undefined, {}, key)).status, 404)
    assert.strictEqual((await ask("PUT", `/${id}`, { locale: "de" }, {}, key)).status, 404)
    assert.deepStrictEqual((await ask("GET", "", undefined, {}, key)).body.data, [])
  })
})
