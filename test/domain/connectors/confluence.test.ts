import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { readRateHeaders } from "../../../src/domain/connector/request/RateReading.js"
import { confluence as builtIn } from "../../../src/domain/connectors/confluence/Confluence.js"
import type { Json } from "../../../src/domain/Json.js"
import {
  type Caller,
  callEveryAction,
  hasItems,
  hasMembers,
  makeCaller,
  objectOf
} from "../../support/ConnectorCaller.js"
import { makeEntityCaller } from "../../support/EntityCaller.js"
import { confluenceFake } from "../../support/fakes/confluence.js"
import type { Fake } from "../../support/fakes/Fake.js"

const confluence = builtIn.definition()

let api: Fake
let ada: Caller

const caller = (username: string, password: string) =>
  makeCaller(confluence, api.origin, {
    method: "token",
    credential: { username, password },
    config: { url: api.origin }
  })

beforeAll(async () => {
  api = await confluenceFake()
  ada = caller("ada@example.com", "ATATT-fake")
})
afterAll(() => api.close())

const stored = (value: string) => ({ storage: { value, representation: "storage" } })
const isNothing = (result: Json) => assert.isNull(result)
const entity = (name: string) => makeEntityCaller(confluence, ada, name)

describe("Confluence", () => {
  it("answers every action", async () => {
    const page = { spaceId: "98305", title: "Pumps", body: stored("<p>Off.</p>") }
    const pageId = String(objectOf(await ada.result("createPage", { ...page, title: "Valves" }))["id"])
    const commentId = String(objectOf(await ada.result("createFooterComment", { pageId, body: stored("A") }))["id"])
    await callEveryAction(confluence, ada, {
      getCurrentUser: [{}, hasMembers({ displayName: "Ada Byron" })],
      listSpaces: [{}, hasItems("results", 3)],
      getSpace: [{ spaceId: "98305" }, hasMembers({ key: "OPS" })],
      listPages: [{ status: "current" }, hasItems("results", 1)],
      getPage: [{ pageId }, hasMembers({ title: "Valves" })],
      createPage: [page, hasMembers({ title: "Pumps", body: stored("<p>Off.</p>") })],
      updatePage: [
        { pageId, status: "current", title: "Valve", body: stored("<p>On.</p>"), version: 1 },
        (changed) => assert.deepInclude(objectOf(objectOf(changed)["version"]), { number: 2 })
      ],
      listFooterComments: [{}, hasItems("results", 1)],
      getFooterComment: [{ commentId }, hasMembers({ pageId, body: stored("A") })],
      createFooterComment: [{ pageId, body: stored("B") }, hasMembers({ body: stored("B") })],
      updateFooterComment: [{ commentId, body: stored("C"), version: 1 }, hasMembers({ body: stored("C") })],
      deleteFooterComment: [{ commentId }, isNothing],
      deletePage: [{ pageId }, isNothing]
    })
  })

  it("follows the cursor in the link to the next page", async () => {
    const pages = await ada.pages("listSpaces", { limit: 2 })
    assert.deepStrictEqual(
      pages.map((page) => page.map((one) => objectOf(one)["key"])),
      [["OPS", "HR"], ["DEV"]]
    )
  })

  it("tells Confluence's words, and reads its limits", async () => {
    const refused = await ada.failure("createPage", { spaceId: "1", title: "Nowhere" })
    assert.deepInclude(refused, { category: "provider", status: 400, code: "INVALID_REQUEST_PARAMETER" })
    assert.include(refused.message, "spaceId")
    assert.deepInclude(await caller("eve@example.com", "x").failure("listPages"), { category: "auth", status: 401 })
    const { headers } = await ada.answer("listSpaces")
    const reading = readRateHeaders(confluence, headers, Date.parse("2026-11-27T19:59:00Z"))
    assert.deepInclude(reading, { remaining: 999, resetAt: Date.parse("2026-11-27T20:00:00Z") })
  })
})

describe("Confluence's records as common ones", () => {
  it("are spaces", async () => {
    assert.deepStrictEqual((await entity("space").list())[0]?.record, {
      id: "98305",
      key: "OPS",
      name: "Operations",
      remoteCreatedAt: "2026-01-02T09:00:00.000Z"
    })
    assert.deepInclude((await entity("space").get("98306")).record, { key: "HR" })
  })

  it("are articles, of which a change keeps what it does not name", async () => {
    const made = await entity("page").create({
      title: "Manual",
      spaceId: "98305",
      parentId: "98392",
      content: "<p>One</p>",
      format: "html",
      status: "DRAFT"
    })
    const members = { title: "Manual", spaceId: "98305", parentId: "98392", content: "<p>One</p>", format: "html" }
    assert.deepInclude(made.record, { ...members, status: "DRAFT", remoteWasDeleted: false })
    const id = String(made.record["id"])
    const renamed = await entity("page").update(id, { title: "Handbook", status: "PUBLISHED" })
    assert.deepInclude(renamed.record, { ...members, title: "Handbook", status: "PUBLISHED" })
    const rewritten = await entity("page").update(id, { content: "<p>Two</p>" })
    assert.deepInclude(rewritten.record, { ...members, title: "Handbook", content: "<p>Two</p>" })
    await entity("page").remove(id)
    const gone = await entity("page").get(id)
    assert.deepInclude(gone.record, { remoteWasDeleted: true, title: "Handbook" })
    assert.isEmpty(gone.warnings)
    assert.notInclude(
      (await entity("page").list()).map(({ record }) => record["id"]),
      id
    )
  })

  it("come with the newest first where those after a time are asked for", async () => {
    await entity("page").create({ title: "Newest", spaceId: "98305", content: "" })
    const [first] = await entity("page").list({ modifiedAfter: "2026-10-01T00:00:00Z" })
    assert.strictEqual(first?.record["title"], "Newest")
  })

  it("are comments", async () => {
    const { record: page } = await entity("page").create({ title: "Discussed", spaceId: "98305", content: "" })
    const made = await entity("comment").create({ articleId: page["id"] ?? "", content: "<p>Why?</p>" })
    const id = String(made.record["id"])
    assert.deepInclude(made.record, { articleId: page["id"], content: "<p>Why?</p>" })
    const changed = await entity("comment").update(id, { content: "<p>Why not?</p>" })
    assert.deepInclude(changed.record, { content: "<p>Why not?</p>", remoteWasDeleted: false })
    assert.include(
      (await entity("comment").list()).map(({ record }) => record["id"]),
      id
    )
    await entity("comment").remove(id)
    assert.notInclude(
      (await entity("comment").list()).map(({ record }) => record["id"]),
      id
    )
  })
})
