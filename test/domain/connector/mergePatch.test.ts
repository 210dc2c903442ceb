/** JSON merge patches are those of RFC 7396. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import type { JsonObject } from "../../../src/domain/Json.js"
import { mergePatch } from "../../../src/domain/connector/part/MergePatch.js"

describe("a merge patch", () => {
  // The examples of appendix A whose target and patch are objects.
  it.each<[JsonObject, JsonObject, JsonObject]>([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: "foo" }, { a: { b: 1 } }, { a: { b: 1 } }]
  ])("of %j with %j gives %j", (target, patch, expected) => assert.deepStrictEqual(mergePatch(target, patch), expected))

  it("sets no prototype, whatever its members are called", () => {
    const patch: JsonObject = JSON.parse(
      '{"__proto__": {"polluted": 1}, "a": {"__proto__": null, "constructor": {"x": 1}}}'
    )
    const merged = mergePatch({ a: {} }, patch)
    assert.strictEqual(JSON.stringify(merged), '{"a":{"constructor":{"x":1}},"__proto__":{"polluted":1}}')
    assert.strictEqual(Object.getPrototypeOf(merged), Object.prototype)
    assert.isUndefined(Reflect.get({}, "polluted"))
  })

  it("applied twice is the same as once, and leaves the target as it is", () => {
    const objects = fc.dictionary(fc.string({ maxLength: 2 }), fc.jsonValue())
    fc.assert(
      fc.property(objects, objects, (one, other) => {
        const [target, patch] = [one, other].map((value) => JSON.parse(JSON.stringify(value)))
        const before = JSON.stringify(target)
        const once = mergePatch(target, patch)
        assert.strictEqual(JSON.stringify(target), before)
        assert.deepStrictEqual(mergePatch(once, patch), once)
      })
    )
  })
})
