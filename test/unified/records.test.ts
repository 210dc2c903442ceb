/** The unified API over a connector made by POST: pages, filters, single records, changes, errors. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { connectTo, plainCrm, type PlainCrm, publishDefinition, startPlainCrm } from "../support/unified/PlainCrm.js"

let svc: Running
let crm: PlainCrm
beforeAll(async () => {
  svc = await startShared()
  crm = await startPlainCrm()
  await publishDefinition(svc, plainCrm("plain-crm"))
  await connectTo(svc, "plain-crm", crm.url)
  for (let index = 0; index < 60; index += 1) crm.add()
})
afterAll(async () => {
  await svc.stop()
  await crm.stop()
})

const ask = (method: string, path: string, options: { body?: unknown; headers?: Record<string, string> } = {}) =>
  svc.ask(method, `/api/v1/unified/crm/contact${path}`, {
    key: svc.first.key,
    ...options,
    headers: { "x-end-org-id": svc.first.customerId, ...options.headers }
  })

/** All records of a list, page by page, with the sizes of the pages. */
const listAll = async (query: string) => {
  const ids: Array<string> = []
  const sizes: Array<number> = []
  for (let cursor: string | null = ""; cursor !== null;) {
    const page = await ask("GET", `?${query}${cursor === "" ? "" : `&cursor=${cursor}`}`)
    assert.strictEqual(page.status, 200, page.text)
    ids.push(...page.body.data.map(({ id }: { id: string }) => id))
    sizes.push(page.body.data.length)
    cursor = page.body.page.nextCursor
  }
  return { ids, sizes }
}

describe("A list of the unified API", () => {
  it("says so where the provider's answer has no list, which is no empty one", async () => {
    crm.replies.push({ status: 200, body: { items: "none today" } })
    const page = await ask("GET", "?page_size=2")
    assert.strictEqual(page.status, 200, page.text)
    assert.deepStrictEqual(page.body.data, [])
    assert.deepInclude(page.body.meta.warnings[0], { code: "NO_LIST", path: "items", record: null })
    crm.replies.push({ status: 200, body: { items: "none today" } })
    assert.strictEqual((await ask("GET", "?page_size=2&strict=true")).status, 422)
  })

  it("has ids beyond 2^53 digit by digit, which the provider sends as numbers", async () => {
    const id = "7615917337495251231"
    crm.replies.push({ status: 200, body: `{"items":[{"id":${id},"first":"Ada","score":${id}}]}` })
    const page = await ask("GET", "?page_size=1&include_raw=true")
    assert.strictEqual(page.status, 200, page.text)
    const [found] = page.body.data
    assert.deepStrictEqual([found.id, found.remoteId, found.customFields.score, found.raw.id], [id, id, id, id])
  })

  it("has records of the common form, and says who answered", async () => {
    const page = await ask("GET", "?page_size=2")
    assert.strictEqual(page.status, 200, page.text)
    assert.deepInclude(page.body.meta, { category: "crm", entity: "contact", provider: "plain-crm", warnings: [] })
    assert.deepInclude(page.body.data[0], {
      id: "1",
      remoteId: "1",
      firstName: "First1",
      lastName: "Last1",
      emailAddresses: [{ emailAddress: "c1@example.com", type: "work" }],
      phoneNumbers: null,
      addresses: null,
      customFields: { score: 1 },
      remoteCreatedAt: "2023-11-14T22:13:21.000Z",
      accountId: null
    })
    assert.notProperty(page.body.data[0], "raw")
  })

  it.each([7, 25, 50, 200])(
    "gives each record once in pages of %i, whatever the provider's pages are",
    async (size) => {
      const { ids, sizes } = await listAll(`page_size=${size}`)
      assert.deepStrictEqual(ids, [...crm.contacts.keys()].map(String))
      for (const one of sizes.slice(0, -1)) assert.strictEqual(one, size)
    }
  )

  it("passes a filter on to the provider where it has one, and applies the others itself", async () => {
    const after = crm.contacts.get(50)?.changed ?? ""
    const page = await ask("GET", `?modified_after=${after}&created_after=2023-11-14T22:13:20Z`)
    assert.deepStrictEqual(page.body.meta.filteredBy, { modified_after: "provider", created_after: "service" })
    assert.lengthOf(page.body.data, 10)
    const none = await ask("GET", "?created_after=2030-01-01")
    assert.deepStrictEqual([none.body.data, none.body.meta.filteredBy], [[], { created_after: "service" }])
  })

  it("shows the members that are asked for, and the provider's own record", async () => {
    const page = await ask("GET", "?page_size=1&fields=lastName&include_raw=true")
    assert.deepStrictEqual(Object.keys(page.body.data[0]), ["id", "lastName", "raw"])
    assert.strictEqual(page.body.data[0].raw.last, "Last1")
    const wrong = await ask("GET", "?fields=lastNam")
    assert.strictEqual(wrong.status, 422)
    assert.match(wrong.body.message, /did you mean lastName/)
  })

  it("refuses a cursor of another query, and one that is made up", async () => {
    const page = await ask("GET", "?page_size=1")
    const other = await ask("GET", `?page_size=1&modified_after=2020-01-01&cursor=${page.body.page.nextCursor}`)
    assert.deepStrictEqual([other.status, other.body.code], [400, "INVALID_CURSOR"], other.text)
    const madeUp = await ask("GET", "?cursor=abc")
    assert.deepStrictEqual([madeUp.status, madeUp.body.code], [400, "INVALID_CURSOR"], madeUp.text)
  })

  it("names a value that cannot be read, and keeps the record", async () => {
    const odd = crm.add({ created: 5, changed: "not a time" })
    const page = await ask("GET", "?page_size=200")
    const record = page.body.data.find(({ id }: { id: string }) => id === String(odd.id))
    assert.isNull(record.remoteUpdatedAt)
    assert.deepInclude(
      page.body.meta.warnings.map(({ code, path, record: id }: Record<string, string>) => ({ code, path, id })),
      { code: "INVALID_VALUE", path: "remoteUpdatedAt", id: String(odd.id) }
    )
    const strict = await ask("GET", "?page_size=200&strict=true")
    assert.strictEqual(strict.status, 422)
    crm.contacts.delete(odd.id)
  })
})

describe("A record of the unified API", () => {
  it("is created, read, changed and deleted, and only what differs is sent", async () => {
    const made = await ask("POST", "", {
      body: {
        firstName: "Ada",
        lastName: "Byron",
        emailAddresses: [{ emailAddress: "ADA@example.com" }],
        remoteFields: { stage: "new" }
      }
    })
    assert.strictEqual(made.status, 201, made.text)
    const { id } = made.body.data
    assert.strictEqual(made.headers["location"], `/api/v1/unified/crm/contact/${id}`)
    assert.deepInclude(crm.contacts.get(Number(id)), {
      first: "Ada",
      stage: "new",
      mails: [{ value: "ada@example.com" }]
    })

    const known = crm.contacts.get(Number(id))
    if (known !== undefined) known.street = { line: "Mill St 1", town: "Ottawa", secret: "kept" }
    const read = await ask("GET", `/${id}`)
    assert.strictEqual(read.headers["etag"], `"${read.body.meta.version}"`)

    const changed = await ask("PATCH", `/${id}`, {
      headers: { "if-match": read.headers["etag"] ?? "" },
      body: { title: "Countess", lastName: "Byron", addresses: [{ street1: "Mill St 1", city: "Montreal" }] }
    })
    assert.strictEqual(changed.status, 200, changed.text)
    assert.strictEqual(changed.body.data.title, "Countess")
    assert.deepStrictEqual(crm.requests.at(-1)?.body, {
      job: "Countess",
      street: { line: "Mill St 1", town: "Montreal", secret: "kept" }
    })

    const stale = await ask("PATCH", `/${id}`, {
      headers: { "if-match": read.headers["etag"] ?? "" },
      body: { title: "Lady" }
    })
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"])

    const cleared = await ask("PATCH", `/${id}`, { body: { title: null } })
    assert.isNull(cleared.body.data.title)
    const calls = crm.requests.length
    assert.strictEqual((await ask("PATCH", `/${id}`, { body: { lastName: "Byron" } })).status, 200)
    assert.deepStrictEqual(
      crm.requests.slice(calls).map(({ method }) => method),
      ["GET"]
    )

    assert.strictEqual((await ask("DELETE", `/${id}`)).status, 204)
    assert.strictEqual((await ask("GET", `/${id}`)).status, 404)
  })

  it.each([
    [{ lastNam: "x" }, "lastNam", "UNKNOWN_FIELD"],
    [{ lastName: "x", remoteUpdatedAt: "2026-01-01T00:00:00Z" }, "remoteUpdatedAt", "READ_ONLY"],
    [{ lastName: "x", ownerId: "7" }, "ownerId", "UNSUPPORTED"],
    [{ lastName: "x", emailAddresses: [{ emailAddress: { a: 1 } }] }, "emailAddresses[0].emailAddress", "INVALID_TYPE"],
    [{ title: "x" }, "lastName", "REQUIRED"]
  ])("that is written as %j is refused at %s", async (body, path, code) => {
    const answer = await ask("POST", "", { body })
    assert.strictEqual(answer.status, 422, answer.text)
    assert.deepInclude(
      answer.body.details.map((one: { path: string; code: string }) => ({ path: one.path, code: one.code })),
      { path, code }
    )
  })
})

describe("A creation whose answer is lost", () => {
  it("is not sent again where the provider cannot recognise it", async () => {
    const headers = { "idempotency-key": "once-1" }
    const body = { lastName: "Lost" }
    crm.replies.push("lost")
    const first = await ask("POST", "", { headers, body })
    assert.strictEqual(first.status, 502, first.text)
    const again = await ask("POST", "", { headers, body })
    assert.deepStrictEqual([again.status, again.body.code], [409, "UNCERTAIN_WRITE"], again.text)
    assert.lengthOf(
      [...crm.contacts.values()].filter(({ last }) => last === "Lost"),
      1
    )
  })
})

describe("The errors of the unified API", () => {
  it("answers the provider's failures as the proxy does", async () => {
    crm.replies.push({ status: 500, body: { message: "broken" } }, { status: 400, body: { message: "no" } })
    const refused = await ask("POST", "", { body: { lastName: "x" } })
    assert.strictEqual(refused.status, 502, refused.text)
    assert.deepInclude(refused.body.provider, { connector: "plain-crm" })
    crm.replies.length = 0
    crm.replies.push({ status: 400, body: { message: "no" } })
    const bad = await ask("POST", "", { body: { lastName: "x" } })
    assert.deepStrictEqual([bad.status, bad.body.code, bad.body.provider.status], [502, "PROVIDER_ERROR", 400])
  })

  it("serves a customer that connects after it was told to", async () => {
    const { key } = svc.first
    const made = await svc.ask("POST", "/api/v1/customers", { key, body: { name: "Late" } })
    const customer: string = made.body.data.id
    const list = () =>
      svc.ask("GET", "/api/v1/unified/crm/contact?page_size=1", { key, headers: { "x-end-org-id": customer } })
    assert.strictEqual((await list()).status, 409)
    await connectTo(svc, "plain-crm", crm.url, customer)
    assert.strictEqual((await list()).status, 200)
  })

  it("says what is missing: a customer, a connection, a verb, an entity", async () => {
    const { key } = svc.first
    const none = await svc.ask("GET", "/api/v1/unified/crm/contact", { key })
    assert.deepStrictEqual([none.status, none.body.code, none.body.category], [409, "CONNECTION_REQUIRED", "crm"])
    const other = await ask("GET", "", { headers: {} })
    assert.strictEqual(other.status, 200)
    const verb = await svc.ask("GET", "/api/v1/unified/crm/note", {
      key,
      headers: { "x-end-org-id": svc.first.customerId }
    })
    assert.deepStrictEqual([verb.status, verb.body.code], [422, "UNSUPPORTED_OPERATION"], verb.text)
    const entity = await svc.ask("GET", "/api/v1/unified/crm/contcat", { key })
    assert.strictEqual(entity.status, 422)
    assert.match(entity.body.message, /Did you mean crm\/contact/)
  })
})
