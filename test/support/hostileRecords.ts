/** Maps and records of a tenant that cost most. */
import { Schema } from "effect"
import { EntityDefinition } from "../../src/domain/connector/Entity.js"
import { entityPlan } from "../../src/domain/connector/EntityPlan.js"
import type { JsonObject } from "../../src/domain/Json.js"
import { FieldMap, type FieldMapEncoded } from "../../src/domain/mapping/FieldMap.js"
import type { Model } from "../../src/domain/model/FieldType.js"
import { findModel } from "../../src/domain/model/Models.js"

export const model = findModel("crm.contact") as Model // The name is one of the table.
const entity = Schema.decodeSync(EntityDefinition)({ name: "contact" })

export const planOf = (fields: ReadonlyArray<FieldMapEncoded>, fieldsOut: ReadonlyArray<FieldMapEncoded> = []) => {
  const decode = Schema.decodeSync(Schema.Array(FieldMap))
  return entityPlan(entity, model, { fields: decode(fields), fieldsOut: decode(fieldsOut) }, "en")
}

const pairs = (from: string, more: Partial<FieldMapEncoded> = {}): ReadonlyArray<FieldMapEncoded> =>
  Array.from({ length: 1_000 }, (_, at) => ({ from, to: `customFields.f${at}`, ...more }))

export const long = "a, ".repeat(1_000_000)

/** Maps of a thousand pairs, each with a record. */
export const costlyMaps: ReadonlyArray<readonly [string, ReadonlyArray<FieldMapEncoded>, JsonObject]> = [
  ["of one long text", pairs("t"), { t: long }],
  ["of one long text in capital letters", pairs("t", { transforms: ["UPPER"] }), { t: long }],
  [
    "that joins long texts",
    pairs("t", { transforms: [{ fn: "CONCAT", args: ["", ...Array(50).fill("t")] }] }),
    { t: long.slice(0, 60_000) }
  ],
  ["that finds words in a long text", pairs("t", { enum: { a: "b" } }), { t: long }],
  ["of the whole record", pairs("$"), { list: Array.from({ length: 50_000 }, (_, at) => ({ at })) }],
  [
    "of a long list",
    Array.from({ length: 1_000 }, (_, at) => ({ from: "list[*].at", to: `customFields.l${at}[*].x` })),
    { list: Array.from({ length: 100_000 }, (_, at) => ({ at })) }
  ]
]

/** A map that writes a long text a thousand times. */
export const copyingPlan = () => {
  const copies = Array.from({ length: 1_000 }, (_, at) => ({ from: "title", to: `x${at}` }))
  return planOf([], copies).writing
}

/** A thousand pairs, each with a mistake. */
export const mistakenPairs = Schema.decodeSync(Schema.Array(FieldMap))(
  Array.from({ length: 1_000 }, (_, at) => ({ from: "a", to: `emailAddrseses${"x".repeat(30)}${at}` }))
)

/** What a record may be written by. */
export const writtenRules = {
  model,
  verb: "create",
  writable: [[["lastName"]]],
  constants: [],
  connector: "x"
} as const

/** Records with a hundred thousand mistakes. */
export const mistakenRecords: ReadonlyArray<readonly [string, JsonObject]> = [
  ["unknown members", Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`emailAdress${at}`, at]))],
  ["wrong items", { emailAddresses: Array.from({ length: 200_000 }, () => 1) }],
  ["items that cannot be written", { emailAddresses: Array.from({ length: 200_000 }, () => ({ type: "x" })) }]
]
