/** Conditions have the names that Postgres gives them. */
import { assert, describe, it } from "@effect/vitest"
import { Client } from "pg"
import { inject } from "vitest"
import { conditionOf, conditions } from "../../src/runtime/telemetry/SqlStates.js"

describe("a condition", () => {
  it("has the name that Postgres knows it by", async () => {
    const client = new Client({ connectionString: inject("postgres").admin })
    await client.connect()
    const wrong: Array<string> = []
    for (const [code, name] of Object.entries(conditions)) {
      if (code.startsWith("0200") || code === "03000") continue
      const raised: unknown = await client.query(`DO $$ BEGIN RAISE ${name}; END $$`).then(
        () => "nothing",
        (error: unknown) => (error instanceof Error && "code" in error ? error.code : error)
      )
      // Some names stand for several codes.
      if (conditions[String(raised)] !== name) wrong.push(`${code} ${name}: ${String(raised)}`)
    }
    await client.end()
    assert.deepStrictEqual(wrong, [])
  })

  it("that is unknown has the name of its class", () => {
    assert.deepStrictEqual(
      [conditionOf("53100"), conditionOf("53999"), conditionOf("QQ001")],
      ["disk_full", "insufficient_resources", undefined]
    )
  })
})
