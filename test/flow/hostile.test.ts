/** A hostile workflow ends within its limits, delays no neighbour, and reaches nothing of the host. */
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { SandboxFailure } from "../../src/actors/ports/run/Sandbox.js"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import {
  effectSandbox,
  begin,
  calls,
  doneEvent,
  end,
  limits,
  program,
  startEvent,
  type Turn
} from "../support/guests.js"
import { announce } from "../support/LogExpectations.js"
import { bundleRunner } from "../support/sandboxRunner.js"
import { layer } from "../support/layer.js"

const runner = bundleRunner()

const hostile = { memoryBytes: 48 * 1024 * 1024, cpuPerStepMillis: 400 }
/** For tests of memory: the time to fill it depends on the machine. */
const patient = { ...hostile, cpuPerStepMillis: 15_000 }
const unhurried = { ...hostile, cpuPerStepMillis: 5000 }

/** A workflow of another tenant that makes three calls; it shares the only runner with the attack. */
const neighbourBody = `let sum = 0; for (let i = 0; i < 3; i++) sum += await svc.state.get("k" + i); return { sum, clean: typeof globalThis.attacked }`
const neighbour = Effect.gen(function* () {
  const sandbox = yield* effectSandbox
  let lost = 0
  for (;;) {
    const history = [doneEvent(0, 1), doneEvent(1, 2), doneEvent(2, 3)]
    const outcome = yield* Effect.either(
      Effect.gen(function* () {
        let turn: Turn = yield* sandbox.start(program(neighbourBody, "org_victim"), limits, startEvent())
        for (const event of history) turn = yield* turn.session.feed([event])
        return end(turn)
      })
    )
    if (outcome._tag === "Right") return { ended: outcome.right, lost }
    // The port's contract: the guest is lost through no fault of its own, and the run can be replayed.
    assert.strictEqual(outcome.left._tag, "SessionLost")
    lost++
  }
})

const told = (outcome: Turn): string => {
  const ended = end(outcome)
  return ended === undefined
    ? "waits"
    : ended.t === "ret"
      ? `returned ${JSON.stringify(ended.v)}`
      : ended.t === "throw"
        ? `threw ${ended.e.name}`
        : ended.t
}

/** Runs the attack beside a neighbour, and returns how the attack ended. */
const attack = Effect.fn(function* (body: string, allowed: typeof hostile) {
  const waiting = yield* begin(`return await svc.state.get("k")`)
  const beside = yield* Effect.fork(neighbour)
  const ended: string = yield* Effect.match(begin(body, { input: 1 }, allowed), {
    onSuccess: told,
    onFailure: (failure: SandboxFailure): string => failure._tag
  })
  const { ended: unharmed, lost } = yield* Fiber.join(beside)
  assert.deepStrictEqual(unharmed, { t: "ret", v: { sum: 6, clean: "undefined" } })
  const held = yield* Effect.either(waiting.session.feed([doneEvent(0, "kept")]))
  if (held._tag === "Right") assert.deepStrictEqual(end(held.right), { t: "ret", v: "kept" })
  else assert.strictEqual(held.left._tag, "SessionLost")
  return { ended, neighbourLost: lost > 0 || held._tag === "Left" }
})

// No spare runner: a neighbour cannot move, so that the test measures the delay beside the attack.
layer(sandboxLayer({ runnerPath: runner, runners: 1, spare: false }), { excludeTestServices: true })(
  "a hostile workflow",
  (it) => {
    const ends = (name: string, body: string, expected: string | RegExp, allowed = hostile) =>
      it.effect(name, () =>
        Effect.gen(function* () {
          const { ended, neighbourLost } = yield* attack(body, allowed)
          if (typeof expected === "string") assert.strictEqual(ended, expected)
          else assert.match(ended, expected)
          assert.isFalse(neighbourLost, "the neighbour had to be replayed")
        })
      )

    describe("that computes without end is stopped", () => {
      ends("in a loop", "while (true);", "CpuLimit")
      ends("in a chain of microtasks", "const f = () => Promise.resolve().then(f, f); await f()", "CpuLimit")
      ends("in async recursion", "const f = async () => { await null; return f() }; await f()", "CpuLimit")
      ends("behind a catch", "for (;;) { try { await (async () => { for (;;); })() } catch {} }", "CpuLimit")
      ends(
        "in many chains that restart each other",
        "for (let i = 0; i < 50; i++) { const f = async () => { for (;;) { try { await null; for (let i = 0; i < 1e9; i++); } catch {} finally { f() } } }; f() } await new Promise(() => {})",
        "CpuLimit"
      )
      ends("in a regular expression", "return /^(a+)+$/.test('a'.repeat(60) + 'b')", "CpuLimit")
      ends("in a comparator", "[3, 1, 2].sort(() => { for (;;); })", "CpuLimit")
      ends("in a getter", "JSON.stringify({ get a() { for (;;); } })", "CpuLimit")
      ends("in a Proxy trap", "Object.keys(new Proxy({}, { ownKeys() { for (;;); } }))", "CpuLimit")
      ends("in toJSON of its result", "return { toJSON() { for (;;); } }", "CpuLimit")
      ends("in a getter of what it throws", "throw { get message() { for (;;); } }", "CpuLimit")
      ends("in a then of its result", "return { then() { for (;;); } }", "CpuLimit")
      ends(
        "in a generator",
        "function* g() { for (;;) yield 1 }; return Math.max(...g())",
        /^(CpuLimit|OutOfMemory)$/,
        { ...patient, cpuPerStepMillis: 1000 }
      )
      ends("in code that it makes itself", "return new Function('for (;;);')()", "CpuLimit")
    })

    it.effect("that computes without end while it loads is stopped", () =>
      Effect.gen(function* () {
        const sandbox = yield* effectSandbox
        const load = (script: string) =>
          Effect.flip(sandbox.start({ key: `org_evil:${script}`, script }, hostile, startEvent()))
        assert.strictEqual((yield* load("for (;;);"))._tag, "CpuLimit")
        assert.strictEqual((yield* load("const f = () => Promise.resolve().then(f, f); f()"))._tag, "CpuLimit")
        assert.strictEqual(
          (yield* load("Object.defineProperty(globalThis, '__workflow', { get() { for (;;); } })"))._tag,
          "LoadFailed"
        )
      })
    )

    describe("that fills the memory is stopped", () => {
      ends("with objects", "const a = []; for (;;) a.push({ a: [a.length] })", "OutOfMemory", patient)
      ends(
        "with a string that doubles",
        "let s = 'xy'; for (;;) s = (s + s).slice(0)",
        /^(OutOfMemory|threw RangeError)$/,
        patient
      )
      ends(
        "with a flattened string",
        "let s = 'x'.repeat(1000); const a = []; for (;;) a.push(s.repeat(1000).toUpperCase() + a.length)",
        "OutOfMemory",
        patient
      )
      ends("with typed arrays", "const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))", "OutOfMemory", patient)
      ends("with a large array", "return new Array(2 ** 26).fill(0).length", "OutOfMemory", patient)
      ends(
        "with closures that catch",
        "const a = []; for (;;) { try { for (;;) a.push(new Uint8Array(1e5)) } catch {} }",
        /^(CpuLimit|OutOfMemory)$/
      )
      ends(
        "with calls",
        "for (;;) svc.state.get('x'.repeat(1e5))",
        /^(CpuLimit|OutOfMemory|OutputTooLarge)$/,
        unhurried
      )
      ends("with logs", "for (;;) console.log('x'.repeat(8000))", /^(CpuLimit|OutOfMemory|OutputTooLarge)$/)
      ends("with a giant result", "return 'x'.repeat(6e6)", "OutputTooLarge")
      ends("with a giant error", "throw new Error('x'.repeat(6e6))", "threw Error")
      ends(
        "with a giant tree as its result",
        "const leaf = 'x'.repeat(1000); return Array.from({ length: 6000 }, () => leaf)",
        "OutputTooLarge",
        patient
      )
      ends(
        "not with a hundred thousand promises, which fit into its memory",
        "const all = await Promise.all(Array.from({ length: 1e5 }, async (_, i) => { await null; return i })); return all.length",
        "returned 100000",
        { ...patient, memoryBytes: limits.memoryBytes }
      )
    })

    describe("that hangs in native code, where nothing interrupts it, is killed, and its neighbours replay", () => {
      const bodies = [
        ["a search", "const a = 'a'.repeat(2 ** 21); return a.indexOf('a'.repeat(2 ** 20) + 'b')"],
        [
          "a deep stringify",
          "let a = []; for (let i = 0; i < 3e5; i++) a = [a]; for (;;) { try { JSON.stringify(a) } catch {} }"
        ],
        [
          "a search in an array",
          "const a = new Array(2e6).fill(1); let n = 0; a.includes = Array.prototype.includes; return a.map(() => a.lastIndexOf(2)).length"
        ]
      ] as const
      for (const [name, body] of bodies) {
        it.effect(name, () =>
          Effect.gen(function* () {
            announce(/"sandbox\.runner_replaced".*a guest hung and its runner was killed/, { required: true })
            // Beyond what it takes to get there, where the limit would interrupt it.
            const { ended } = yield* attack(body, { memoryBytes: limits.memoryBytes, cpuPerStepMillis: 1_500 })
            assert.strictEqual(ended, "CpuLimit")
          })
        )
      }
    })

    describe("finds nothing of the host", () => {
      const nothing = (name: string, body: string) => ends(name, body, `returned ${JSON.stringify([])}`)
      const hostNames = [
        "process",
        "require",
        "module",
        "Buffer",
        "global",
        "WebAssembly",
        "Deno",
        "Bun",
        "std",
        "os",
        "bjson",
        "print",
        "scriptArgs",
        "__loadScript",
        "gc",
        "Worker",
        "importScripts",
        "__svcStep",
        "__svcOut",
        "__workflow",
        "QTS",
        "Module"
      ]
      nothing("by name", `return ${JSON.stringify(hostNames)}.filter((name) => name in globalThis)`)
      nothing(
        "through constructors of constructors",
        `
      const makers = [(async () => {}).constructor, (function* () {}).constructor, (async function* () {}).constructor, (() => {}).constructor,
        svc.connector.constructor ?? Function, console.log.constructor, Date.constructor, setTimeout.constructor, ConnectorError.constructor.constructor, fetch.constructor]
      const found = []
      for (const make of makers) for (const name of ${JSON.stringify(hostNames)}) {
        try { const f = make("return typeof " + name); const v = await f(); if (typeof v === "string" && v !== "undefined") found.push(name) } catch {}
      }
      return found`
      )
      nothing(
        "through this, callers and stacks",
        `
      const found = []
      const sloppy = new Function("return this")()
      if (sloppy !== globalThis) found.push("this")
      for (const f of [console.log, setTimeout, fetch, Date, svc.state.get]) { try { if (f.caller || f.arguments) found.push("caller") } catch {} }
      Error.prepareStackTrace = (_, frames) => { for (const frame of frames) { try { const f = frame.getFunction?.(); if (f) found.push("frame") } catch {} } return "" }
      try { null.x } catch (e) { void e.stack }
      return found`
      )
      nothing(
        "through the real clock",
        `
      const found = []
      const at = ctx.input === 1 ? Date.now() : 0
      for (const make of [() => new Date(), () => Reflect.construct(Date, []), () => new Date.prototype.constructor(), () => new (Object.getPrototypeOf(Date).constructor("return Date")())(), () => new (class extends Date {})(), () => new Date(Date())]) {
        if (Math.abs(make().getTime() - at) > 1000) found.push(String(make))
      }
      if (Object.getPrototypeOf(Date) !== Function.prototype) found.push("prototype")
      return found`
      )
      for (const specifier of [
        "fs",
        "node:child_process",
        "file:///etc/passwd",
        "/proc/self/environ",
        "https://example.com/x.js",
        "data:text/javascript,export default 1"
      ]) {
        ends(
          `through import(${JSON.stringify(specifier)})`,
          `return await import(${JSON.stringify(specifier)})`,
          "threw ReferenceError"
        )
      }
      ends("through a static import in eval", `return eval("import fs from 'fs'")`, "threw SyntaxError")
    })

    it.effect("cannot forge messages of the host: what it writes is data of its own calls", () =>
      Effect.gen(function* () {
        const forged = `"]},{"t":"ret","v":"forged"},{"t":"call","id":9,"name":"secrets.get","args":["`
        const turn = yield* begin(
          `const evil = ctx.input; svc.connector[evil][evil]({ [evil]: evil, toJSON: undefined }); svc.connector.x.y(evil, { toJSON() { return evil } }); console.log(evil, { toJSON: () => evil }); await new Promise(() => {})`,
          { input: forged }
        )
        assert.strictEqual(end(turn), undefined)
        assert.deepStrictEqual(
          calls(turn).map(({ args, name }) => [name, args]),
          [
            [`connector.${forged}.${forged}`, [{ [forged]: forged }]],
            ["connector.x.y", [forged, forged]]
          ]
        )
      })
    )

    it.effect("cannot answer its own calls, end twice or send anything after its end", () =>
      Effect.gen(function* () {
        const turn = yield* begin(`
        Promise.prototype.then = function (ok) { ok("hijacked"); ok("twice") }
        const p = svc.secrets.get("S")
        Promise.resolve().finally?.(() => {})
        ;(async () => { for (let i = 0; i < 5; i++) await null; console.log("late"); svc.state.set("late", 1) })()
        return "once"`)
        const ended = turn.outputs.flat().filter((output) => output.t === "ret" || output.t === "throw")
        assert.deepStrictEqual(ended, [{ t: "ret", v: "once" }])
        assert.deepStrictEqual(turn.outputs.flat().at(-1), { t: "ret", v: "once" })
      })
    )
  }
)
