/**
 * Random flows make the calls, in the order, halt where, and have the end that an interpreter finds which was written from the
 * description of flows alone; as they were compiled, and as they are exported.
 */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { setImmediate } from "node:timers/promises"
import type { KnownConnectors } from "../../src/domain/flow/Checks.js"
import { presentGeneration } from "../../src/domain/flow/Generation.js"
import type { Json } from "../../src/domain/Json.js"
import { analyse } from "../../src/runtime/computing/workflow/Analyse.js"
import { compileFlow, writeCode } from "../../src/runtime/computing/workflow/FlowCompile.js"
import { makeEngine } from "../../src/runtime/sandbox/runner/Engine.js"
import { ProcessorTime } from "../../src/runtime/sandbox/runner/Processor.js"
import {
  argsOf,
  type ExpectedHalt,
  type ExpectedRun,
  interpret,
  type Stub,
  withoutTimes
} from "../support/naiveFlow.js"
import { numbers, type RandomFlow, randomFlow } from "../support/randomFlows.js"
import { scaled } from "../support/slowness.js"
import { isLong } from "../support/longForm.js"

const flows = isLong ? 1_000 : 100
/** Other flows than those of CI. */
const firstSeed = Number(process.env["SVC_TEST_SEED"] ?? 0)

const wasm = Uint8Array.from(
  readFileSync(createRequire(import.meta.url).resolve("@jitl/quickjs-ng-wasmfile-release-sync/wasm"))
)
const engine = await makeEngine(wasm, new ProcessorTime(), () => undefined)
const limits = { memoryBytes: 128 * 1024 * 1024, cpuMillis: 60_000 }

const action = { versions: [1], readOnly: false }
const connectors: KnownConnectors = {
  crm: { kind: "crm", actions: { find: action, send: action, look: { versions: [1], readOnly: true } } },
  openai: { kind: "ai", actions: { createChatCompletion: action } }
}

/**
 * What the world answers follows from the step's path. Every sixth call of the connector fails; every second `send`, for a
 * moment; every fifth approval is rejected.
 */
const stub: Stub = (path, name, nth) => {
  let hash = 7
  for (const letter of path) hash = (hash * 31 + letter.charCodeAt(0)) % 1_000_003
  if (name === "approval.request" && hash % 5 === 0) return { ok: false, message: `no ${path}`, isTransient: false }
  const isTransient = name === "connector.crm.send"
  const fails =
    name.startsWith("connector.crm.") && hash % (isTransient ? 2 : 6) === 0 && !(isTransient && nth > hash % 3)
  if (fails) return { ok: false, message: `no ${path}`, isTransient }
  if (name === "state.get") return { ok: true, value: (hash + nth) % 5 }
  const v = name === "connector.crm.look" ? (hash + nth) % 5 : hash % 10
  return {
    ok: true,
    value: name === "timer.sleep" ? null : { v, list: [{ v: 1 }], text: `t${hash}`, usage: { n: hash } }
  }
}

/** What is seen of a run. */
interface Observer {
  /** `answered`: the calls that have been answered, also by what is given up. */
  readonly onCall: (call: Made, answered: ReadonlySet<string>) => void
  /**
   * The guest has computed after an answer. `before`: the calls that had been answered before; `acting`: the steps that have
   * begun, completed, made calls or have calls in flight, by their paths.
   */
  readonly onTurn: (before: ReadonlySet<string>, acting: ReadonlyArray<string>) => void
}

interface Made {
  readonly id: number
  readonly key: string
  readonly path: string
  readonly name: string
  readonly args: ReadonlyArray<Json>
  /** It is its step. */
  readonly own?: string
}
type End =
  | { readonly t: "ret"; readonly v: Json; readonly status?: number; readonly continued?: true }
  | { readonly t: "throw"; readonly e: Thrown }
interface Thrown {
  readonly message: string
  readonly step?: string
}

/** Steps end after those inside of them, once, and what has begun ends. */
class SeenSteps {
  private readonly open = new Map<string, string | undefined>()
  private readonly over = new Set<string>()

  take({ of, p, s }: { readonly p: string; readonly of?: string; readonly s: string }): void {
    assert.isFalse(this.over.has(p), `${p} ends once`)
    if (s === "running") return void this.open.set(p, of)
    this.open.delete(p)
    this.over.add(p)
    assert.notInclude([...this.open.values()], p, `${p} ends after the steps inside of it`)
  }

  assertEnded(): void {
    assert.deepStrictEqual([...this.open.keys()], [], "steps that have begun have ended")
  }
}

/** Runs a script to its end; calls are answered in a random order, and some that were given up, too late. */
const runScript = async (
  script: string,
  { input }: RandomFlow,
  random: (below: number) => number,
  { onCall, onTurn }: Observer
): Promise<End> => {
  const { instance } = await engine.load(Buffer.from(script), limits)
  const steps = new SeenSteps()
  let open: Array<Made> = []
  let late: Array<Made> = []
  const answered = new Set<string>()
  const counts = new Map<string, number>()
  /** The number of times that a text was counted before. */
  const countOf = (what: string): number => {
    const count = counts.get(what) ?? 0
    counts.set(what, count + 1)
    return count
  }
  /** The call that was answered last. */
  let last = ""
  let now = 1
  let event: object = { t: "start", now, seed: [1, 2, 3, 4], ctx: { input, execution: { attempt: 1 } } }
  for (;;) {
    const text = engine
      .step(instance, Buffer.from(JSON.stringify(event)))
      .subarray(1)
      .toString()
    const outputs = JSON.parse(withoutTimes(text))
    const acting: Array<string> = []
    for (const one of outputs) {
      if (one.t === "step") {
        steps.take(one)
        if (one.s !== "failed") acting.push(one.p)
      }
      if (one.t === "cancel") {
        late = late.concat(open.filter(({ id }) => one.ids.includes(id)))
        open = open.filter(({ id }) => !one.ids.includes(id))
      }
      if (one.t === "ret" || one.t === "throw") {
        assert.deepStrictEqual(open, [], "calls in flight at the end")
        steps.assertEnded()
        return one
      }
      if (one.t !== "call") continue
      const attempt = countOf(`${one.p}|${one.n}`)
      const call: Made = { ...one, path: one.p, key: `${one.p}|${one.n}${attempt === 0 ? "" : `@${attempt}`}` }
      onCall(call, answered)
      acting.push(call.path)
      open.push(call)
    }
    if (last !== "")
      onTurn(new Set([...answered].filter((key) => key !== last)), [...acting, ...open.map(({ path }) => path)])
    const from: Array<Made> = late.length > 0 && open.length > 0 && random(3) === 0 ? late : open
    const [next] = from.splice(random(from.length), 1)
    if (next === undefined) throw new Error("waits for nothing")
    if (from === open) {
      answered.add(next.key)
      last = next.key
    }
    // A pause gives what it is told to.
    const [, result = null] = next.args
    const answer =
      next.name === "timer.sleep"
        ? { ok: true as const, value: result }
        : stub(next.path, next.name, countOf(`${next.path} ${next.name}`))
    const more = answer.ok
      ? { ok: true, v: answer.value }
      : {
          ok: false,
          e: {
            name: "ConnectorError",
            message: answer.message,
            data: { category: answer.isTransient ? "transient" : "code" }
          }
        }
    event = { t: "done", id: next.id, now: ++now, ...more }
  }
}

const assertEnd = (end: End, { calls, end: expected }: ExpectedRun, made: ReadonlySet<string>): void => {
  if (!expected.ok) {
    if (end.t !== "throw") throw new Error(`must fail at ${[...expected.paths].join()}`)
    assert.include([...expected.paths], end.e.step, end.e.message)
    return
  }
  if (end.t === "throw") throw new Error(`fails: ${JSON.stringify(end.e)}`)
  assert.deepStrictEqual(
    [end.v, end.status, end.continued ?? false],
    [expected.value, expected.status, expected.continued]
  )
  const missing = [...calls].flatMap(([key, { isCertain }]) => (isCertain && !made.has(key) ? [key] : []))
  assert.deepStrictEqual(missing, [], "calls that it must make")
}

describe("A flow", () => {
  it(
    `makes the calls of its description, in their order, and ends as it says: ${flows} random ones`,
    { timeout: scaled(flows * 1_000) },
    async () => {
      const seen = { calls: 0, failed: 0, continued: 0, repeated: 0, looks: 0, halts: 0 }
      for (let seed = firstSeed; seed < firstSeed + flows; seed++) {
        const flow = randomFlow(seed)
        const { spec } = flow
        const expected = await interpret(spec, flow.input, stub)
        const compiled = Either.getOrThrow(
          compileFlow({ at: 0, name: "random", spec: spec as unknown as Json, connectors })
        )
        const exported = Either.getOrThrow(
          writeCode({ name: "random", spec: spec as unknown as Json, generation: presentGeneration })
        )
        assert.strictEqual(Either.getOrThrow(analyse(exported)).script, compiled.script, "the export is what runs")
        const made = new Set<string>()
        try {
          const onCall: Observer["onCall"] = (call, answered) => {
            const found = expected.calls.get(call.key)
            if (found === undefined) throw new Error(`makes another call: ${call.key} ${call.name}`)
            assert.isFalse(made.has(call.key), `makes ${call.key} again`)
            made.add(call.key)
            assert.deepStrictEqual(
              [call.name, argsOf(call.args, call.name)],
              [found.name, argsOf(found.args, found.name)],
              call.key
            )
            for (const one of found.after)
              if (expected.calls.get(one)?.isCertain === true)
                assert.isTrue(answered.has(one), `${call.key} before the end of ${one}`)
          }
          const halted = new Set<ExpectedHalt>()
          const onTurn: Observer["onTurn"] = (before, acting) => {
            for (const halt of expected.halts) {
              if (!halted.has(halt) && [...halt.after].every((key) => before.has(key))) halted.add(halt)
              if (!halted.has(halt)) continue
              assert.deepStrictEqual(acting.filter(halt.has), [], "steps of a halted list")
            }
            seen.halts += halted.size
          }
          const end = await runScript(compiled.script, flow, numbers(seed), { onCall, onTurn })
          assertEnd(end, expected, made)
        } catch (cause) {
          throw new Error(`flow ${seed}: ${JSON.stringify(flow, null, 1)}\n${exported}`, { cause })
        }
        seen.calls += made.size
        for (const key of made) {
          if (key.endsWith("@1")) seen.repeated++
          if (expected.calls.get(key)?.name === "connector.crm.look") seen.looks++
        }
        if (!expected.end.ok) seen.failed++
        else if (expected.end.continued) seen.continued++
        if (seed % 50 === 0) globalThis.gc?.()
        await setImmediate()
      }
      assert.isAbove(seen.calls, flows)
      assert.isAbove(seen.failed, flows / 20)
      assert.isAbove(seen.continued, flows / 20)
      assert.isAbove(seen.repeated, 0)
      assert.isAbove(seen.halts, flows / 10)
      assert.isAbove(seen.looks, flows / 20)
      assert.isBelow(seen.failed + seen.continued, flows * 0.8)
    }
  )
})
