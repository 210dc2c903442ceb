/**
 * Expressions give the same in the service and in a guest, whatever is written into them, and whatever data they meet.
 */
import { assert, describe, it } from "@effect/vitest"
import { parseExpressionAt } from "acorn"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { setImmediate } from "node:timers/promises"
import { Either, FastCheck as fc } from "effect"
import { flowLibrary } from "../../src/domain/expression/FlowLibrary.js"
import * as library from "../../src/domain/expression/GuestLibrary.js"
import { Comparison } from "../../src/domain/expression/Condition.js"
import { compilePattern } from "../../src/domain/expression/Pattern.js"
import { ProcessorTime } from "../../src/runtime/sandbox/runner/Processor.js"
import { makeEngine } from "../../src/runtime/sandbox/runner/Engine.js"
import { isLong } from "../support/longForm.js"

const wasm = Uint8Array.from(
  readFileSync(createRequire(import.meta.url).resolve("@jitl/quickjs-ng-wasmfile-release-sync/wasm"))
)
const engine = await makeEngine(wasm, new ProcessorTime(), () => undefined)
const limits = { memoryBytes: 128 * 1024 * 1024, cpuMillis: 60_000 }

/** A call of the library as JSON text: the name of the function, and its arguments. */
type Call = string

interface Functions {
  readonly [name: string]: (...args: ReadonlyArray<never>) => unknown
}

/** What each call gives, as text: the same code runs in the service and in guests. */
const answers = (functions: Functions, calls: string, programs: string): ReadonlyArray<string> => {
  const last: ReadonlyArray<never> = JSON.parse(`[${programs}]`)
  return JSON.parse(calls).map(([name, args]: readonly [string, ReadonlyArray<never>]) => {
    try {
      return String(JSON.stringify(functions[name]?.(...args, ...last)))
    } catch (cause) {
      return `throws ${String(cause)}`
    }
  })
}
const inService = (calls: ReadonlyArray<Call>) => answers({ ...library }, list(calls), programs)

const list = (calls: ReadonlyArray<Call>) => `[${calls.join(",")}]`

/** A guest with the library: each run is a new guest. `before`: what the workflow does first. */
const loadGuest = async (before = "") => {
  const script = `"use strict"; (() => {
    const flow = ${flowLibrary}
    const programs = ${JSON.stringify(programs)}
    const answers = ${answers.toString()}
    globalThis.__workflow = async (ctx) => {
      ${before}
      return [answers(flow, ctx.input, programs), Object.getOwnPropertyNames(Object.prototype).length]
    }
  })()`
  const { snapshot, instance } = await engine.load(Buffer.from(script), limits)
  return (calls: ReadonlyArray<Call>): readonly [answers: ReadonlyArray<string>, membersOfPrototype: number] => {
    assert.isTrue(engine.rewind(instance, snapshot))
    const start = { t: "start", now: 1, seed: [1, 2, 3, 4], ctx: { input: list(calls) } }
    const [end] = JSON.parse(
      engine
        .step(instance, Buffer.from(JSON.stringify(start)))
        .subarray(1)
        .toString()
    )
    assert.strictEqual(end.t, "ret", JSON.stringify(end))
    return end.v
  }
}

// --- Random calls, as JSON texts, since `__proto__` is a member of those ---

const names = [
  "a",
  "b",
  "c",
  "0",
  "10",
  "4294967294",
  "length",
  "__proto__",
  "constructor",
  "prototype",
  "x y",
  "é",
  "{{a}}",
  '"',
  "from"
]
const name = fc.constantFrom(...names)
const numbers = fc.oneof(
  fc.constantFrom(0, 1, 2, -1, 0.1, 1.005, 2.675, 1e21, 1e-7, 123456789.987, 5e-324, 1.7976931348623157e308),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer()
)
const texts = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "a",
    "AB",
    "{{a}}",
    "}}",
    "1",
    "1.50",
    "-0.005",
    "12.345",
    "1e5",
    "0x10",
    " 7 ",
    "Infinity",
    "true"
  ),
  fc.constantFrom("straße", "İstanbul", "ΑΣ", "ǆ", "\u00a0x\ufeff", "😀", "\ud800", "\u0000", "\u2028", "a\nb"),
  fc.stringMatching(/^-?\d{1,30}(?:\.\d{1,8})?$/),
  fc.string({ maxLength: 8 })
)
const leaf = fc.oneof(texts, numbers, fc.constantFrom(null, true, false)).map((value) => JSON.stringify(value))
const jsonOf = (inner: fc.Arbitrary<string>, depth: number): fc.Arbitrary<string> => {
  if (depth === 0) return inner
  const child = jsonOf(inner, depth - 1)
  return fc.oneof(
    inner,
    fc.array(child, { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
    objectOf(name, child)
  )
}
const objectOf = (key: fc.Arbitrary<string>, value: fc.Arbitrary<string>, maxLength = 4): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(key, value), { maxLength })
    .map((members) => `{${members.map(([one, text]) => `${JSON.stringify(one)}:${text}`).join(",")}}`)

const json = jsonOf(leaf, 3)
const scope = objectOf(name, json, 8)

const segment = fc.oneof(
  { weight: 5, arbitrary: name.map((one) => (/^[\w-]+$/.test(one) ? `.${one}` : `[${JSON.stringify(one)}]`)) },
  fc.integer({ min: -3, max: 12 }).map((index) => `[${index}]`),
  name.map((one) => `['${one.replaceAll("'", "\\'")}']`),
  fc.constantFrom(".", "[", "]", "[*]", "$", " ", "[99999]", "..", "()", "\\")
)
const path = fc
  .tuple(fc.constantFrom("", "", "", "$", " "), name, fc.array(segment, { maxLength: 3 }))
  .map(([start, first, rest]) => `${start === "$" ? "$." : start}${first}${rest.join("")}`)
const operand = fc.oneof(
  { weight: 4, arbitrary: path },
  fc.constantFrom('"{{"', "'}}'", '"a ?? b"', "null", "true", "1.50", "-1", '"\\""', "", "?", '"')
)
const expression = fc
  .tuple(fc.array(operand, { minLength: 1, maxLength: 3 }), fc.constantFrom(" ?? ", "??", " ? ", " "))
  .map(([operands, between]) => `{{${operands.join(between)}}}`)
const template = fc
  .array(fc.oneof({ weight: 3, arbitrary: expression }, texts, fc.constantFrom("{{", "}}", "{", "text ")), {
    minLength: 1,
    maxLength: 3
  })
  .map((parts) => parts.join(""))
const templates = jsonOf(fc.oneof({ weight: 3, arbitrary: template.map((text) => JSON.stringify(text)) }, leaf), 2)

const transform = fc.oneof(
  fc.constantFrom(
    "UPPER",
    "LOWER",
    "TRIM",
    "ROUND",
    "ROUND(0)",
    "MULTIPLY(1.1)",
    "MULTIPLY(-3)",
    "ADD(0.01)",
    "ADD(1e3)",
    "CONCAT",
    "NO"
  ),
  fc
    .tuple(fc.constantFrom("CONCAT(-, ", "CONCAT(' ',", "COALESCE(", "ROUND(", "ADD(", "UPPER("), path)
    .map(([start, one]) => `${start}${one})`),
  fc.record({
    fn: fc.constantFrom("ROUND", "MULTIPLY", "ADD", "CONCAT", "COALESCE", "TRIM", "__proto__", "toString"),
    args: fc.array(fc.oneof(path, texts, numbers, fc.nat(5)), { maxLength: 3 })
  })
)
const transforms = fc.array(transform, { maxLength: 3 }).map((list) => JSON.stringify(list))
const mappedValue = fc
  .tuple(fc.oneof(path, template), fc.option(transforms, { nil: undefined }), fc.option(templates, { nil: undefined }))
  .map(
    ([from, list, fallback]) =>
      `{"from":${JSON.stringify(from)}${list === undefined ? "" : `,"transforms":${list}`}${fallback === undefined ? "" : `,"default":${fallback}`}}`
  )
const mapping = objectOf(path, fc.oneof(mappedValue, templates))

const patterns = [
  "^a",
  "b$",
  "[A-Z]+",
  "^\\s*$",
  "(?i)É",
  "\\bx\\b",
  "^.{2,4}$",
  "\\p{Greek}",
  "😀",
  "(a|b)*c",
  "(",
  "(?=a)",
  "a{5000}",
  "__proto__"
]
const programs = JSON.stringify(
  Object.fromEntries(
    patterns.flatMap((pattern) =>
      Either.match(compilePattern(pattern), { onLeft: () => [], onRight: (program) => [[pattern, program]] })
    )
  )
)
const operation = fc.constantFrom(...Comparison.literals.filter((one) => one !== "matches"), "no")
const comparison = fc.oneof(
  fc
    .tuple(path, operation, json)
    .map(([one, op, value]) => `{"path":${JSON.stringify(one)},"op":"${op}","value":${value}}`),
  fc.tuple(path, operation, path).map(([one, op, other]) => JSON.stringify({ path: one, op, value: `{{${other}}}` })),
  fc
    .tuple(name, fc.constantFrom(...patterns))
    .map(([one, pattern]) => JSON.stringify({ path: one, op: "matches", value: pattern }))
)
const conditionOf = (depth: number): fc.Arbitrary<string> => {
  if (depth === 0) return comparison
  const child = conditionOf(depth - 1)
  const list = fc.array(child, { maxLength: 3 }).map((all) => `[${all.join(",")}]`)
  return fc.oneof(
    comparison,
    list.map((all) => `{"all":${all}}`),
    list.map((any) => `{"any":${any}}`),
    child.map((not) => `{"not":${not}}`)
  )
}

/** Texts in the form of times, most of them valid. */
const digits = (least: number, most: number, size: number) =>
  fc.integer({ min: least, max: most }).map((one) => String(one).padStart(size, "0"))
const date = fc.tuple(digits(0, 9999, 4), digits(0, 13, 2), digits(0, 32, 2)).map((parts) => parts.join("-"))
const clock = fc.tuple(digits(0, 24, 2), digits(0, 60, 2), digits(0, 60, 2)).map((parts) => parts.join(":"))
const zone = fc.oneof(
  fc.constantFrom("Z", "z", "", "+0100"),
  fc.tuple(fc.constantFrom("+", "-"), digits(0, 24, 2), digits(0, 60, 2)).map(([s, h, m]) => `${s}${h}:${m}`)
)
const times = fc.oneof(
  date,
  fc
    .tuple(date, fc.constantFrom("T", "t", " "), clock, fc.constantFrom("", ".5", ".123456789"), zone)
    .map((parts) => parts.join("")),
  fc.oneof(fc.integer(), fc.maxSafeInteger(), numbers),
  fc.maxSafeInteger().map(String)
)

const kinds: { readonly [kind: string]: fc.Arbitrary<Call> } = {
  value: fc.tuple(templates, scope).map((args) => `["value",[${args.join(",")}]]`),
  map: fc.tuple(mapping, json, scope).map((args) => `["map",[${args.join(",")}]]`),
  transform: fc.tuple(json, transforms, scope).map((args) => `["transform",[${args.join(",")}]]`),
  time: times.map((one) => JSON.stringify(["time", [one]])),
  meets: fc.tuple(conditionOf(2), scope).map((args) => `["meets",[${args.join(",")}]]`)
}
const rounds = isLong ? 25_000 : 2_500
const batch = 250

describe("the library of flows in a guest", () => {
  it.each(Object.keys(kinds))(`gives what the service gives: %s, ${rounds} times`, async (kind) => {
    const run = await loadGuest()
    const seed = Math.floor(Math.random() * 2 ** 31)
    const calls = fc.sample(kinds[kind] ?? assert.fail(), { numRuns: rounds, seed })
    const seen = new Set<string>()
    const own = Object.getOwnPropertyNames(Object.prototype).length
    for (let at = 0; at < calls.length; at += batch) {
      // The runner of the tests answers between batches.
      await setImmediate()
      const some = calls.slice(at, at + batch)
      const [found, members] = run(some)
      const expected = inService(some)
      for (const [index, call] of some.entries())
        if (found[index] !== expected[index])
          assert.fail(`seed ${seed}: ${call}\nservice: ${expected[index]}\nguest:   ${found[index]}`)
      for (const one of expected) seen.add(one)
      assert.strictEqual(members, own, `seed ${seed}: a prototype has been changed`)
    }
    assert.strictEqual(Object.getOwnPropertyNames(Object.prototype).length, own)
    if (kind === "meets") assert.includeMembers([...seen], ["true", "false"])
    else assert.isAtLeast(seen.size, rounds / 10, "the calls give too little that differs")
  })

  it("gives up a condition that takes too many steps, as the service does", async () => {
    const costly = [
      { path: "text", op: "matches", value: "(a|b)*c" },
      { any: Array.from({ length: 11_000 }, () => ({ path: "gone", op: "exists" })) }
    ]
    const calls = costly.map((condition) => JSON.stringify(["meets", [condition, { text: "ab".repeat(20_000) }]]))
    const run = await loadGuest()
    const [found] = run(calls)
    assert.deepStrictEqual(found, inService(calls))
    for (const one of found) assert.match(one, /^throws RangeError: the condition takes more than 100000 steps/)
  })

  it("is changed for one run only by a workflow that changes built-ins", async () => {
    const calls = [JSON.stringify(["value", [{ a: ["x {{b}}"] }, { b: 1 }]])]
    const before = `if (!globalThis.isChanged) {
      globalThis.isChanged = true
      Object.keys = () => ["changed"]
    }`
    const changed = await loadGuest(before)
    assert.deepStrictEqual(changed(calls)[0], ['{"changed":null}'])
    assert.deepStrictEqual((await loadGuest())(calls)[0], ['{"a":["x 1"]}'])
    assert.deepStrictEqual(inService(calls), ['{"a":["x 1"]}'])
  })

  it("is one small expression of plain JavaScript", () => {
    assert.isAtMost(flowLibrary.length, 16 * 1024)
    assert.strictEqual(parseExpressionAt(flowLibrary, 0, { ecmaVersion: 2022 }).end, flowLibrary.length)
  })
})
