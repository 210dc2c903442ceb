import { Validator } from "@cfworker/json-schema"
import { Either, Schema } from "effect"
import { assert, describe, it } from "vitest"
import { ConnectorDefinition } from "../../../src/domain/connector/Definition.js"
import { mapsOf } from "../../../src/domain/connector/EntityMaps.js"
import { coverageOf } from "../../../src/domain/mapping/Coverage.js"
import { mistakesIn, validateDefinition } from "../../../src/domain/connector/Validation.js"
import { catalogue } from "../../../src/domain/connectors/index.js"
import { Json, type JsonObject } from "../../../src/domain/Json.js"
import { assertConforms } from "../../support/ConnectorCaller.js"

const encode = Schema.encodeSync(ConnectorDefinition)
const json = Schema.decodeUnknownSync(Json)

/** The mistake in a JSON Schema that does not compile. */
const findSchemaMistakes = (schema: JsonObject) => {
  try {
    void new Validator({ ...schema }, "2020-12").validate({})
    return []
  } catch (error) {
    return [{ path: "", code: "INVALID_VALUE", message: String(error) }]
  }
}

describe("the built-in catalogue", () => {
  it("has the kinds of the specification, some of them several times", () =>
    assert.sameMembers(
      catalogue().map(({ kind }) => kind),
      [
        "ecommerce",
        "payments",
        "accounting",
        "accounting",
        "inventory",
        "fulfillment",
        "source_hosting",
        "documents",
        "knowledge_base",
        "project_management",
        "chat",
        "email",
        "http",
        "ai",
        "crm",
        "crm",
        "crm"
      ]
    ))

  for (const definition of catalogue()) {
    describe(definition.name, () => {
      it("is valid, and stays so through export and import", () => {
        assert.deepStrictEqual(mistakesIn(definition, findSchemaMistakes), [])
        const file = json(JSON.parse(JSON.stringify(encode(definition))))
        assert.deepStrictEqual(Either.getOrThrow(validateDefinition(file, findSchemaMistakes)), definition)
      })

      it("has a mock for every action, which keeps to the action's schema", () => {
        for (const action of definition.actions) {
          assert.isNotEmpty(action.mocks, action.name)
          for (const mock of action.mocks)
            assertConforms(action.outputSchema, mock.output, `${action.name}'s mock ${mock.name}`)
        }
      })

      it("maps each common field once and in one direction at a time", () => {
        for (const { fields, fieldsOut, name } of definition.entities) {
          const to = fields.map((field) => field.to)
          assert.lengthOf(new Set(to), to.length, `${name}: ${to.join(", ")}`)
          const out = (fieldsOut ?? []).map((field) => field.to)
          assert.lengthOf(new Set(out), out.length, `${name}: ${out.join(", ")}`)
        }
      })
    })
  }

  it("fills what every record of a common entity must have", () => {
    const lacking = catalogue().flatMap(({ entities, slug }) =>
      entities.flatMap((entity) =>
        mapsOf(entity).flatMap(({ fields, kind, model }) =>
          kind === "unified"
            ? []
            : coverageOf(model, fields)
                .missing.filter((name) => model.fields[name]?.isRequired === true)
                .map((name) => `${slug} ${model.name} ${name}`)
        )
      )
    )
    assert.deepStrictEqual(lacking, [])
  })

  it("tests an account when it is connected, where a provider is known", () =>
    assert.deepStrictEqual(
      catalogue()
        .filter(({ test }) => test === undefined)
        .map(({ kind }) => kind),
      ["http"]
    ))

  it("never has the same slug twice", () =>
    assert.lengthOf(new Set(catalogue().map(({ slug }) => slug)), catalogue().length))
})
