import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AppSql } from "../support/Sql.js"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
let key: string
beforeAll(async () => {
  svc = await start()
  key = svc.first.key
})
afterAll(() => svc.stop())

const bearer = (more: object) => ({ key, ...more })
const create = (body: object, headers: { readonly [name: string]: string } = {}) =>
  svc.ask("POST", "/api/v1/customers", bearer({ body, headers }))

describe("a record that two clients change", () => {
  it("has a version, accepts the change of the client that read it last, and refuses the other", async () => {
    const { body, headers } = await create({ name: "Versioned" })
    const at = `/api/v1/customers/${body.data.id}`
    assert.deepStrictEqual([body.data.version, headers["etag"]], [1, '"1"'])
    assert.strictEqual((await svc.ask("GET", at, { key })).headers["etag"], '"1"')

    const mine = await svc.ask("PUT", at, bearer({ body: { name: "Mine" }, headers: { "if-match": '"1"' } }))
    assert.deepStrictEqual([mine.status, mine.body.data.version, mine.headers["etag"]], [200, 2, '"2"'])
    for (const ask of [
      { body: { name: "Theirs" }, headers: { "if-match": '"1"' } },
      { body: { name: "Theirs", version: 1 } }
    ]) {
      const theirs = await svc.ask("PUT", at, bearer(ask))
      assert.deepStrictEqual([theirs.status, theirs.body.code], [409, "VERSION_MISMATCH"])
    }
    assert.strictEqual((await svc.ask("GET", at, { key })).body.data.name, "Mine")
    for (const ifMatch of ["*", 'W/"3"']) {
      const changed = await svc.ask("PUT", at, bearer({ body: {}, headers: { "if-match": ifMatch } }))
      assert.strictEqual(changed.status, 200)
    }
    const unreadable = await svc.ask("PUT", at, bearer({ body: {}, headers: { "if-match": "yesterday" } }))
    assert.deepStrictEqual([unreadable.status, unreadable.body.code], [400, "INVALID_HEADER"])
  })

  it("accepts one of ten concurrent changes that read the same version", async () => {
    const { body } = await create({ name: "Contended" })
    const at = `/api/v1/customers/${body.data.id}`
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => svc.ask("PUT", at, bearer({ body: { name: `n${i}`, version: 1 } })))
    )
    assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 9 }, () => 409)])
    assert.strictEqual((await svc.ask("GET", at, { key })).body.data.version, 2)
  })

  it("is unique where it must be", async () => {
    assert.strictEqual((await create({ name: "Same", externalRef: "same" })).status, 201)
    const again = await create({ name: "Other", externalRef: "same" })
    assert.deepStrictEqual([again.status, again.body.code], [409, "CONFLICT"])
    assert.include(again.body.message, "externalRef")
  })
})

describe("an Idempotency-Key", () => {
  const idem = (name: string) => ({ "idempotency-key": name })

  it("gets the first answer again, word for word, and changes nothing twice", async () => {
    const first = await create({ name: "Once" }, idem("once"))
    const second = await create({ name: "Once" }, idem("once"))
    assert.deepStrictEqual(
      [second.status, second.body, second.headers["location"], second.headers["etag"]],
      [201, first.body, first.headers["location"], first.headers["etag"]]
    )
    assert.deepStrictEqual(
      [first.headers["idempotent-replayed"], second.headers["idempotent-replayed"]],
      [undefined, "true"]
    )
    const found = await svc.ask("GET", "/api/v1/customers?q=Once", { key })
    assert.strictEqual(found.body.data.length, 1)
  })

  it("is refused with another body; on another path, with another API key, or a day later it is a new one", async () => {
    await create({ name: "Reused" }, idem("reused"))
    const other = await create({ name: "Reused differently" }, idem("reused"))
    assert.deepStrictEqual([other.status, other.body.code], [422, "IDEMPOTENCY_KEY_REUSED"])
    const path = await svc.ask(
      "POST",
      "/api/v1/secrets",
      bearer({ body: { name: "ELSEWHERE", value: "x" }, headers: idem("reused") })
    )
    assert.strictEqual(path.status, 201)
    const made = await svc.ask(
      "POST",
      "/api/v1/api-keys",
      bearer({ body: { name: "second", mode: "live", preset: "full_access" } })
    )
    const byOther = await svc.ask("POST", "/api/v1/customers", {
      key: made.body.data.key,
      body: { name: "By another key" },
      headers: idem("reused")
    })
    assert.strictEqual(byOther.status, 201)
  })

  it("is refused with retry-after while its first request is in progress", async () => {
    const target = "/api/v1/customers"
    const caller = (await svc.ask("GET", "/api/v1/api-keys?q=First", { key })).body.data[0].id
    const held = `${svc.first.organisationId}${caller}|POST ${target}|in-flight`
    const answer = await svc.run(
      Effect.flatMap(AppSql, (sql) =>
        sql.withTransaction(
          Effect.zipRight(
            sql`SELECT pg_advisory_xact_lock(hashtextextended(${held}, 1))`,
            Effect.promise(() => create({ name: "In flight" }, idem("in-flight")))
          )
        )
      )
    )
    assert.deepStrictEqual(
      [answer.status, answer.body.code, answer.headers["retry-after"]],
      [409, "IDEMPOTENCY_IN_PROGRESS", "1"]
    )
    assert.strictEqual((await create({ name: "In flight" }, idem("in-flight"))).status, 201)
  })

  it("creates one record for twenty concurrent requests", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ name: "Crowd" }, idem("crowd"))))
    assert.isTrue(answers.every(({ status }) => status === 201 || status === 409))
    assert.strictEqual(new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.data.id)).size, 1)
    assert.strictEqual((await svc.ask("GET", "/api/v1/customers?q=Crowd", { key })).body.data.length, 1)
  })

  it("of a failed request can be used again, since nothing was changed", async () => {
    assert.strictEqual((await create({ name: "" }, idem("failed"))).status, 422)
    assert.strictEqual((await create({ name: "Now" }, idem("failed"))).status, 201)
  })

  it("has at most 255 characters", async () => {
    assert.strictEqual((await create({ name: "Long" }, idem("k".repeat(255)))).status, 201)
    assert.strictEqual((await create({ name: "Longer" }, idem("k".repeat(256)))).status, 400)
  })

  it("stores an answer with a secret sealed, and repeats it", async () => {
    const ask = () =>
      svc.ask("POST", "/api/v1/api-keys", bearer({ body: { name: "sealed reply" }, headers: idem("sealed") }))
    const [first, second] = [await ask(), await ask()]
    assert.strictEqual(second.body.data.key, first.body.data.key)
    const rows = await svc.run(
      Effect.flatMap(AppSql, (sql) =>
        sql.withTransaction(
          Effect.zipRight(
            sql`SELECT set_config('svc.org', ${svc.first.organisationId}, true)`,
            sql<{ text: string }>`SELECT encode(sealed, 'escape') AS text FROM idempotent_replies`
          )
        )
      )
    )
    assert.isAbove(rows.length, 0)
    for (const { text } of rows) assert.notInclude(text, first.body.data.key.slice(9))
  })

  it("returns a secret's second answer with the status of its first", async () => {
    const ask = () =>
      svc.ask("POST", "/api/v1/secrets", bearer({ body: { name: "TWICE", value: "x" }, headers: idem("twice") }))
    assert.deepStrictEqual([(await ask()).status, (await ask()).status], [201, 201])
  })
})

describe("a list", () => {
  beforeAll(async () => {
    for (let i = 0; i < 7; i++) await create({ name: `Listed ${i}`, slug: `listed-${i}` })
  })

  const pages = async (path: string, size: number) => {
    const seen: Array<string> = []
    let cursor: string | null = ""
    while (cursor !== null) {
      const { body, status } = await svc.ask(
        "GET",
        `${path}${path.includes("?") ? "&" : "?"}page_size=${size}&cursor=${cursor}`,
        { key }
      )
      assert.strictEqual(status, 200)
      assert.isAtMost(body.data.length, size)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      assert.strictEqual(body.page.hasMore, body.page.nextCursor !== null)
      cursor = body.page.nextCursor
    }
    return seen
  }

  // Reading the trail writes to it: what is read is counted, and written at the end of its minute.
  it.each(["/customers?q=Listed", "/roles", "/audit?action=customer.create", "/api-keys"])(
    "%s is the same in pages of two as in one, newest first",
    async (path) => {
      const [small, whole] = [await pages(`/api/v1${path}`, 2), await pages(`/api/v1${path}`, 200)]
      assert.isAbove(whole.length, 2)
      assert.deepStrictEqual(small, whole)
      assert.strictEqual(new Set(whole).size, whole.length)
    }
  )

  it("finds by text, and takes % and _ literally", async () => {
    const count = async (q: string) =>
      (await svc.ask("GET", `/api/v1/customers?q=${encodeURIComponent(q)}`, { key })).body.data.length
    assert.deepStrictEqual(
      [await count("LISTED"), await count("listed-3"), await count("%"), await count("l_sted"), await count("nobody")],
      [7, 1, 0, 0, 0]
    )
  })

  it("is bounded by time", async () => {
    const count = async (query: string) =>
      (await svc.ask("GET", `/api/v1/customers?q=Listed&${query}`, { key })).body.data.length
    assert.deepStrictEqual(
      [await count("created_after=2020-01-01"), await count("to=2020-01-01T00:00:00Z"), await count("from=2099-01-01")],
      [7, 0, 0]
    )
  })

  it("refuses a cursor that was altered, invented, or is a day old", async () => {
    const { body } = await svc.ask("GET", "/api/v1/customers?page_size=2", { key })
    const cursor: string = body.page.nextCursor
    const middle = Math.floor(cursor.length / 2)
    const altered = `${cursor.slice(0, middle)}${cursor[middle] === "A" ? "B" : "A"}${cursor.slice(middle + 1)}`
    const forged = Buffer.from(JSON.stringify([new Date().toISOString(), "cus_x", Date.now()])).toString("base64url")
    for (const wrong of [altered, forged, "x", "%25%25", cursor.slice(0, 10), `${cursor}AA`, "é"]) {
      const answer = await svc.ask("GET", `/api/v1/customers?page_size=2&cursor=${encodeURIComponent(wrong)}`, { key })
      assert.deepStrictEqual([answer.status, answer.body.code], [400, "INVALID_CURSOR"], wrong)
    }
    const at = (later: `${number} hours`) =>
      svc.ask("GET", `/api/v1/customers?page_size=2&cursor=${cursor}`, { key, later })
    assert.strictEqual((await at("23 hours")).status, 200)
    assert.deepStrictEqual([(await at("25 hours")).status, (await at("25 hours")).body.code], [400, "INVALID_CURSOR"])
  })
})
