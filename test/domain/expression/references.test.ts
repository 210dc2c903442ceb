import { assert, describe, it } from "@effect/vitest"
import { conditionReferences, templateReferences } from "../../../src/domain/expression/References.js"
import { render, renderAll } from "../../../src/domain/expression/Template.js"
import type { Json, JsonObject } from "../../../src/domain/Json.js"

const output: Json = { id: "S-1", lines: [{ sku: "a" }, { sku: "b" }], note: "{{input.customer.name}}" }
const scope: JsonObject = {
  input: { customer: { name: "Ada" }, none: null },
  steps: { order: { output } },
  item: 3,
  index: 0
}

describe("the expressions of a flow", () => {
  it.each<[string, Json]>([
    ["{{steps.order.output.lines}}", [{ sku: "a" }, { sku: "b" }]],
    ["{{steps.order.output.lines[-1].sku}}", "b"],
    ["{{item}}", 3],
    ["n° {{index}}", "n° 0"],
    ["{{steps.gone.output.id}}", null],
    ["{{input.none}}", null],
    ['{{steps.gone.output.id ?? input.none ?? "none"}}', "none"],
    ['{{"{{"}}', "{{"],
    ['{{"{{"}}input.customer.name}}', "{{input.customer.name}}"],
    ['say {{"{{"}}x}} to {{input.customer.name}}', "say {{x}} to Ada"]
  ])("%s is %j", (text, expected) => assert.deepStrictEqual(render(text, scope), expected))

  it("never evaluate data, whole or joined, from whichever alternative it comes", () => {
    for (const text of ["{{steps.order.output.note}}", "{{steps.gone ?? steps.order.output.note}}"])
      assert.strictEqual(render(text, scope), "{{input.customer.name}}")
    assert.strictEqual(render("{{steps.order.output.note}}!", scope), "{{input.customer.name}}!")
    assert.deepStrictEqual(renderAll({ order: "{{steps.order.output}}" }, scope), { order: output })
  })
})

describe("references", () => {
  it("are found in every string of a value, with its place, but not in names of members", () => {
    const value: Json = {
      "{{input.name}}": 1,
      url: "https://x.example/{{steps.a.output.id}}/{{input.b ?? steps.c.output[0] ?? 'x'}}",
      body: { list: ["plain", { "odd name": "{{item}}" }], n: 5, none: null }
    }
    assert.deepStrictEqual(templateReferences(value, "input"), {
      references: [
        { at: "input.url", path: ["steps", "a", "output", "id"] },
        { at: "input.url", path: ["input", "b"] },
        { at: "input.url", path: ["steps", "c", "output", 0] },
        { at: 'input.body.list[1]["odd name"]', path: ["item"] }
      ],
      mistakes: []
    })
  })

  it("come with all mistakes", () => {
    const { mistakes, references } = templateReferences(["{{", "{{f(x)}}", "{{input.a}}", { a: "{{}}" }], "over")
    assert.deepStrictEqual(
      mistakes.map(({ code, path }) => `${code} ${path}`),
      ["INVALID_TEMPLATE over[0]", "INVALID_TEMPLATE over[1]", "INVALID_TEMPLATE over[3].a"]
    )
    assert.deepStrictEqual(references, [{ at: "over[2]", path: ["input", "a"] }])
  })

  it("of a condition are its paths, and values that are one reference; other values and patterns are data", () => {
    assert.deepStrictEqual(
      conditionReferences(
        {
          all: [
            { path: "steps.a.output.total", op: "gt", value: 5 },
            { not: { any: [{ path: "$.input.x", op: "eq", value: "{{steps.b.output}}" }] } },
            { path: "input.y", op: "eq", value: "a {{steps.c.output}}" },
            { path: "input.z", op: "matches", value: "{{steps.d.output}}" },
            { path: "a b", op: "exists" }
          ]
        },
        "when"
      ),
      {
        references: [
          { at: "when.all[0].path", path: ["steps", "a", "output", "total"] },
          { at: "when.all[1].not.any[0].path", path: ["input", "x"] },
          { at: "when.all[1].not.any[0].value", path: ["steps", "b", "output"] },
          { at: "when.all[2].path", path: ["input", "y"] },
          { at: "when.all[3].path", path: ["input", "z"] }
        ],
        mistakes: [{ path: "when.all[4].path", code: "INVALID_PATH", message: '"a b" cannot be read from " b" on' }]
      }
    )
  })
})
