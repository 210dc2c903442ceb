/** The guest gets every value of its input; records show no member that is secret by its name. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../support/Sql.js"
import { eventually } from "../support/eventually.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let names = 0
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const password = "hunter2-never-shown"
const authorization = "Bearer abc-never-shown"
const cardNumber = "4242 4242 4242 never-shown"
const input = { user: "ada", password, proxy: { Authorization: authorization }, cards: [{ cardNumber, last4: "4242" }] }
const shownInput = {
  user: "ada",
  password: "[redacted]",
  proxy: { Authorization: "[redacted]" },
  cards: [{ cardNumber: "[redacted]", last4: "4242" }]
}
/** Proof of what the guest received, without its value. */
const lengths = [password, authorization, cardNumber].map(({ length }) => length)
const sawAll = `const { password, proxy, cards } = ctx.input
  const seen = [password, proxy.Authorization, cards[0].cardNumber].map((value) => value.length)`

const ask = (method: string, target: string, body?: unknown) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })

const makeWorkflow = async (tier: string, more = "") => {
  const code = `export default async (ctx) => { ${sawAll}; ${more}; return seen }`
  const made = await ask("POST", "/workflows", { name: `redacted_${(names += 1)}`, form: "code", tier, code })
  assert.strictEqual(made.status, 201, made.text)
  await ask("POST", `/workflows/${made.body.data.id}/publish`, {})
  return String(made.body.data.id)
}

const ended = async (id: string) => {
  const { body, text } = await eventually(
    () => ask("GET", `/executions/${id}`),
    (answer) => answer.body.data?.finishedAt !== null
  )
  assert.notInclude(text, "never-shown")
  assert.deepStrictEqual([body.data.status, body.data.output], ["completed", lengths], text)
  assert.deepStrictEqual(body.data.input, shownInput)
  return body.data
}

const run = async (workflow: string) => {
  const answer = await ask("POST", `/workflows/${workflow}/execute`, { input })
  const id = String(answer.headers["x-svc-execution-id"] ?? answer.body.executionId)
  return ended(id)
}

const rerun = async (id: string, body: object = {}) => {
  const answer = await ask("POST", `/executions/${id}/rerun`, body)
  assert.strictEqual(answer.status, 202, answer.text)
  return ended(answer.body.data.id)
}

/** The journal of a run is deleted days before its record. */
const dropJournal = (id: string) =>
  svc.run(Effect.flatMap(WriterSql, (sql) => sql`DELETE FROM journal WHERE id = ${id}`))

describe("a member of the input that is secret by its name", () => {
  for (const [tier, more] of [
    ["instant", ""],
    ["instant", "await svc.state.set('held', { password, cards })"],
    ["standard", "await svc.state.set('held', { password, cards })"]
  ] as const) {
    describe(`of a run of the tier ${tier} ${more === "" ? "without" : "with"} calls`, () => {
      it("reaches the guest and is in nothing that the API shows of the run", async () => {
        await run(await makeWorkflow(tier, more))
      })

      it("reaches a re-run, whose records do not show it either", async () => {
        const { id } = await run(await makeWorkflow(tier, more))
        assert.strictEqual((await rerun(id)).parentId, id)
        assert.strictEqual((await rerun(id, { mode: "resume" })).parentId, id)
      })
    })
  }

  it("must be sent again for a re-run once the journal is deleted", async () => {
    const { id } = await run(await makeWorkflow("instant"))
    await dropJournal(id)
    const refused = await ask("POST", `/executions/${id}/rerun`, {})
    assert.deepStrictEqual([refused.status, refused.body.details[0].path], [422, "input"], refused.text)
    assert.include(refused.body.message, "had secrets")
    await rerun(id, { input })
  })

  it("is in no row of a table in plain text", async () => {
    const { id } = await run(await makeWorkflow("standard", "console.log(Object.keys(ctx.input).join())"))
    const found = await svc.run(
      Effect.flatMap(
        WriterSql,
        (sql) => sql<{ row: string }>`SELECT e::text AS row FROM executions e WHERE id = ${id}
          UNION ALL SELECT s::text FROM steps s WHERE id = ${id} UNION ALL SELECT l::text FROM logs l WHERE id = ${id}
          UNION ALL SELECT encode(j.body, 'escape') FROM journal j WHERE id = ${id}`
      )
    )
    assert.isAtLeast(found.length, 3)
    assert.notInclude(JSON.stringify(found), "never-shown")
  })

  it("causes no journal if there is none and the run makes no call", async () => {
    const code = "export default async (ctx) => ctx.input.user"
    const made = await ask("POST", "/workflows", { name: "plain", form: "code", tier: "instant", code })
    await ask("POST", `/workflows/${made.body.data.id}/publish`, {})
    const answer = await ask("POST", `/workflows/${made.body.data.id}/execute`, { input: { user: "ada" } })
    const id = String(answer.headers["x-svc-execution-id"])
    const rows = await svc.run(Effect.flatMap(WriterSql, (sql) => sql`SELECT 1 FROM journal WHERE id = ${id}`))
    assert.lengthOf(rows, 0)
    assert.strictEqual((await ask("POST", `/executions/${id}/rerun`, {})).status, 202)
  })
})
