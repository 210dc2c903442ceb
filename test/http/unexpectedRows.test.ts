/** A row that this release cannot read is an error of the service, which names table and column and quotes no value. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { announce, unannouncedLines } from "../support/LogExpectations.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const sql = (statement: string, values: ReadonlyArray<unknown>) =>
  svc.run(Effect.flatMap(WriterSql, (writer) => writer.unsafe(statement, values)))
const get = (path: string) => svc.ask("GET", path, { key: svc.first.key })

describe("a stored row of another form", () => {
  it("is neither answered nor taken for what it is not", async () => {
    const at = "/api/v1/customers"
    const made = await svc.ask("POST", at, { key: svc.first.key, body: { name: "Acme" } })
    const { id } = made.body.data
    await sql("UPDATE customers SET limits = $2::jsonb WHERE id = $1", [id, JSON.stringify({ triggers: "canary" })])
    announce(/UnexpectedRow.*the table customers has a value in the column limits/s, { required: true })
    for (const path of [`${at}/${id}`, at]) {
      const refused = await get(path)
      assert.deepStrictEqual([refused.status, refused.body.code], [500, "INTERNAL_ERROR"], refused.text)
      assert.notInclude(refused.text, "canary")
    }
    assert.notInclude(unannouncedLines().join("\n"), "canary")
    await sql("UPDATE customers SET limits = '{}' WHERE id = $1", [id])
    assert.strictEqual((await get(`${at}/${id}`)).status, 200)
  })
})
