/**
 * Measures the maps of common records against `JSON.parse` of the same records' text: 10,000 records, with twenty plain pairs,
 * and with transforms and coercions. Target: at most 10 and 30 times as long.
 */
import { entityPlan } from "../src/domain/connector/EntityPlan.js"
import { Schema } from "effect"
import { EntityDefinition } from "../src/domain/connector/Entity.js"
import type { JsonObject } from "../src/domain/Json.js"
import { FieldMap, type FieldMapEncoded } from "../src/domain/mapping/FieldMap.js"
import { MapCost } from "../src/domain/mapping/MapCost.js"
import { readRecord } from "../src/domain/mapping/RecordReading.js"
import { findModel } from "../src/domain/model/Models.js"
import { shortest } from "./support/Shortest.js"
import { Table } from "./support/Table.js"

const count = 10_000

const records: ReadonlyArray<JsonObject> = Array.from({ length: count }, (_, at) => ({
  id: `id_${at}`,
  name: ` Deal number ${at} `,
  first: "Ada",
  last: "Byron",
  amount: `€ 1.234.${String(at % 1000).padStart(3, "0")},50`,
  currency: "eur",
  state: ["Open", "closed-won", "closed lost"][at % 3] ?? "",
  owner: at,
  created: 1_700_000_000 + at,
  changed: "02.03.2026",
  closed: "2026-03-02T10:00:00+01:00",
  ...Object.fromEntries(Array.from({ length: 10 }, (__, nth) => [`field_${nth}`, `value ${nth} of ${at}`]))
}))

const custom = Array.from({ length: 10 }, (_, nth) => ({ from: `field_${nth}`, to: `customFields.f${nth}` }))

const plainPairs: ReadonlyArray<FieldMapEncoded> = [
  { from: "id", to: "id" },
  { from: "name", to: "name" },
  { from: "first", to: "description" },
  { from: "last", to: "stageId" },
  { from: "owner", to: "ownerId" },
  { from: "created", to: "remoteCreatedAt" },
  { from: "closed", to: "closeDate" },
  { from: "currency", to: "currency" },
  { from: "state", to: "pipelineId" },
  { from: "amount", to: "accountId" },
  ...custom
]

const richPairs: ReadonlyArray<FieldMapEncoded> = [
  { from: "id", to: "id", transforms: ["UPPER"] },
  { from: "name", to: "name", transforms: ["TRIM", "LOWER"] },
  { from: "first", to: "description", transforms: [{ fn: "CONCAT", args: [" ", "first", "last"] }] },
  { from: "missing", to: "stageId", transforms: [{ fn: "COALESCE", args: ["gone", "last"] }] },
  { from: "amount", to: "amount", locale: "de", transforms: ["MULTIPLY(1.19)", "ROUND(2)"] },
  { from: "currency", to: "currency" },
  { from: "state", to: "status", enum: { open: "OPEN", closed_won: "WON", closed_lost: "LOST" } },
  { from: "created", to: "remoteCreatedAt", dateFormat: "unix" },
  { from: "changed", to: "remoteUpdatedAt", locale: "de" },
  { from: "closed", to: "closeDate" },
  ...custom.map((pair) => ({ ...pair, transforms: ["TRIM", "UPPER"] }))
]

export const mapping = (): Promise<void> => {
  const model = findModel("crm.opportunity")
  if (model === undefined) throw new Error("there is no model crm.opportunity")
  const text = JSON.stringify(records)
  const parsing = shortest(() => JSON.parse(text))
  const entity = Schema.decodeSync(EntityDefinition)({ name: "deal" })
  const table = new Table("map", "times JSON.parse", "at most")
  const measured = [
    ["20 plain pairs", plainPairs, 10],
    ["20 pairs with transforms and coercions", richPairs, 30]
  ] as const
  for (const [name, pairs, target] of measured) {
    const fields = Schema.decodeSync(Schema.Array(FieldMap))(pairs)
    const { reading } = entityPlan(entity, model, { fields, fieldsOut: [] }, "en")
    const mapped = shortest(() => {
      for (const record of records) {
        const work = readRecord(reading, record, new MapCost())
        let step = work.next()
        while (step.done !== true) step = work.next()
        if (step.value.warnings.length > 0) throw new Error(JSON.stringify(step.value.warnings))
      }
    })
    table.add(name, (mapped / parsing).toFixed(1), target)
  }
  table.print(`Mapping ${count} records`)
  return Promise.resolve()
}
