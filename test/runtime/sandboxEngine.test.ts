import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { type Comment, parse, tokenizer } from "acorn"
import type { Instance } from "../../src/runtime/sandbox/runner/Instance.js"
import { makeEngine } from "../../src/runtime/sandbox/runner/Engine.js"
import { ProcessorTime } from "../../src/runtime/sandbox/runner/Processor.js"
import { engineIdentity } from "../../src/runtime/sandbox/runner/Identity.js"
import { prelude, programOf, source } from "../../src/runtime/sandbox/runner/prelude/Prelude.js"

const wasm = Uint8Array.from(
  readFileSync(createRequire(import.meta.url).resolve("@jitl/quickjs-ng-wasmfile-release-sync/wasm"))
)
const engine = await makeEngine(wasm, new ProcessorTime(), () => undefined)
const limits = { memoryBytes: 128 * 1024 * 1024, cpuMillis: 5000 }
const marker = "TENANT_A_SECRET_"

const script = `"use strict"; globalThis.__workflow = async (ctx) => {
  globalThis.leak = ctx.input; Object.prototype.p = ctx.input
  const deep = (n, s) => n ? deep(n - 1, s + n) : s
  deep(300, ctx.input)
  const many = []; for (let i = 0; i < 2000; i++) many.push(ctx.input + i)
  const large = ctx.input.repeat(100000); many.push(large + large)
  console.log(ctx.input)
  const answer = await svc.connector.x.y(ctx.input)
  return [many.length, answer]
}`
const event = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const start = event({ t: "start", now: 1, seed: [1, 2, 3, 4], ctx: { input: `${marker}zzzzzzzzz` } })
const markers = (instance: Instance): number => {
  const memory = Buffer.from(instance.memory.buffer)
  let found = 0
  for (let at = memory.indexOf(marker); at >= 0; at = memory.indexOf(marker, at + 1)) found++
  return found
}
const blocksThatDiffer = (one: Instance, two: Instance): number => {
  const [a, b] = [Buffer.from(one.memory.buffer), Buffer.from(two.memory.buffer)]
  let differ = 0
  for (let at = 0; at < a.length; at += 4096) if (a.compare(b, at, at + 4096, at, at + 4096) !== 0) differ++
  return differ
}

describe("a snapshot", () => {
  it("holds the prelude's objects, and not the texts that they were parsed from", async () => {
    const small = Buffer.from(`globalThis.__workflow = async () => 1`)
    const { snapshot } = await engine.load(small, limits)
    assert.isAtMost(snapshot.bytes.length, 600 * 1024)
  })
})

describe("a rewound guest", () => {
  it("has nothing of the previous run: no copy of its data, no block of memory that differs from a new guest", async () => {
    const { instance, snapshot } = await engine.load(Buffer.from(script), limits)
    for (let round = 0; round < 3; round++) {
      engine.step(instance, start)
      const last = engine.step(instance, event({ t: "done", id: 0, now: 2, ok: true, v: `${marker}answer` })).toString()
      assert.match(last, /^e\[\{"t":"ret"/)
      assert.isAbove(markers(instance), 100)
      assert.isTrue(engine.rewind(instance, snapshot))
      assert.strictEqual(markers(instance), 0)
      assert.strictEqual(blocksThatDiffer(instance, await engine.restore(snapshot)), 0)
    }
  })

  it("is refused after an interrupt, an exhausted memory, and any growth of memory", async () => {
    const spoil = async (body: string, limitsOf = limits): Promise<boolean> => {
      const { instance, snapshot } = await engine.load(
        Buffer.from(`globalThis.__workflow = async () => { ${body} }`),
        limitsOf
      )
      try {
        engine.step(instance, start)
      } catch {
        // How the turn ended does not matter here.
      }
      return engine.rewind(instance, snapshot)
    }
    assert.isTrue(await spoil("return 1"))
    assert.isFalse(await spoil("for (;;);", { ...limits, cpuMillis: 50 }))
    assert.isFalse(await spoil("const a = []; for (;;) a.push(new Uint8Array(1e6))"))
    assert.isFalse(await spoil("return new Uint8Array(2e7).length"))
  })
})

describe("the prelude", () => {
  it("is one strict script", () => {
    assert.strictEqual(parse(prelude, { ecmaVersion: 2024, sourceType: "script" }).body.length, 2)
  })
  it("is its sources without their comments and indentation", () => {
    const tree = (text: string) => {
      const comments: Array<unknown> = []
      const { body } = parse(text, { ecmaVersion: 2024, sourceType: "script", onComment: comments as Array<Comment> })
      const places = new Set(["start", "end"])
      return { comments, text: JSON.stringify(body, (name, value) => (places.has(name) ? undefined : value)) }
    }
    const program = tree(programOf(source))
    assert.strictEqual(program.text, tree(source).text)
    assert.lengthOf(program.comments, 0)
    assert.notMatch(programOf(source), /^\s/m)
  })
  it("uses every name that it declares: its parts share one scope, which the linter does not see", () => {
    const uses = new Map<string, number>()
    for (const token of tokenizer(prelude, { ecmaVersion: 2024 })) {
      const value = prelude.slice(token.start, token.end)
      uses.set(value, (uses.get(value) ?? 0) + 1)
    }
    const declared = [...source.matchAll(/^(?:const|let|class) (?:\{([^}]*)\}|([\w, ]+))/gm)]
      .flatMap(([, members, names]) => (members ?? names ?? "").split(/[\s,]+|extends.*/))
      .filter((name) => name !== "")
    assert.isAbove(declared.length, 100)
    assert.deepStrictEqual(
      declared.filter((name) => uses.get(name) === 1),
      []
    )
  })
  it("is part of the engine's identity, as is the module", () => {
    // Runs of earlier builds wait for an engine with this identity: it changes with the guest's meaning, not with a comment.
    assert.strictEqual(engineIdentity(wasm), "ee6e8286bdc261da")
    assert.notStrictEqual(engineIdentity(wasm), engineIdentity(wasm.slice(1)))
  })
})
