/** A text in YAML has what its merge keys bring, within the limits of aliases. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { yamlDocument } from "../../src/domain/Limits.js"
import { parseText } from "../../src/runtime/computing/worker/Text.js"

const read = (lines: ReadonlyArray<string>) =>
  Either.getOrThrowWith(parseText(lines.join("\n")), (why) => new Error(why))

describe("a merge key", () => {
  it.each<[ReadonlyArray<string>, unknown]>([
    [["a: &a { x: 1, y: 2 }", "b: { <<: *a, y: 3 }"], { a: { x: 1, y: 2 }, b: { x: 1, y: 3 } }],
    [["a: &a { x: 1 }", "b:", "  y: 2", "  <<: *a"], { a: { x: 1 }, b: { y: 2, x: 1 } }],
    [
      ["a: &a { x: 1 }", "b: &b { x: 2, z: 3 }", "c: { <<: [*a, *b] }"],
      { a: { x: 1 }, b: { x: 2, z: 3 }, c: { x: 1, z: 3 } }
    ],
    [
      ["a: &a { x: 1 }", "b: &b { <<: *a, y: 2 }", "c: [{ <<: *b }]"],
      { a: { x: 1 }, b: { x: 1, y: 2 }, c: [{ x: 1, y: 2 }] }
    ],
    [["a: { <<: { x: 1 } }"], { a: { x: 1 } }],
    [["a: { <<: text }"], { a: { "<<": "text" } }]
  ])("brings the members of its maps: %#", (lines, expected) => assert.deepStrictEqual(read(lines), expected))

  it("brings no prototype", () => {
    const found = read(["a: &a { __proto__: { polluted: 1 } }", "b: { <<: *a }"])
    assert.deepStrictEqual(found, JSON.parse('{"a":{"__proto__":{"polluted":1}},"b":{"__proto__":{"polluted":1}}}'))
    assert.notProperty({}, "polluted")
  })

  const levels = (count: number, source: (level: number) => string) => [
    "a0: &a0 { x: 1 }",
    ...Array.from({ length: count }, (_, at) => `a${at + 1}: &a${at + 1} { <<: ${source(at)}, m${at}: 1 }`)
  ]

  it("that multiplies what it brings is refused", () => {
    const doubled = parseText(levels(40, (at) => `[*a${at}, *a${at}]`).join("\n"))
    assert.match(Either.isLeft(doubled) ? doubled.left : "", /alias/)
  })

  it("in a chain is read", () => {
    const found = read(levels(8, (at) => `*a${at}`))
    assert.lengthOf(Object.keys(Object.values(found ?? {}).at(-1) ?? {}), 9)
  })

  it("brings no more members than the limit, however many maps have it", () => {
    const size = 2_000
    const large = `a: &a { ${Array.from({ length: size }, (_, at) => `k${at}: 1`).join(", ")} }`
    const many = Array.from({ length: Math.ceil(yamlDocument.merged / size) + 1 }, (_, at) => `b${at}: { <<: *a }`)
    const found = parseText([large, ...many].join("\n"))
    assert.match(Either.isLeft(found) ? found.left : "", /merge keys \(<<\) bring more than 1000000 members/)
  })
})
