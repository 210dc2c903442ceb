/** The actions of a connector's draft are changed one at a time, and each publication keeps the versions that they had. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { action, connectorEditor, pathsOf } from "../support/ConnectorEditor.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let key: string
beforeAll(async () => {
  svc = await startShared()
  key = (await svc.organisation("Actions", "enterprise")).key
})
afterAll(() => svc.stop())

const { ask, done, create, published, read, listed } = connectorEditor(() => ({ svc, key }))

describe("an action", () => {
  it("is added, changed and removed in the draft; the published version keeps it", async () => {
    const slug = await published()
    const made = await done("POST", `/${slug}/actions`, action("find", "/find", { title: "Find" }))
    assert.deepStrictEqual(
      [made.status, made.headers["location"], made.headers["etag"]],
      [201, `/api/v1/connectors/${slug}/actions/find`, '"3"']
    )
    assert.deepInclude(made.body.data, { name: "find", version: 1, timeoutMs: 30_000 })
    const changed = await done("PATCH", `/${slug}/actions/find`, {
      title: null,
      request: { query: { q: "{{args.q}}" } }
    })
    assert.deepInclude(changed.body.data.request, { path: "/find", query: { q: "{{args.q}}" } })
    assert.notProperty(changed.body.data, "title")
    assert.deepStrictEqual((await done("GET", `/${slug}/actions/find`)).body.data, changed.body.data)
    assert.deepStrictEqual(await listed(`/${slug}/actions`), ["getMe", "find"])
    assert.strictEqual((await read(`/${slug}`)).version, "1.1.0")
    assert.strictEqual((await done("DELETE", `/${slug}/actions/getMe`)).status, 204)
    assert.deepStrictEqual(await listed(`/${slug}/actions`), ["find"])
    const of = await read(`/${slug}?version=1.0.0`)
    assert.deepStrictEqual(
      of.actions.map(({ name }: { readonly name: string }) => name),
      ["getMe"]
    )
    assert.strictEqual((await read(`/${slug}`)).version, "2.0.0")
  })

  it("is listed in pages, with a summary of each", async () => {
    const all = ["a", "b", "c", "d", "e"]
    const slug = await create({ actions: all.map((name) => action(name)) })
    const first = (await done("GET", `/${slug}/actions?page_size=2`)).body
    assert.deepStrictEqual(first.data[0], { name: "a", version: 1, title: "a", description: null, readOnly: true })
    const seen: Array<string> = []
    for (let cursor = ""; ;) {
      const { data, page } = (await done("GET", `/${slug}/actions?page_size=2&cursor=${cursor}`)).body
      seen.push(...data.map(({ name }: { readonly name: string }) => name))
      if (!page.hasMore) break
      cursor = page.nextCursor
    }
    assert.deepStrictEqual(seen, all)
    // The last one of the page is gone when the next one is read.
    await done("DELETE", `/${slug}/actions/b`)
    const next = (await done("GET", `/${slug}/actions?page_size=2&cursor=${first.page.nextCursor}`)).body
    assert.deepStrictEqual([next.data[0].name, next.data[1].name], ["c", "d"])
  })

  it("that is taken, unknown or refused by the others says so, with the path in the definition", async () => {
    const slug = await create({ test: { action: "getMe" } })
    const taken = await ask("POST", `/${slug}/actions`, action("getMe"))
    assert.deepStrictEqual([taken.status, taken.body.code], [409, "CONFLICT"])
    for (const [method, body] of [["GET"], ["DELETE"], ["PATCH", {}]] as const) {
      const unknown = await ask(method, `/${slug}/actions/getMee`, body)
      assert.strictEqual(unknown.status, 404)
      assert.include(unknown.body.message, "Did you mean getMe?")
    }
    assert.deepStrictEqual(pathsOf(await ask("DELETE", `/${slug}/actions/getMe`)), ["test.action"])
    assert.deepStrictEqual(pathsOf(await ask("PATCH", `/${slug}/actions/getMe`, { request: { path: "me" } })), [
      "actions[0].request.path"
    ])
    assert.deepStrictEqual(pathsOf(await ask("PATCH", `/${slug}/actions/getMe`, { name: "me" })), ["actions[0].name"])
    const wrong = await ask("POST", `/${slug}/actions`, { name: 1, colour: 1 })
    assert.deepStrictEqual(pathsOf(wrong).toSorted(), ["actions[1].colour", "actions[1].name", "actions[1].request"])
    assert.deepStrictEqual(await listed(`/${slug}/actions`), ["getMe"])
    assert.strictEqual((await ask("GET", "/no-such-connector/actions")).status, 404)
  })
})

describe("versions of an action", () => {
  it("are those that its publications give it, and every form can be read", async () => {
    const slug = await published()
    const path = `/${slug}/actions/getMe`
    const changed = await done("PATCH", path, { request: { path: "/v2" } })
    assert.strictEqual(changed.body.data.version, 2)
    await done("POST", `/${slug}/publish`, {})
    const made = await done("POST", `${path}/versions`, { ...action("getMe", "/v3"), version: 1 })
    assert.deepStrictEqual([made.status, made.body.data.version], [201, 3])
    assert.strictEqual(made.headers["location"], `/api/v1/connectors${path}?version=3`)
    const versions: ReadonlyArray<{
      readonly version: number
      readonly connectorVersion: string
      readonly publishedAt: string | null
    }> = await read(`${path}/versions`)
    assert.deepStrictEqual(
      versions.map(({ publishedAt, ...one }) => ({ ...one, isPublished: publishedAt !== null })),
      [
        { version: 3, connectorVersion: "1.0.2", isPublished: false },
        { version: 2, connectorVersion: "1.0.1", isPublished: true },
        { version: 1, connectorVersion: "1.0.0", isPublished: true }
      ]
    )
    const publication = await done("POST", `/${slug}/publish`, {})
    assert.strictEqual(publication.body.data.actions[0].version, 3)
    for (const [version, to] of [
      [1, "/me"],
      [2, "/v2"],
      [3, "/v3"]
    ] as const)
      assert.deepInclude(await read(`${path}?version=${version}`), { version, name: "getMe" }, to)
    assert.strictEqual((await read(`${path}?version=2`)).request.path, "/v2")
    assert.strictEqual((await ask("GET", `${path}?version=4`)).status, 404)
    assert.strictEqual((await ask("GET", `${path}?version=99999999999`)).status, 404)
    assert.strictEqual((await ask("GET", `${path}?version=x`)).status, 400)
    const first = (await done("GET", `${path}/versions?page_size=2`)).body
    const second = (await done("GET", `${path}/versions?page_size=2&cursor=${first.page.nextCursor}`)).body
    assert.deepStrictEqual(
      [...first.data, ...second.data].map(({ version }: { readonly version: number }) => version),
      [3, 2, 1]
    )
  })

  it("need a change of the published form, and keep the action's name", async () => {
    const slug = await published()
    const same = await ask("POST", `/${slug}/actions/getMe/versions`, action("getMe", "/me"))
    assert.deepStrictEqual([same.status, same.body.code], [409, "CONFLICT"])
    const other = await ask("POST", `/${slug}/actions/getMe/versions`, action("other"))
    assert.deepStrictEqual(pathsOf(other), ["actions[0].name"])
    assert.strictEqual((await ask("POST", `/${slug}/actions/other/versions`, action("other"))).status, 404)
    assert.strictEqual((await ask("GET", `/${slug}/actions/other/versions`)).status, 404)
  })

  it("are not used again by another action of the same name", async () => {
    const slug = await published({ actions: [action("keep"), action("getMe")] })
    await done("DELETE", `/${slug}/actions/getMe`)
    await done("POST", `/${slug}/publish`, {})
    assert.strictEqual((await ask("GET", `/${slug}/actions/getMe`)).status, 404)
    assert.strictEqual((await read(`/${slug}/actions/getMe?version=1`)).request.path, "/getMe")
    assert.strictEqual((await done("POST", `/${slug}/actions`, action("getMe", "/new"))).body.data.version, 2)
    assert.strictEqual((await done("POST", `/${slug}/publish`, {})).body.data.actions[1].version, 2)
    assert.strictEqual((await read(`/${slug}/actions/getMe?version=1`)).request.path, "/getMe")
  })
})
