import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc } from "effect"
import type { Condition } from "../../../src/domain/expression/Condition.js"
import { meetsCondition } from "../../../src/domain/expression/ConditionEvaluation.js"
import { patternMistake } from "../../../src/domain/expression/Pattern.js"
import { readPath, valueAt } from "../../../src/domain/expression/Path.js"
import { parsePath } from "../../../src/domain/expression/Parsing.js"
import { templatePaths, render, renderAll, renderText } from "../../../src/domain/expression/Template.js"
import { parseTemplate } from "../../../src/domain/expression/Parsing.js"
import type { Json, JsonObject } from "../../../src/domain/Json.js"
import { StepBudget } from "../../../src/domain/expression/StepBudget.js"
import { backtracking, compiledPatterns } from "../../support/patterns.js"

const meets = (condition: Condition, value: Json) =>
  meetsCondition(condition, value, { patterns: compiledPatterns, budget: new StepBudget(Infinity) })

const scope = {
  args: { id: 7, name: "Ada", tags: ["a", "b"], none: null, empty: "", nested: { "odd.name": true } },
  connection: { config: { region: "eu" } }
}

describe("a path", () => {
  it.each([
    ["$", []],
    ["$.a.b", ["a", "b"]],
    ["a[0].b", ["a", 0, "b"]],
    ["$[0]", [0]],
    ["a[-1]", ["a", -1]],
    ['a["b.c"].d', ["a", "b.c", "d"]],
    ["a['b\\'c']", ["a", "b'c"]],
    ["x-header.y_z", ["x-header", "y_z"]]
  ])("%s is %j", (text, expected) => assert.deepStrictEqual(Either.getOrThrow(parsePath(text)), expected))

  it.each(["", "a..b", ".a", "a.", "a[", "a[x]", "a]", "a b", "a{{", "$$.", "a.".repeat(70) + "a"])(
    "%j is refused",
    (text) => assert.isTrue(Either.isLeft(parsePath(text)))
  )

  it("reads own members only, not the prototype", () => {
    for (const name of ["__proto__", "constructor", "toString", "length"]) {
      assert.isUndefined(valueAt({ a: 1 }, name))
      assert.isUndefined(valueAt([1, 2], name))
      assert.isUndefined(valueAt("text", name))
    }
    assert.strictEqual(valueAt(JSON.parse('{"__proto__":{"constructor":1}}'), "__proto__.constructor"), 1)
  })

  it("counts negative indexes from the end", () => {
    assert.strictEqual(valueAt({ data: [{ id: 1 }, { id: 2 }] }, "$.data[-1].id"), 2)
    assert.isUndefined(valueAt({ data: [] }, "$.data[-1].id"))
  })

  it.prop(
    "finds what stands under any chain of names and places",
    [fc.array(fc.oneof(fc.string({ minLength: 1 }), fc.nat(3)), { minLength: 1, maxLength: 8 })],
    ([segments]) => {
      const value = segments.reduceRight<Json>((inner, segment) => {
        if (typeof segment !== "number") return Object.fromEntries([[segment, inner]])
        return Array.from({ length: segment + 1 }, (_, at) => (at === segment ? inner : null))
      }, "found")
      const text = segments
        .map((s) => (typeof s === "number" ? `[${s}]` : `["${s.replace(/["\\]/g, "\\$&")}"]`))
        .join("")
      assert.strictEqual(readPath(value, Either.getOrThrow(parsePath(text))), "found")
    }
  )
})

describe("a template", () => {
  it.each([
    ["{{args.id}}", 7],
    [" {{args.id}}", " 7"],
    ["{{ args.tags }}", ["a", "b"]],
    ["tags: {{args.tags}}", 'tags: ["a","b"]'],
    ["{{args.missing}}", null],
    ["[{{args.missing}}]", "[]"],
    ['{{args.missing ?? args.none ?? "x ?? y }}"}}', "x ?? y }}"],
    ["{{args.empty ?? 1}}", ""],
    ["{{args.missing ?? 100}}", 100],
    ["{{args.missing ?? false}}", false],
    ["{{args.nested['odd.name']}}", true],
    ["https://{{connection.config.region}}.example/{{args.name}}", "https://eu.example/Ada"],
    ["plain", "plain"],
    ["", ""],
    ["{ not } one }}", "{ not } one }}"]
  ])("%j is %j", (text, expected) => assert.deepStrictEqual(render(text, scope), expected))

  it.each(["{{", "a {{b", "{{}}", "{{ }}", "{{a ?? }}", "{{?? a}}", "{{a b}}", "{{f(x)}}", "{{a + b}}", "{{$.a}}"])(
    "%j is refused",
    (text) => assert.isTrue(Either.isLeft(parseTemplate(text)))
  )

  it("runs no code and reaches no prototype", () => {
    for (const text of ["{{constructor}}", "{{__proto__.polluted}}", "{{args.constructor.constructor}}"]) {
      assert.isNull(render(text, scope))
    }
    const made = renderAll(JSON.parse('{"__proto__":"{{args.id}}"}'), scope)
    assert.strictEqual(JSON.stringify(made), '{"__proto__":7}')
    assert.strictEqual(Object.getPrototypeOf(made), Object.prototype)
  })

  it("lists the paths that it reads", () => {
    const parts = Either.getOrThrow(parseTemplate('a {{args.x ?? connection.config.y[0] ?? "z"}}'))
    assert.deepStrictEqual(templatePaths(parts), [
      ["args", "x"],
      ["connection", "config", "y", 0]
    ])
  })

  it.prop("keeps the type of a value that is the whole template", [fc.jsonValue()], ([value]) => {
    const json: Json = JSON.parse(JSON.stringify(value))
    const inside: JsonObject = { args: { x: json } }
    assert.deepStrictEqual(render("{{args.x}}", inside), json)
    assert.deepStrictEqual(renderAll(["{{args.x}}"], inside), [json])
  })

  it.prop("does not change the text around values", [fc.string(), fc.string()], ([before, after]) => {
    fc.pre(!before.includes("{{") && !after.includes("{{") && !before.endsWith("{"))
    assert.strictEqual(
      renderText(`${before}{{args.id}}${after}`, scope, () => "|"),
      `${before}|${after}`
    )
  })
})

describe("a condition", () => {
  const value = { ok: false, n: 5, s: "hello", list: ["a", 1], nothing: null, when: "2026-01-01" }
  it.each([
    [{ path: "ok", op: "eq", value: false }, true],
    [{ path: "ok", op: "neq", value: false }, false],
    [{ path: "n", op: "gt", value: 4 }, true],
    [{ path: "n", op: "lte", value: "5" }, true],
    [{ path: "when", op: "lt", value: "2026-02-01" }, true],
    [{ path: "s", op: "contains", value: "ell" }, true],
    [{ path: "list", op: "contains", value: 1 }, true],
    [{ path: "s", op: "in", value: ["x", "hello"] }, true],
    [{ path: "s", op: "matches", value: "^h.+o$" }, true],
    [{ path: "nothing", op: "exists" }, true],
    [{ path: "gone", op: "exists", value: false }, true],
    [{ path: "gone", op: "neq", value: 1 }, true],
    [{ path: "gone", op: "nin", value: [1] }, true],
    [{ path: "gone", op: "eq", value: null }, false],
    [{ path: "gone", op: "gt", value: 0 }, false],
    [{ not: { all: [{ path: "n", op: "gte", value: 5 }, { any: [{ path: "s", op: "endsWith", value: "x" }] }] } }, true]
  ] as const)("%j is %s", (condition, expected) => assert.strictEqual(meets(condition, value), expected))

  it.each<readonly [left: Json, op: "lt" | "lte" | "gt" | "gte", right: Json, expected: boolean]>([
    ["", "lt", 100, false],
    ["", "gte", 0, false],
    [" ", "lt", 100, false],
    [" \t\n", "gte", 0, false],
    ["0x10", "gt", 1, false],
    ["0b11", "lt", 9, false],
    ["Infinity", "gt", 1, false],
    ["1_000", "gt", 1, false],
    ["1e3", "gt", 999, true],
    [" 12.50 ", "lt", 100, true],
    ["+5", "gte", "5", true],
    [".5", "lt", "0.6", true],
    ["9007199254740993", "gt", "9007199254740992", true],
    ["9007199254740992", "gt", "9007199254740992", false],
    ["9007199254740992", "gte", "9007199254740992", true],
    ["9007199254740991", "lt", "9007199254740992", true],
    ["9007199254740993", "lte", 9007199254740992, false],
    [9007199254740992, "lt", "9007199254740993", true],
    ["-9007199254740993", "lt", "-9007199254740992", true],
    ["100000000000000000000", "gt", "99999999999999999999", true],
    ["100000000000000000001", "gt", 1e20, true],
    ["9".repeat(400), "gt", `${"9".repeat(399)}8`, true],
    [`${"9".repeat(401)}`, "gt", 5, false],
    ["b", "gt", "a", true],
    [" ", "lt", "a", true]
  ])("%j %s %j is %s", (left, op, right, expected) => {
    assert.strictEqual(meets({ path: "v", op, value: right }, { v: left }), expected)
  })

  it.each(["(a)\\1", "(?=a)b", "[", "a{2000}", "(?:(?:[ab]{1,30}){1,30}){1,30}", "a".repeat(501)])(
    "the pattern %s, which no linear engine can match, is refused and meets nothing",
    (pattern) => {
      assert.isString(patternMistake(pattern))
      assert.isFalse(meets({ path: "s", op: "matches", value: pattern }, { s: "aaaa" }))
    }
  )

  it.each(["^[^@\\s]+@[^@\\s]+\\.[a-z]+$", "^(?:ab)+$", "^https?://", "\\d{4}-\\d{2}", "a|b|c", ...backtracking])(
    "the pattern %s is taken",
    (pattern) => assert.isUndefined(patternMistake(pattern))
  )
})
