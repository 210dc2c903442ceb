/** Whatever a workflow does to the library of steps, its outputs keep their form, and are bounded. */
import { assert, describe } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { Json } from "../../src/domain/Json.js"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import { libraryWithFlow } from "../../src/runtime/sandbox/flow/FlowScript.js"
import { withLibrary } from "../../src/runtime/sandbox/runner/Script.js"
import { effectSandbox, limits, startEvent, type Turn } from "../support/guests.js"
import { layer } from "../support/layer.js"
import { bundleRunner } from "../support/sandboxRunner.js"

const runner = bundleRunner()

const text = (most: number) => Schema.String.pipe(Schema.maxLength(most))
const optional = <A>(schema: Schema.Schema<A>) => Schema.optionalWith(schema, { exact: true })
const Failure = Schema.Struct({
  name: text(200),
  message: text(16_384),
  code: optional(text(200)),
  category: optional(text(20))
})
const missing = optional(Schema.Array(text(200)).pipe(Schema.maxItems(100)))
const place = { r: optional(Schema.NonNegativeInt), of: optional(text(1_000)), z: missing }

/** The form of each output that a guest may make of steps. */
const Output = Schema.Union(
  Schema.Struct({
    t: Schema.Literal("step"),
    ...place,
    p: text(1_000),
    k: text(20),
    s: Schema.Literal("running", "completed", "failed", "skipped"),
    at: Schema.Number,
    v: Schema.optionalWith(Schema.Unknown, { exact: true }),
    keep: Schema.optional(Schema.Literal(true)),
    reused: Schema.optional(Schema.Literal(true)),
    vSize: optional(Schema.NonNegativeInt),
    i: Schema.optionalWith(Schema.Unknown, { exact: true }),
    iSize: optional(Schema.NonNegativeInt),
    same: Schema.optional(Schema.Literal(true)),
    e: optional(Failure),
    a: optional(Schema.Array(Schema.Struct({ at: Schema.Number, to: Schema.Number, e: Failure })))
  }),
  Schema.Struct({
    t: Schema.Literal("call"),
    id: Schema.NonNegativeInt,
    name: text(100),
    ...place,
    p: optional(text(1_000)),
    n: optional(Schema.NonNegativeInt),
    own: optional(text(20)),
    args: Schema.Array(Schema.Unknown)
  }),
  Schema.Struct({ t: Schema.Literal("at"), p: text(1_000) }),
  Schema.Struct({ t: Schema.Literal("cancel"), ids: Schema.Array(Schema.NonNegativeInt) }),
  Schema.Struct({
    t: Schema.Literal("ret"),
    v: Schema.Unknown,
    status: optional(Schema.Int.pipe(Schema.between(200, 599))),
    continued: optional(Schema.Literal(true))
  }),
  Schema.Struct({
    t: Schema.Literal("throw"),
    e: Schema.Unknown,
    reply: optional(Schema.Struct({ status: Schema.Int.pipe(Schema.between(200, 599)), body: Schema.Unknown }))
  })
)
const assertForm = Schema.decodeUnknownSync(Schema.Array(Output), { onExcessProperty: "error" })

/** What a workflow with the library gives; its code outside of the function runs at its load. */
const outputsOf = (body: string, atLoad = "", library = libraryWithFlow({})) =>
  Effect.gen(function* () {
    const sandbox = yield* effectSandbox
    const code = `"use strict";(function(){${atLoad};globalThis.__workflow = async function (ctx) {\n${body}\n}})();`
    const script = library === "" ? code : withLibrary(library, code)
    const turn: Turn = yield* sandbox.start({ key: `org_steps:${script}`, script }, limits, startEvent())
    const outputs = turn.outputs.flat()
    assertForm(outputs)
    return outputs
  })

const endOf = (outputs: Effect.Effect.Success<ReturnType<typeof outputsOf>>): Json => {
  const ended = outputs.find((one) => one.t === "ret" || one.t === "throw")
  return ended?.t === "ret" ? ended.v : ended?.t === "throw" ? { threw: ended.e.code ?? ended.e.name } : "waits"
}

layer(sandboxLayer({ runnerPath: runner, runners: 1, spare: false }), { excludeTestServices: true })(
  "the library of steps",
  (it) => {
    const gives = (name: string, body: string, expected: Json, atLoad?: string, library?: string) =>
      it.effect(name, () =>
        Effect.map(outputsOf(body, atLoad, library), (outputs) => assert.deepEqual(endOf(outputs), expected))
      )

    describe("a workflow cannot bring one of its own", () => {
      const evil = `globalThis.__library = globalThis.bring = (host) => { globalThis.host = host; return {} }`
      gives("without one", "return typeof globalThis.host", "undefined", evil, "")
      gives("beside one", "return [typeof globalThis.host, await svc.step('a', () => 1)]", ["undefined", 1], evil)
      gives(
        "behind a comment like its header",
        "return typeof globalThis.host",
        "undefined",
        `\n//svc-library 20\n(host)=>{globalThis.host=host}\n`,
        ""
      )
    })

    describe("its outputs keep their form", () => {
      const flow = (build: string, response = "{}") => `return await svc.flow(ctx, ${response}, (flow) => { ${build} })`
      gives("with types and names that are JSON", flow(`flow.add('x","p":"', 'a","r":-1,"b":"', {}, () => 1)`), null)
      gives(
        "with tools that are held",
        flow(`flow.add("x", "t", {}, async ({ step, tools, values }) => {
          for (const one of [step, tools]) try { one.path = one.calls = '0,"evil":1' } catch {}
          Object.defineProperty(values, "missing", { value: [{}, '"', 1n, ...Array(500).fill("m".repeat(1000))] })
          return 1
        })`),
        null
      )
      gives(
        "with a token that is none",
        flow(`flow.add("x", "t", {}, ({ context }) => { context.list = {}; return 1 })`),
        null
      )
      gives(
        "with statuses that are none",
        flow(`flow.step("a", {}, () => 1)`, "{ success: { status: 1e9 }, last: 'a' }"),
        1
      )
      gives(
        "with an answer to failures that JSON cannot hold",
        flow(`flow.step("a", {}, () => { throw new Error("x") })`, "{ error: { status: '200,\"evil\":1', body: 1 } }"),
        { threw: "Error" }
      )
      gives(
        "with built-ins that the code has changed",
        `const seen = []
        const keep = (Kind, name) => { const before = Kind[name]; Kind[name] = function (...a) { seen.push(this, ...a); return before.apply(this, a) } }
        keep(Map.prototype, "set"); keep(Map.prototype, "get"); keep(WeakMap.prototype, "get"); keep(Promise.prototype, "then")
        keep(JSON, "stringify"); keep(Object, "freeze"); keep(Reflect, "apply"); keep(RegExp.prototype, "exec"); keep(Math, "min")
        Array.prototype.toJSON = String.prototype.toJSON = () => "x"
        const made = await svc.step("a", () => "v")
        await svc.flow(ctx, {}, (flow) => flow.step("b", {}, () => 1))
        delete Array.prototype.toJSON; delete String.prototype.toJSON
        const names = seen.filter((one) => typeof one === "function").map((one) => one.name)
        return [made, seen.length > 0, ["emit", "call", "reportRecord", "servicesOf", "newStep"].filter((name) => names.includes(name))]`,
        ["v", true, []]
      )
    })

    describe("code of a step whose list is halted", () => {
      const halting = (code: string, after = "null") => `const seen = []
        await svc.flow(ctx, {}, (flow) => {
          flow.gate("g", { onError: "continue" }, [{ name: "a", steps: (flow) => {
            flow.code("own", { line: 0 }, () => ({}), (svc, fetch, setTimeout, setInterval) => async () => {
              const ask = async (what) => { try { await what(); seen.push("done") } catch (e) { seen.push(e.code) } }
              ${code}
            })
            flow.code("bad", { line: 0 }, () => ({}), () => async () => { await null; throw new Error("x") })
          } }])
        })
        for (let i = 0; i < 100; i++) await null
        ${after}
        return seen`
      gives(
        "gets no result, and can start nothing",
        halting(`await ask(() => svc.state.get("k"))
          await ask(() => svc.state.set("k", 1))
          await ask(() => fetch("https://a.example"))
          await ask(() => setTimeout(() => seen.push("late"), 1))
          await ask(() => setInterval(() => seen.push("late"), 1))
          await ask(() => svc.step("inner", () => seen.push("inner")))
          await ask(() => svc.db.transaction(async () => seen.push("inner")))`),
        Array.from({ length: 7 }, () => "ABORTED")
      )
      gives(
        "comes to rest, though it repeats what fails",
        halting(
          'for (;;) await ask(() => svc.state.get("k"))',
          "for (let i = 0; i < 100_000; i++) await null; return seen.length"
        ),
        // The call in flight, and what is refused after it.
        1 + 1_000
      )
    })

    describe("its outputs are bounded", () => {
      gives(
        "by the steps of a run",
        `let n = 0; try { for (;;) { await svc.step("a", () => 1); n++ } } catch (e) { return [n, e.code] }`,
        [10_200, "TOO_MANY_STEPS"]
      )
      gives(
        "by the length of paths",
        `const deeper = (inner) => inner.step("a".repeat(60), deeper); try { await svc.step("a", deeper) } catch (e) { return e.name }`,
        "TypeError"
      )
      gives(
        "by the attempts of a step",
        `let n = 0
        try { await svc.step("a", { retry: { maxAttempts: 1e9, initialMs: 0 } }, () => { n++; throw Object.assign(new Error("x".repeat(1e6)), { category: "transient" }) }) } catch {}
        return n`,
        "waits"
      )
      it.effect("by the size of values", () =>
        Effect.map(outputsOf(`return (await svc.step("a", () => "x".repeat(1e6))).length`), (outputs) => {
          assert.strictEqual(endOf(outputs), 1_000_000)
          assert.isTrue(outputs.some((one) => one.t === "step" && one.vSize === 1_000_002 && one.v === undefined))
        })
      )
    })
  }
)
