/** A flow is the same after it was written to a file and read again; a file's own code reaches nothing and ends within limits. */
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc } from "effect"
import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import type { Detail } from "../../src/domain/Failure.js"
import { checkFlow } from "../../src/domain/flow/Checks.js"
import { fileKind, type FlowFileFormat } from "../../src/domain/flow/FlowFile.js"
import { canonicalJson, type Json, type JsonObject } from "../../src/domain/Json.js"
import { findJsonMistake } from "../../src/runtime/computing/worker/JsonMistake.js"
import { makeComputations } from "../../src/runtime/computing/worker/Table.js"

const wasm = createRequire(import.meta.url).resolve("@jitl/quickjs-ng-wasmfile-release-sync/wasm")
const { readFlowFile, writeFlowFile } = makeComputations(async () => Uint8Array.from(await readFile(wasm)))

const read = (format: FlowFileFormat, source: string) => readFlowFile({ format, source, path: "import.source" })

const write = (format: FlowFileFormat, name: string, spec: JsonObject, description?: string): string => {
  const written = writeFlowFile({
    format,
    name,
    spec,
    generation: 1,
    ...(description === undefined ? {} : { description })
  })
  if (!written.ok) throw new Error(JSON.stringify(written.mistakes))
  return written.value
}

const mistakesOf = async (format: FlowFileFormat, source: string): Promise<ReadonlyArray<Detail>> => {
  const found = await read(format, source)
  return found.ok ? [] : found.mistakes
}

const step = { name: "a", type: "action" }

describe("a flow's file", () => {
  const text = fc.oneof(
    fc.constantFrom(
      "`",
      "${x}",
      "\\n",
      "a\r\nb",
      "a\nb`${c}\\`\\\\${",
      "\u2028\n",
      "<!--",
      "</script>",
      "{{a}}\n{{b}}"
    ),
    fc.string({ unit: "grapheme", maxLength: 12 }),
    fc.constant("export default async (input, ctx) => {\n  return `${input.a}\\n`\n}\n")
  )
  const name = fc.oneof(fc.constantFrom("__proto__", "constructor", "a b", "1", "name", "steps", "type", "é"), text)
  const json: fc.Arbitrary<Json> = fc.letrec<{ readonly value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.oneof(
        text,
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer(),
        fc.constantFrom(null, true, false)
      ),
      fc.array(tie("value"), { maxLength: 4 }),
      fc
        .array(fc.tuple(name, tie("value")), { maxLength: 4 })
        .map((members): Json =>
          JSON.parse(`{${members.map(([one, v]) => `${JSON.stringify(one)}:${JSON.stringify(v)}`).join()}}`)
        )
    )
  })).value
  const spec = fc.record({
    steps: fc.array(json, { maxLength: 4 }),
    trigger: json,
    response: json,
    requestSchema: json
  })

  it.each(["flow.json", "flow.js"] as const)("gives the same flow again: %s", async (format) => {
    await fc.assert(
      fc.asyncProperty(spec, text, async (document, description) => {
        const again = await read(format, write(format, "orders", document, description))
        assert.isTrue(again.ok, JSON.stringify(again))
        if (!again.ok) return
        assert.strictEqual(canonicalJson(again.value.spec), canonicalJson(document))
        assert.strictEqual(again.value.name, "orders")
        assert.strictEqual(again.value.description ?? "", description)
      }),
      { numRuns: 40, seed: 7 }
    )
  })

  it("is read by people: members in their order, and code in lines of its own", () => {
    const code = "export default async (input) => {\n  return `${input.a}`\n}\n"
    const document = {
      steps: [{ config: { code }, input: { a: 1 }, type: "action", name: "a" }],
      trigger: { type: "manual" }
    }
    assert.strictEqual(
      write("flow.js", "orders", document, "Sends orders"),
      `export default {
  name: "orders",
  description: "Sends orders",
  trigger: { type: "manual" },
  steps: [
    {
      name: "a",
      type: "action",
      config: {
        code: \`export default async (input) => {
  return \\\`\\\${input.a}\\\`
}
\`
      },
      input: { a: 1 }
    }
  ]
}
`
    )
  })

  it("holds no id of another record", () => {
    const document = { steps: [step], customAuth: { type: "workflow", workflowId: "wf_01jd" } }
    for (const format of ["flow.json", "flow.js"] as const)
      assert.notInclude(write(format, "orders", document), "wf_01jd")
  })

  it("has a name that is safe in a header", () => {
    assert.deepStrictEqual(fileKind("flow.js", 'a"\r\nb/../c'), {
      fileName: "a___b____c.flow.js",
      type: "text/javascript"
    })
  })

  it("is read as the guide shows it", async () => {
    const [, source = ""] = /```js\n([\s\S]*?)```/.exec(readFileSync("docs/flows.md", "utf8")) ?? []
    const found = await read("flow.js", source)
    assert.isTrue(found.ok, JSON.stringify(found))
    if (!found.ok) return
    assert.strictEqual(found.value.name, "count_names")
    assert.isTrue(Either.isRight(checkFlow(found.value.spec, {})))
  })

  it("can be written step by step, or computed", async () => {
    const file = `
const names = ["a", "b"]
let made = flow("orders").description("Sends").trigger({ type: "cron", cron: "0 0 * * *" })
for (const name of names) made = made.step(name, { type: "action", input: { at: undefined, name } })
export default made.step({ name: "c", type: "action" }).response({ success: { status: 201 } })
`
    assert.deepStrictEqual(await read("flow.js", file), {
      ok: true,
      value: {
        name: "orders",
        description: "Sends",
        spec: {
          steps: [
            { name: "a", type: "action", input: { name: "a" } },
            { name: "b", type: "action", input: { name: "b" } },
            { name: "c", type: "action" }
          ],
          trigger: { type: "cron", cron: "0 0 * * *" },
          response: { success: { status: 201 } }
        }
      }
    })
  })
})

describe("a mistake in a file", () => {
  it.each([
    ["flow.js", "\nexport default { steps: [ }", "", "SYNTAX_ERROR", 2, 27],
    ["flow.js", "export default flow('a').stp({})", "", "NOT_EVALUATED", 1, 25],
    ["flow.js", "const a = 1\n  throw new Error('no')\nexport default {}", "", "NOT_EVALUATED", 2, 13],
    ["flow.js", "import a from 'a'\nexport default a", "", "IMPORT_NOT_ALLOWED", 1, 1],
    ["flow.js", "const a = 1", "", "NO_DEFAULT_EXPORT", 1, 1],
    ["flow.js", "export default async () => ({})", "", "DEFAULT_NOT_FLOW", 1, 1],
    ["flow.js", "export default [1]", "", "INVALID_VALUE"],
    [
      "flow.js",
      "export default { steps: [{ config: { code: (input) => input } }] }",
      ".steps[0].config.code",
      "INVALID_VALUE"
    ],
    ["flow.js", "export default { steps: [{ input: { at: new Date(0) } }] }", ".steps[0].input.at", "INVALID_VALUE"],
    ["flow.js", "export default { steps: [undefined] }", ".steps[0]", "INVALID_VALUE"],
    ["flow.js", "const a = {}; a.a = a; export default { steps: [a] }", `.steps[0]${".a".repeat(99)}`, "INVALID_VALUE"],
    ["flow.js", "export default { name: 1, steps: [] }", ".name", "INVALID_VALUE"],
    ["flow.js", "export default { steps: ['\\ud800'] }", ".steps[0]", "NOT_STORABLE"],
    ["flow.json", '{\n  "steps": [,]\n}', "", "SYNTAX_ERROR", 2, 13],
    ["flow.json", '{ "steps": [] } x', "", "SYNTAX_ERROR", 1, 17],
    ["flow.json", '{ "steps": [1,] }', "", "SYNTAX_ERROR", 1, 15],
    ["flow.json", "[]", "", "INVALID_VALUE"]
  ] as const)(
    "is answered with its place: %s %j",
    async (format, source, path, code, line?: number, column?: number) => {
      const [first] = await mistakesOf(format, source)
      assert.deepStrictEqual(
        [first?.path, first?.code, first?.line, first?.column],
        [`import.source${path}`, code, line, column],
        first?.message
      )
    }
  )

  it("in JSON is found where V8 finds one", () => {
    const parts = ["{", "}", "[", "]", ",", ":", '"a"', "1", "-0.5e3", "true", "nul", " ", "\n", '"\\u12"', "01", "'a'"]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 12 }), (tokens) => {
        const text = tokens.join("")
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        assert.strictEqual(findJsonMistake(text) === undefined, isJson, text)
      }),
      { numRuns: 5_000, seed: 7 }
    )
  })
})

describe("the code of a file", () => {
  it.each([
    ["fetches", "fetch('http://127.0.0.1')\nexport default { steps: [] }", "CALL_NOT_ALLOWED"],
    ["calls svc", "svc.secrets.get('A')\nexport default { steps: [] }", "CALL_NOT_ALLOWED"],
    ["waits", "setTimeout(() => {}, 1000)\nexport default { steps: [] }", "CALL_NOT_ALLOWED"],
    ["never ends", "for (;;);\nexport default { steps: [] }", "TOO_COSTLY"],
    ["never ends as it is read", "export default { get steps() { for (;;); } }", "TOO_COSTLY"],
    [
      "fills the memory",
      "const a = []; for (;;) a.push(new Array(1e5).fill(1))\nexport default { steps: [] }",
      "TOO_COSTLY"
    ],
    ["gives too much", "export default { steps: ['a'.repeat(2 ** 25)] }", "TOO_COSTLY"],
    ["exhausts the stack", "const f = () => f() + 1; f()\nexport default { steps: [] }", "NOT_EVALUATED"],
    ["imports", "export default { steps: await import('node:fs') }", "DYNAMIC_IMPORT"],
    ["compiles", "export default { steps: [new Function('return process')()] }", "NOT_EVALUATED"],
    ["has no host", "export default { steps: [process.env] }", "NOT_EVALUATED"],
    ["breaks what reads it", "Object.keys = () => { throw 1 }\nexport default { steps: [] }", "NOT_EVALUATED"]
  ])("ends as a mistake if it %s", async (_, source, code) => {
    const found = await mistakesOf("flow.js", source)
    assert.include(
      found.map((one) => one.code),
      code,
      JSON.stringify(found).slice(0, 500)
    )
  })

  it("leaves nothing behind for the next file", async () => {
    await read("flow.js", "globalThis.left = 1; Object.prototype.left = 1\nexport default { steps: [] }")
    const next = await read("flow.js", "export default { steps: [typeof left, {}.left === undefined] }")
    assert.deepStrictEqual(next.ok && next.value.spec, { steps: ["undefined", true] })
  })

  it("says the same each time", async () => {
    const source = "export default { steps: [Math.random(), Date.now(), crypto.randomUUID()] }"
    assert.deepStrictEqual(await read("flow.js", source), await read("flow.js", source))
  })
})
