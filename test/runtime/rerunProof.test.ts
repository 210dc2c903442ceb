/**
 * Random flows are run again: resumed, and from a step, on the same version and on another, in chains. What is called again,
 * what keeps its result, with which keys and to which end, an interpreter says which was written from the description alone.
 */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { setImmediate } from "node:timers/promises"
import type { KnownConnectors } from "../../src/domain/flow/Checks.js"
import type { Json } from "../../src/domain/Json.js"
import { compileFlow } from "../../src/runtime/computing/workflow/FlowCompile.js"
import { makeEngine } from "../../src/runtime/sandbox/runner/Engine.js"
import { ProcessorTime } from "../../src/runtime/sandbox/runner/Processor.js"
import { changedFlow } from "../support/changedFlows.js"
import { type Driving, type EndedRun, type MadeCall, resumeFlow, runFlow, sha256, takeUp } from "../support/flowRun.js"
import type { FlowVersion } from "../support/flowRequest.js"
import {
  argsOf,
  type Earlier,
  type EarlierCall,
  type ExpectedRun,
  interpret,
  withoutTimes
} from "../support/naiveFlow.js"
import { anewFrom, ownTexts, pathsOf } from "../support/naiveReruns.js"
import { naiveTypes } from "../support/naiveSteps.js"
import { numbers, type RandomFlow, randomFlow } from "../support/randomFlows.js"
import { scaled } from "../support/slowness.js"
import { isLong } from "../support/longForm.js"

const seeds = [1, 100_001, 200_001].map((seed) => seed + Number(process.env["SVC_TEST_SEED"] ?? 0))
const flows = isLong ? 1_000 : 20
/** The re-runs of each flow: each of the one before. */
const inChain = 5

const wasm = Uint8Array.from(
  readFileSync(createRequire(import.meta.url).resolve("@jitl/quickjs-ng-wasmfile-release-sync/wasm"))
)
const engine = await makeEngine(wasm, new ProcessorTime(), () => undefined)

const action = { versions: [1], readOnly: false }
const connectors: KnownConnectors = {
  crm: { kind: "crm", actions: { find: action, send: action, look: { versions: [1], readOnly: true } } },
  openai: { kind: "ai", actions: { createChatCompletion: action } }
}

/** What the world answers in the nth run of a chain. In each run other calls fail, and there are other answers. */
const answersOf = (run: number) => (path: string, name: string, nth: number) => {
  let hash = 7 + run * 1_009
  for (const letter of path) hash = (hash * 31 + letter.charCodeAt(0)) % 1_000_003
  const isTransient = name === "connector.crm.send"
  const rate = isTransient ? 3 : run === 0 ? 5 : 8
  const fails = name.startsWith("connector.crm.") && hash % rate === 0 && !(isTransient && nth > hash % 4)
  if (fails) return { ok: false, message: `no ${path}`, isTransient } as const
  if (name === "timer.sleep") return { ok: true, value: null } as const
  if (name === "state.get") return { ok: true, value: (hash + nth) % 5 } as const
  const v = name === "connector.crm.look" ? (hash + nth) % 5 : hash % 10
  return { ok: true, value: { v, list: [{ v: 1 }], text: `t${hash}`, usage: { n: hash } } } as const
}

const codeOf = (of: string) => `export default async () => svc.connector.crm.find({ of: "${of}" })`

const compile = (spec: RandomFlow["spec"]): FlowVersion => {
  const document = spec as unknown as Json
  const { script } = Either.getOrThrowWith(
    compileFlow({ at: 0, name: "random", spec: document, connectors }),
    (mistakes) => new Error(JSON.stringify(mistakes))
  )
  return { hash: sha256(JSON.stringify(document)), spec: document, script }
}

const pathOf = (place: string): string => place.slice(0, place.indexOf("|"))
const plain = <A>(value: A): A => JSON.parse(withoutTimes(JSON.stringify(value)))
/** What the runs of a chain have completed, as the stub and their descriptions say. */
class Chain {
  private readonly outputs = new Map<string, Json>()
  private readonly calls = new Map<string, Array<EarlierCall>>()
  /** What was asked for at each place, and answered. */
  private readonly asked = new Map<string, Set<string>>()
  private readonly roots: Array<{ readonly isAnew: (path: string) => boolean; readonly id: string }> = []

  get earlier(): Earlier {
    return { outputs: new Map(this.outputs), calls: new Map(this.calls) }
  }

  /** The names of completed steps. */
  get completed(): ReadonlySet<string> {
    return new Set([...this.outputs.keys()].map((path) => path.slice(path.lastIndexOf(".") + 1)))
  }

  forget(isAnew: (path: string) => boolean): void {
    for (const path of this.outputs.keys()) if (isAnew(path)) this.outputs.delete(path)
    for (const known of [this.calls, this.asked])
      for (const place of known.keys()) if (isAnew(pathOf(place))) known.delete(place)
  }

  /** The run from which on the keys of steps derive from it. */
  root(id: string, isAnew: (path: string) => boolean): void {
    this.roots.push({ id, isAnew })
  }

  /** Checks the key of a call that was made by a run. */
  checkKey({ args, idempotencyKey, name, place }: MadeCall): void {
    if (idempotencyKey === undefined) return
    const root = this.roots.findLast(({ isAnew }) => isAnew(pathOf(place)))?.id
    const others = [...(this.asked.get(place) ?? [])].filter((one) => one !== JSON.stringify([name, args]))
    const isPlain = idempotencyKey === sha256(`${root}|${place}`)
    assert.strictEqual(isPlain, others.length === 0, `the key of ${place}, which was used for ${others.join()}`)
  }

  /** Adds what a run has completed. */
  add({ made, steps }: EndedRun, expected: ExpectedRun): void {
    for (const { answer, args, name, place } of made) {
      if (answer === undefined) continue
      const asked = this.asked.get(place) ?? new Set()
      this.asked.set(place, asked.add(JSON.stringify([name, args])))
      if (answer.ok)
        this.calls.set(place, [{ name, args: plain(args), value: answer.value }, ...(this.calls.get(place) ?? [])])
    }
    for (const [path, { output }] of expected.steps)
      if (steps.get(path)?.status === "completed") this.outputs.set(path, output)
  }
}

const checkCalls = ({ end, made }: EndedRun, expected: ExpectedRun): void => {
  const seen = new Set<string>()
  const counts = new Map<string, number>()
  for (const { args, name, place } of made) {
    const attempt = counts.get(place) ?? 0
    counts.set(place, attempt + 1)
    const key = attempt === 0 ? place : `${place}@${attempt}`
    const found = expected.calls.get(key)
    if (found === undefined) throw new Error(`makes another call: ${key} ${name}`)
    seen.add(key)
    assert.deepStrictEqual([name, argsOf(plain(args), name)], [found.name, argsOf(found.args, found.name)], key)
  }
  if (end.status === "failed" && !expected.end.ok) return
  const missing = [...expected.calls].flatMap(([key, { isCertain }]) => (isCertain && !seen.has(key) ? [key] : []))
  assert.deepStrictEqual(missing, [], "calls that it must make")
}

const checkEnd = ({ end }: EndedRun, { end: expected }: ExpectedRun): void => {
  if (!expected.ok) {
    assert.strictEqual(end.status, "failed", `must fail at ${[...expected.paths].join()}`)
    assert.include([...expected.paths], (end.error as { step?: string } | null)?.step, JSON.stringify(end.error))
    return
  }
  assert.deepStrictEqual(
    [end.status, end.statusReason, plain(end.output), end.answerStatus],
    expected.continued
      ? ["failed", "continued_after_error", expected.value, expected.status]
      : ["completed", null, expected.value, expected.status],
    JSON.stringify(end.error)
  )
}

/** What the trace says has completed is what can have, and it says what was kept from another run. */
const checkSteps = ({ steps }: EndedRun, expected: ExpectedRun): void => {
  for (const [path, { reused, status, type }] of steps) {
    if (status !== "completed" || naiveTypes.get(type)?.group !== undefined) continue
    assert.strictEqual(expected.steps.get(path)?.isReused, reused, `${path}, whether it is kept`)
  }
  for (const [path, { isCertain }] of expected.steps)
    if (isCertain) assert.strictEqual(steps.get(path)?.status, "completed", path)
}

const seen = { reruns: 0, fromStep: 0, iterations: 0, changed: 0, calls: 0, kept: 0, completed: 0 }

/** Runs a flow, and again, and again. */
const checkChain = async (seed: number, note: (text: string) => void): Promise<void> => {
  const { input, spec: first } = randomFlow(seed)
  const random = numbers(seed * 31 + 5)
  const chain = new Chain()
  let spec = first
  const driving = (nth: number): Driving => ({
    engine,
    nth,
    random,
    answers: (place, name, times) => answersOf(nth)(pathOf(place), name, times)
  })
  const check = async (nth: number, ended: EndedRun): Promise<ExpectedRun> => {
    const expected = await interpret(spec, input, answersOf(nth), 1970 + nth, chain.earlier)
    note(`made ${JSON.stringify(ended.made.map(({ place, name }) => `${place} ${name}`))}`)
    checkCalls(ended, expected)
    checkEnd(ended, expected)
    checkSteps(ended, expected)
    for (const call of ended.made) chain.checkKey(call)
    chain.add(ended, expected)
    return expected
  }
  let version = compile(spec)
  note(JSON.stringify({ spec, input }, null, 1))
  let run = await runFlow(driving(0), version, input)
  chain.root(run.run.id, () => true)
  await check(0, run)
  for (let nth = 1; nth <= inChain; nth++) {
    const isChanged = random(3) === 0
    if (isChanged) spec = changedFlow(spec, random, nth)
    const texts = ownTexts((version.spec as unknown as RandomFlow["spec"]).steps)
    if (isChanged) version = compile(spec)
    const paths = pathsOf(spec.steps, () => random(3))
    const isResumed = random(100) < (run.end.status === "failed" ? 50 : 10)
    const fromStep = isResumed ? undefined : paths[random(paths.length)]
    note(`run ${nth}: from ${fromStep ?? "what failed"}${isChanged ? ` of ${JSON.stringify(spec, null, 1)}` : ""}`)
    const again = await resumeFlow(driving(nth), run, version, fromStep)
    const isAnew = fromStep === undefined ? () => false : anewFrom(spec, fromStep)
    chain.forget(isAnew)
    chain.root(again.run.id, isAnew)
    const { completed } = chain
    const changed = [...ownTexts(spec.steps)].flatMap(([name, text]) =>
      completed.has(name) && texts.has(name) && texts.get(name) !== text ? [name] : []
    )
    assert.sameMembers([...again.changed], changed, "kept steps that differ")
    const expected = await check(nth, again)
    run = again
    seen.reruns++
    if (fromStep !== undefined) seen.fromStep++
    if (fromStep?.includes("[") === true) seen.iterations++
    if (isChanged) seen.changed++
    seen.calls += again.made.length
    for (const { isReused } of expected.steps.values()) if (isReused) seen.kept++
    if (again.end.status === "completed") seen.completed++
  }
}

describe("A flow that is run again", () => {
  it(
    `calls what had not completed or runs anew, and keeps the rest: ${flows * inChain * seeds.length} random re-runs`,
    { timeout: scaled(flows * 3_000) },
    async () => {
      for (const seed of seeds) {
        for (let one = seed; one < seed + flows; one++) {
          const notes: Array<string> = []
          try {
            await checkChain(one, (text) => notes.push(text))
          } catch (cause) {
            throw new Error(`flow ${one}: ${notes.join("\n")}`, { cause })
          }
          if (one % 50 === 0) globalThis.gc?.()
          await setImmediate()
        }
      }
      assert.isAbove(seen.fromStep, seen.reruns / 3)
      assert.isAbove(seen.iterations, seen.reruns / 10)
      assert.isAbove(seen.changed, seen.reruns / 5)
      assert.isAbove(seen.calls, seen.reruns)
      assert.isAbove(seen.kept, seen.reruns)
      assert.isAbove(seen.completed, seen.reruns / 3)
      assert.isBelow(seen.completed, seen.reruns * 0.9)
    }
  )
})

/** How often the first entries of a run's journal answer each call, by its step's path and name; and which have succeeded. */
const takenOf = ({ journal, made }: EndedRun, entries: number) => {
  const done = new Map<string, number>()
  const succeeded = new Set<string>()
  for (const entry of journal.slice(0, entries + 1)) {
    if (entry.kind !== "done" || entry.place === undefined) continue
    const at = entry.place.includes("|") ? entry.place : `${entry.place}|0`
    done.set(at, (done.get(at) ?? 0) + 1)
    if (entry.outcome === "ok") succeeded.add(at)
  }
  const answered = new Map<string, number>()
  for (const { name, place } of made) {
    const left = done.get(place) ?? 0
    if (left === 0) continue
    done.set(place, left - 1)
    const counted = `${pathOf(place)} ${name}`
    answered.set(counted, (answered.get(counted) ?? 0) + 1)
  }
  return { answered, succeeded }
}

describe("A flow whose process dies", () => {
  it("ends as without it, also when it dies while lists halt, and makes no completed call again", async () => {
    const seen = { cut: 0, continued: 0 }
    for (let seed = 0; seed < flows * 3; seed++) {
      const flow = randomFlow(300_000 + seed)
      const driving = { engine, answers: answersOf(0), random: numbers(seed), nth: 0 }
      const whole = await runFlow(driving, compile(flow.spec), flow.input)
      if (whole.end.statusReason === "continued_after_error") seen.continued++
      for (let left = whole.journal.length - 1; left > 0; left -= 1 + driving.random(4)) {
        seen.cut++
        const { answered, succeeded } = takenOf(whole, left)
        const answers: Driving["answers"] = (at, name, nth) =>
          driving.answers(at, name, nth + (answered.get(`${pathOf(at)} ${name}`) ?? 0))
        const killed = await takeUp({ ...driving, answers }, whole, left)
        const place = JSON.stringify(flow.spec)
        assert.strictEqual(killed.end.status, whole.end.status, place)
        assert.deepStrictEqual(plain(killed.end.output), plain(whole.end.output), place)
        const again = killed.made.filter((call) => call.name !== "timer.sleep" && succeeded.has(call.place))
        assert.deepStrictEqual(again, [], place)
      }
      await setImmediate()
    }
    assert.isAbove(seen.cut, flows)
    assert.isAbove(seen.continued, 0)
  })
})

describe("A step that took too long", () => {
  const late = { name: "late", type: "action", config: { code: codeOf("late") }, timeoutMs: 1_000 }
  const flow: RandomFlow = { spec: { steps: [{ name: "first", type: "action", input: { a: 1 } }, late] }, input: {} }
  /** Its time is over before its call is answered. */
  const isLate = (below: number): number => below - 1
  const driving = (nth: number, random: Driving["random"]): Driving => ({
    engine,
    nth,
    random,
    answers: () => ({ ok: true, value: { v: 1 } })
  })

  it("has all of its time again in a run that resumes it", async () => {
    const version = compile(flow.spec)
    const failed = await runFlow(driving(0, isLate), version, flow.input)
    assert.deepInclude(failed.end.error, { code: "STEP_TIMED_OUT", step: "late" })
    const again = await resumeFlow(
      driving(1, () => 0),
      failed,
      version,
      undefined
    )
    assert.deepStrictEqual([again.end.status, again.end.output], ["completed", { v: 1 }])
    assert.strictEqual(again.steps.get("first")?.reused, true)
  })

  it("has all of its time again in the next attempt of its run", async () => {
    let turns = 0
    const version = { ...compile(flow.spec), attempts: 2 }
    const random = (below: number): number => (turns++ === 0 ? isLate(below) : 0)
    const ended = await runFlow(driving(0, random), version, flow.input)
    assert.deepStrictEqual(
      [ended.end.status, ended.end.output],
      ["completed", { v: 1 }],
      JSON.stringify(ended.end.error)
    )
    assert.deepStrictEqual(
      ended.made.map(({ place }) => place),
      ["late|0", "late|2000000", "late|0"]
    )
  })
})

describe("A loop in a run that resumes another", () => {
  it("may make as many calls as in a run that begins, however many outputs are kept", async () => {
    const { spec, input }: RandomFlow = {
      spec: {
        steps: [
          {
            name: "first",
            type: "loop",
            config: {
              over: "{{input.few}}",
              concurrency: 20,
              steps: [{ name: "one", type: "action", input: { a: 1 } }]
            }
          },
          {
            name: "second",
            type: "loop",
            config: {
              over: "{{input.many}}",
              steps: [{ name: "send", type: "action", connector: "crm", action: "find" }]
            }
          }
        ]
      },
      input: { few: Array.from({ length: 1_100 }, () => 1), many: Array.from({ length: 9_000 }, () => 1) }
    }
    const version = compile(spec)
    const driving = (nth: number): Driving => ({
      engine,
      nth,
      random: () => 0,
      answers: () => ({ ok: false, message: "broken", isTransient: false })
    })
    const failed = await runFlow(driving(0), version, input)
    const again = await resumeFlow(driving(1), failed, version, undefined)
    for (const { end } of [failed, again]) assert.deepInclude(end.error, { message: "broken", step: "second[0].send" })
    assert.strictEqual(again.steps.get("first[1099].one")?.reused, true)
  })
})
