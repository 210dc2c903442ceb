/** Customers over the API: changes at a version, and putting records back as they were read. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const ask = (method: string, target: string, body?: object, headers: { readonly [name: string]: string } = {}) =>
  svc.ask(method, target, { key: svc.first.key, headers, ...(body === undefined ? {} : { body }) })
const at = "/api/v1/customers"

describe("a customer", () => {
  it("can be put back as it was read; its read-only members do not change", async () => {
    const made = await ask("POST", at, { name: "Acme", externalRef: "acme", limits: { flows_per_tenant: 3 } })
    const { data } = made.body
    const path = `${at}/${data.id}`
    const put = await ask("PUT", path, data, { "if-match": made.headers["etag"] ?? "" })
    assert.deepStrictEqual([put.status, put.body.data.version], [200, 2], put.text)
    for (const change of [{ id: "cus_1" }, { createdAt: "2020-01-01T00:00:00.000Z" }, { updatedAt: null }]) {
      const refused = await ask("PUT", path, change)
      assert.deepStrictEqual(
        [refused.status, refused.body.code, refused.body.details[0].path],
        [422, "IMMUTABLE_FIELD", Object.keys(change)[0]],
        refused.text
      )
    }
    const unknown = await ask("PUT", path, { nmae: "x" })
    assert.deepStrictEqual([unknown.status, unknown.body.code], [422, "UNKNOWN_FIELD"])
    const { updatedAt: _updated, version: _version, ...kept } = (await ask("GET", path)).body.data
    assert.deepInclude(data, kept)
  })

  it("has tags, by which a list is filtered", async () => {
    const tagged = async (name: string, ...tags: ReadonlyArray<string>) =>
      (await ask("POST", at, { name, tags })).body.data
    const [first, second] = [await tagged("One", "trial", "größte"), await tagged("Two", "trial")]
    assert.deepStrictEqual(first.tags, ["trial", "größte"])
    const named = async (tag: string) =>
      (await ask("GET", `${at}?tag=${encodeURIComponent(tag)}`)).body.data.map(({ id }: { id: string }) => id)
    assert.deepStrictEqual(await named("trial"), [second.id, first.id])
    assert.deepStrictEqual(await named("größte"), [first.id])
    assert.deepStrictEqual(await named("größ%"), [])
    const changed = await ask("PUT", `${at}/${first.id}`, { tags: [] })
    assert.deepStrictEqual([changed.status, changed.body.data.tags], [200, []])
    assert.deepStrictEqual(await named("trial"), [second.id])
    assert.deepStrictEqual((await ask("POST", at, { name: "Untagged" })).body.data.tags, [])
    const many = Array.from({ length: 21 }, (_, i) => `tag ${i}`)
    for (const tags of [[""], ["x".repeat(65)], ["twice", "twice"], many, [7], null, "trial"]) {
      const refused = await ask("POST", at, { name: "Refused", tags })
      assert.strictEqual(refused.status, 422, JSON.stringify(tags))
      assert.match(refused.body.details[0].path, /^tags/)
    }
    const deleted = await ask("DELETE", `${at}/${second.id}`)
    assert.deepStrictEqual([deleted.status, deleted.body.data.tags], [202, []])
  })

  it("is deleted only in the version that the client read, if it sends one", async () => {
    const { data } = (await ask("POST", at, { name: "Gone", plan: "starter" })).body
    const path = `${at}/${data.id}`
    const stale = await ask("DELETE", path, undefined, { "if-match": '"7"' })
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"])
    const deleted = await ask("DELETE", path, undefined, { "if-match": '"1"' })
    assert.deepStrictEqual([deleted.status, deleted.body.data.status, deleted.body.data.name], [202, "deleted", ""])
    assert.strictEqual((await ask("GET", path)).status, 404)
  })
})

describe("an invitation", () => {
  it("has the link that is passed on by hand where there is no mail server", async () => {
    const invited = await ask("POST", "/api/v1/users/invite", { email: "a@b.example", role: "viewer" })
    assert.strictEqual(invited.status, 201)
    assert.deepInclude(invited.body.data, { status: "invited", mailed: false })
    assert.match(invited.body.data.inviteUrl, /\/invite#token=[A-Za-z0-9_-]{43}$/)
    assert.strictEqual(invited.headers["location"], `/api/v1/users/${invited.body.data.userId}`)
    assert.strictEqual(invited.headers["cache-control"], "no-store")
  })
})
