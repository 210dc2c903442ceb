/** What connectors serve of the unified API is told in a page that is current, with a reason for each gap. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { catalogue } from "../../../src/domain/connectors/index.js"
import { unifiedEntities } from "../../../src/domain/unified/Entities.js"
import { unifiedTable } from "../../support/unifiedTable.js"

const definitions = catalogue()
const page = readFileSync(new URL("../../../docs/unified-connectors.md", import.meta.url), "utf8")

/** The cells of the rows of a page. */
const rowsOf = (text: string) =>
  text
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| connector"))
    .map((line) => line.split("|").map((cell) => cell.trim()))

describe("docs/unified-connectors.md", () => {
  it("is as the definitions are", () =>
    assert.strictEqual(page, unifiedTable(definitions).text, "run npm run generate"))

  it("has a reason for each gap, and none for what is served", () =>
    assert.deepStrictEqual(unifiedTable(definitions).mistakes, []))

  it("misses the reason of a new gap, and the gap of an old reason", () => {
    const changed = definitions.map((one) =>
      one.slug === "hubspot"
        ? {
            ...one,
            entities: one.entities
              .filter(({ name }) => name !== "owner")
              .map((entity) => ({ ...entity, delete: [], ...(entity.name === "stage" ? { get: "getStage" } : {}) }))
          }
        : one
    )
    const { mistakes } = unifiedTable(changed)
    assert.includeMembers(
      [...mistakes],
      [
        "hubspot crm/user: has no reason",
        "hubspot crm/contact delete: has no reason",
        "hubspot crm/stage get: has a reason and is no gap"
      ]
    )
  })

  it("shows each entity of CRM served by a connector", () => {
    const rows = rowsOf(page)
    for (const { category, entity } of unifiedEntities.filter((one) => one.category === "crm")) {
      const found = rows.filter((row) => (row[2] ?? "").split(" ")[0] === entity && row.includes("✓"))
      assert.isNotEmpty(found, `${category}/${entity}`)
    }
  })
})
