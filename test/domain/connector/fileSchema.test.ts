/** The JSON Schema for editors accepts valid definitions and refuses malformed ones. */
import { assert, describe, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { ConnectorDefinition } from "../../../src/domain/connector/Definition.js"
import { fileSchema } from "../../../src/domain/connector/FileSchema.js"
import { validateDefinition } from "../../../src/domain/connector/Validation.js"
import { catalogue } from "../../../src/domain/connectors/index.js"
import { isObject, Json as AnyJson, type Json, type JsonObject } from "../../../src/domain/Json.js"
import { compileSchema, findSchemaMistakes } from "../../../src/runtime/computing/worker/Contracts.js"
import { acme, withValue } from "../../support/contractExample.js"

const violations = (schema: JsonObject, value: Json) => compileSchema(schema)(value)

const schema = fileSchema()
const json = Schema.decodeUnknownSync(AnyJson)

describe("the schema of a definition's file", () => {
  it("is a schema itself", () => assert.deepStrictEqual(findSchemaMistakes(schema), []))

  it("accepts the contract's example", () => assert.deepStrictEqual(violations(schema, acme), []))

  for (const definition of catalogue())
    it(`takes ${definition.slug} as it is exported`, () =>
      assert.deepStrictEqual(violations(schema, json(Schema.encodeSync(ConnectorDefinition)(definition))), []))

  it.each([
    ["a member that nobody knows", "actoins", []],
    ["another type", "actions.0.timeoutMs", "1000"],
    ["a number out of its range", "retry.maxAttempts", 11],
    ["a word that is none of the list", "actions.0.pagination.type", "cursors"],
    ["a member that a method does not have", "auth.1.tokenUrl", "https://acme.example/token"],
    ["a condition without its operator", "actions.0.response.errorWhen", { path: "ok" }],
    ["a version that is none", "version", "1.2"],
    ["a member that is lacking", "baseUrl", undefined]
  ])("refuses %s, as saving does", (_, path, value) => {
    const document = withValue([path, value])
    assert.isNotEmpty(violations(schema, document))
    assert.isTrue(Either.isLeft(validateDefinition(document, findSchemaMistakes)))
  })

  it("describes every member of the definition whose name does not say it", () => {
    const properties = schema["properties"]
    const silent = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, one]) =>
      isObject(one) && one["description"] === undefined ? [name] : []
    )
    assert.sameMembers(silent, [
      "actions",
      "description",
      "entities",
      "events",
      "iconUrl",
      "kind",
      "rateLimit",
      "webhooks"
    ])
  })
})

describe("a file that names its schema for editors", () => {
  const told: Json = { $schema: "../docs/connector.schema.json", ...withValue() }

  it("is accepted by the schema", () => assert.deepStrictEqual(violations(schema, told), []))

  it("gives the same definition as without it", () =>
    assert.deepStrictEqual(
      validateDefinition(told, findSchemaMistakes),
      validateDefinition(withValue(), findSchemaMistakes)
    ))

  it("is refused if the name is not a string", () =>
    assert.deepInclude(
      Either.getOrThrow(Either.flip(validateDefinition({ $schema: 1, ...withValue() }, findSchemaMistakes)))[0],
      {
        path: "$schema",
        code: "UNKNOWN_FIELD"
      }
    ))
})
