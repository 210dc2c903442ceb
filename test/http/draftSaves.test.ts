/** Drafts that people save while they write: mistakes in code are kept with their places, and a minute has one audit entry. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { type Running, start } from "../support/InProcess.js"
import { cookieOf, origin, signInTo } from "../support/signIn.js"

let svc: Running
beforeAll(async () => {
  svc = await start({ SVC_PUBLIC_URL: origin })
})
afterAll(() => svc.stop())

const { askWith, newLink, newOwner, open } = signInTo(() => svc)

const code = (n: number) => ({ code: `export default async () => ${n}` })
const newDraft = { name: "autosaved", form: "code", tier: "instant", ...code(0) }

describe("code that does not parse", () => {
  it("is kept with line and column, and is neither published nor run until it is mended", async () => {
    const ask = (method: string, target: string, body?: object) =>
      svc.ask(method, `/api/v1/workflows${target}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
    const broken = "export default async () => {\n  return (1\n}"
    assert.strictEqual((await ask("POST", "", { ...newDraft, code: broken })).status, 422)
    const made = await ask("POST", "?incomplete=true", { ...newDraft, name: "broken", code: broken })
    assert.strictEqual(made.status, 201, made.text)
    const { id } = made.body.data
    const [problem] = made.body.data.problems
    assert.deepInclude(problem, { path: "code", line: 3 })
    assert.isNumber(problem.column)
    assert.strictEqual((await ask("POST", `/${id}/publish`, {})).status, 422)
    assert.strictEqual((await ask("POST", `/${id}/execute`, { input: {}, draft: true })).status, 422)

    assert.deepStrictEqual((await ask("PUT", `/${id}`, code(1))).body.data.problems, [])
    assert.strictEqual((await ask("POST", `/${id}/publish`, {})).status, 200)
    const changed = await ask("PUT", `/${id}?incomplete=true`, { code: broken })
    assert.deepInclude(changed.body.data.problems[0], { path: "code", line: 3 })
    assert.strictEqual((await ask("GET", `/${id}`)).body.data.draft.code, broken)
    assert.strictEqual((await ask("POST", `/${id}/publish`, {})).status, 422)
    // The published version runs on.
    const ran = await ask("POST", `/${id}/execute`, { input: {} })
    assert.deepStrictEqual([ran.status, ran.body], [200, 1])
  })
})

describe("saves of one draft in a minute", () => {
  it("make one audit entry of each person, and one of every save of a key", async () => {
    const { cookie, organisation } = await newOwner("Autosaves")
    const owner = askWith(cookie)
    await owner("POST", "/api/v1/users/invite", { body: { email: "second@example.com", role: "admin" } })
    const second = askWith(cookieOf(await open(await newLink(organisation.organisationId, "second@example.com"))))
    const { id } = (await owner("POST", "/api/v1/workflows", { body: newDraft })).body.data
    const save = async (ask: typeof owner, body: object) => {
      const saved = await ask("PUT", `/api/v1/workflows/${id}`, { body })
      assert.strictEqual(saved.status, 200, saved.text)
    }
    const entries = async () => {
      const listed = await owner("GET", "/api/v1/audit?page_size=200")
      return listed.body.data.filter(
        ({ action, resource }: { action: string; resource: { id: string } }) =>
          action === "workflow.update" && resource.id === id
      ).length
    }
    for (const n of [1, 2, 3, 4]) await save(owner, code(n))
    assert.strictEqual(await entries(), 1)
    for (const n of [5, 6]) await save(second, code(n))
    await save(owner, code(7))
    assert.strictEqual(await entries(), 2)
    // What the entry does not tell of has one of its own, and so has what takes effect at once.
    await save(owner, { inputContract: { type: "object" } })
    await save(owner, { description: "told of" })
    await save(owner, { description: "told of, too" })
    assert.isAtLeast(await entries(), 4)
    const before = await entries()
    await svc.run(Effect.flatMap(WriterSql, (sql) => sql`DELETE FROM draft_saves WHERE workflow_id = ${id}`))
    await save(owner, code(8))
    assert.strictEqual(await entries(), before + 1)
    for (const n of [9, 10]) {
      const body = code(n)
      await svc.ask("PUT", `/api/v1/workflows/${id}`, { key: organisation.key, body })
    }
    assert.strictEqual(await entries(), before + 3)
  })
})
