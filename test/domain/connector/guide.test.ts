/** Definitions and parts of definitions in docs/connectors.md are valid. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { fileSchema } from "../../../src/domain/connector/FileSchema.js"
import { signerNames } from "../../../src/domain/connector/request/Signing.js"
import { validateDefinition } from "../../../src/domain/connector/Validation.js"
import type { Json, JsonObject } from "../../../src/domain/Json.js"
import { compileSchema, findSchemaMistakes } from "../../../src/runtime/computing/worker/Contracts.js"
import { blocksOf } from "../../support/guide.js"

const violations = (schema: JsonObject, value: Json) => compileSchema(schema)(value)

const blocks = blocksOf("docs/connectors.md").filter(({ language }) => language === "json")
const whole = JSON.parse(blocks.find(({ what }) => what === "definition")?.text ?? "null")

/** The definition with a part replaced; `auth[]` adds to a list. */
const having = (what: string, part: unknown) => {
  const member = what.replace("[]", "")
  return { ...whole, [member]: what.endsWith("[]") ? [...(whole[member] ?? []), part] : part }
}

const taken = (document: JsonObject) => {
  assert.deepStrictEqual(violations(fileSchema(), document), [])
  assert.deepStrictEqual(
    Either.getOrElse(Either.flip(validateDefinition(document, findSchemaMistakes)), () => []),
    []
  )
}

describe("docs/connectors.md", () => {
  it("shows a valid definition", () => taken(whole))

  const parts = blocks.filter(({ what }) => /^\w+(?:\[\])?$/.test(what) && !["definition", "import"].includes(what))
  it("shows parts of definitions", () => assert.isAtLeast(parts.length, 7))
  it.each(parts.map((part) => [`${part.what}, ${part.place}`, part] as const))(
    "shows a part that is taken: %s",
    (_, { text, what }) => taken(having(what, JSON.parse(text)))
  )

  it("shows a mistake as it is reported", () => {
    const wrong = structuredClone(whole)
    delete wrong.actions[1].request.query.cursor
    assert.deepStrictEqual(Either.getOrThrow(Either.flip(validateDefinition(wrong, findSchemaMistakes))), [
      {
        path: "actions[1].pagination.param",
        code: "UNUSED",
        message: "the request never reads args.cursor, so every page would be the first"
      }
    ])
  })

  it("names every signer", () => {
    const text = JSON.stringify(fileSchema())
    for (const name of signerNames) assert.include(text, name)
  })
})
