/** The condition of an entity chooses its records, is checked, and names fields that the provider is asked for. */
import { assert, describe, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { ConnectorDefinition } from "../../../src/domain/connector/Definition.js"
import { mapsOf } from "../../../src/domain/connector/EntityMaps.js"
import { entityPlan, isOfEntity, narrowPlan } from "../../../src/domain/connector/EntityPlan.js"
import { validateDefinition } from "../../../src/domain/connector/Validation.js"
import type { Json } from "../../../src/domain/Json.js"

const definition = (where: Json) => ({
  svcConnector: 1 as const,
  slug: "acme",
  name: "Acme",
  kind: "crm" as const,
  version: "1.0.0",
  baseUrl: "https://acme.example",
  auth: [{ id: "none", type: "none" as const }],
  actions: [{ name: "list", request: { method: "GET" as const, path: "/items" } }],
  entities: [
    {
      name: "task",
      unified: "crm/task",
      read: "list",
      fieldsAt: "fields",
      where,
      unifiedFields: [
        { from: "id", to: "id" },
        { from: "fields.title", to: "subject" },
        { from: "fields.note", to: "content" }
      ]
    }
  ]
})

const where = {
  all: [{ path: "fields.kind", op: "eq", value: "task" }, { not: { path: "fields.hidden", op: "eq", value: true } }]
}

describe("an entity's condition", () => {
  const [entity] = Schema.decodeUnknownSync(ConnectorDefinition)(definition(where)).entities
  if (entity === undefined) throw new Error("no entity")

  it("chooses its records by the provider's values", () => {
    assert.isTrue(isOfEntity(entity, { fields: { kind: "task" } }))
    assert.isFalse(isOfEntity(entity, { fields: { kind: "call" } }))
    assert.isFalse(isOfEntity(entity, { fields: { kind: "task", hidden: true } }))
    assert.isFalse(isOfEntity(entity, {}))
  })

  it("names fields that are asked for, whatever members are wanted", () => {
    const [map] = mapsOf(entity)
    if (map === undefined) throw new Error("no map")
    const plan = entityPlan(entity, map.model, map, "en")
    assert.deepStrictEqual(plan.providerFields, ["title", "note", "kind", "hidden"])
    assert.deepStrictEqual(narrowPlan(plan, new Set(["id", "subject"])).providerFields, ["title", "kind", "hidden"])
  })

  it("is checked when the connector is saved", () => {
    const mistakes = (given: Json) =>
      Either.match(
        validateDefinition(definition(given), () => [], { allowsHttp: false }),
        { onLeft: (found) => found.map(({ path }) => path), onRight: () => [] }
      )
    assert.deepStrictEqual(mistakes(where), [])
    assert.deepStrictEqual(mistakes({ path: "kind", op: "matches", value: "a+" }), ["entities[0].where.value"])
    assert.deepStrictEqual(mistakes({ path: "kind", op: "in", value: "task" }), ["entities[0].where.value"])
    assert.deepStrictEqual(mistakes({ path: "", op: "eq", value: 1 }), ["entities[0].where.path"])
  })
})
