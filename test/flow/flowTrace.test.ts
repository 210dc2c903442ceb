/** What a flow tells of its steps: the one that failed, whatever was thrown; what each was given; which one waits. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execution, publishSaved, run, saveSteps, startSharedCalls, stopCalls, svc } from "../support/calls.js"
import { eventually } from "../support/eventually.js"

beforeAll(() => startSharedCalls())
afterAll(stopCalls)

const code = (name: string, body: string, more: object = {}) => ({
  name,
  type: "action",
  config: { code: `export default async (input) => { ${body} }` },
  ...more
})
const transform = (name: string, input: object, more: object = {}) => ({ name, type: "action", input, ...more })
const loop = (name: string, steps: ReadonlyArray<object>) => ({
  name,
  type: "loop",
  config: { over: "{{input.list}}", steps }
})

const publish = async (steps: ReadonlyArray<object>, response?: object): Promise<string> =>
  await publishSaved(await saveSteps(steps, response === undefined ? {} : { response }))
const idOf = (answer: { readonly headers: { readonly [name: string]: string } }) =>
  String(answer.headers["x-svc-execution-id"])

interface Step {
  readonly path?: string
  readonly status: string
  readonly input: unknown
  readonly output: unknown
  readonly error: { readonly message?: string } | null
}
const stepsOf = async (id: string): Promise<ReadonlyMap<string, Step>> => {
  const { steps } = await execution(id)
  return new Map(steps.map((step: Step) => [step.path ?? "", step]))
}

const thrown = {
  "a text": '"text"',
  null: "null",
  undefined: "undefined",
  "an object": "{ a: 1 }",
  "a frozen error": 'Object.freeze(new Error("frozen"))',
  "an error with a step of its own": 'Object.defineProperty(new Error("own"), "step", { value: "x" })',
  "a proxy that refuses all":
    'new Proxy({}, { get() { throw new Error("no") }, set() { throw new Error("no") }, getPrototypeOf() { throw new Error("no") } })'
}

describe.each(Object.entries(thrown))("Code that throws %s", (_, value) => {
  const fails = (more: object = {}) => code("fails", `throw ${value}`, more)

  it("fails at its step, in a list of any depth, and its step has failed in the trace", async () => {
    const outer = await run(await publish([fails()]))
    const ended = await execution(idOf(outer))
    assert.deepInclude(ended, { status: "failed" })
    assert.strictEqual(ended.error.step, "fails", JSON.stringify(ended.error))
    assert.strictEqual((await stepsOf(idOf(outer))).get("fails")?.status, "failed")
    const inner = await run(await publish([loop("each", [fails()])]), { list: [1] })
    assert.strictEqual((await execution(idOf(inner))).error.step, "each[0].fails")
  })

  it("is no end of the flow where the step continues", async () => {
    const answer = await run(await publish([fails({ onError: "continue" }), transform("after", { ok: true })]))
    assert.deepStrictEqual([answer.status, answer.body], [200, { ok: true }])
  })
})

describe("A flow that fails", () => {
  it("answers with its step where its response says so", async () => {
    const body = { at: "{{error.step}}", why: "{{error.message}}" }
    const id = await publish([loop("each", [code("fails", `throw new Error("no")`)])], { error: { status: 418, body } })
    const { name } = (await svc.ask("GET", `/api/v1/workflows/${id}`, { key: svc.first.key })).body.data
    const answer = await svc.ask("POST", `/api/v1/${name}`, {
      headers: { "x-svc-api-key": svc.first.key, "x-svc-space-id": svc.first.spaceId },
      body: { input: { list: [1] } }
    })
    assert.deepStrictEqual([answer.status, answer.body], [418, { at: "each[0].fails", why: "no" }], answer.text)
  })

  it("shows the lines of the step's own code", async () => {
    const source = "export default async () => {\n  const x = 1\n  throw new Error('line three')\n}"
    const answer = await run(await publish([{ name: "lines", type: "action", config: { code: source } }]))
    assert.include((await execution(idOf(answer))).error.stack, "lines.js:3")
  })
})

describe("A step named __proto__", () => {
  it("is read like any other, in a flow and in a loop", async () => {
    const read = transform("z", { p: "{{steps.__proto__.output.a}}" })
    const flat = await run(await publish([transform("__proto__", { a: 2 }), read]))
    assert.deepStrictEqual(flat.body, { p: 2 })
    const inner = [transform("__proto__", { a: "{{item}}" }), read]
    assert.deepStrictEqual((await run(await publish([loop("each", inner)]), { list: [5] })).body, {
      results: [{ p: 5 }],
      failed: 0
    })
    const outside = await run(await publish([transform("__proto__", { a: 7 }), loop("each", [read])]), { list: [1] })
    assert.deepStrictEqual(outside.body.results, [{ p: 7 }])
  })
})

describe("A loop", () => {
  const items = (count: number) => Array.from({ length: count }, (_, at) => at)

  it("runs 10,000 single steps", async () => {
    const answer = await run(await publish([loop("each", [transform("one", { v: "{{item}}" })])]), {
      list: items(10_000)
    })
    assert.strictEqual(answer.status, 200, answer.text.slice(0, 300))
    assert.lengthOf(answer.body.results, 10_000)
  })

  it("that would make more steps than a run may have is refused before its first iteration", async () => {
    const gate = {
      name: "gate",
      type: "gate",
      config: { branches: [{ name: "a", when: { path: "index", op: "eq", value: -1 }, steps: [transform("in_", {})] }] }
    }
    const answer = await run(await publish([loop("each", [gate, transform("one", {})])]), { list: items(3_500) })
    const ended = await execution(idOf(answer))
    assert.deepInclude(ended.error, { code: "LOOP_LIMIT", step: "each" })
    assert.deepStrictEqual([...(await stepsOf(idOf(answer))).keys()], ["each"])
  })
})

describe("The trace", () => {
  it("shows what code, transforms, loops and refused mappings were given", async () => {
    const id = await publish([
      code("does", "return input.z", { mapping: { z: "{{input.z}}" } }),
      code("fails", "throw new Error('no')", { mapping: { z: "{{input.z}}" }, onError: "continue" }),
      transform("same", { z: "{{input.z}}" }),
      transform("maps", { z: "{{input.z}}" }, { config: { transform: { y: "{{input.z}}!" } } }),
      loop("each", [transform("inside", { v: "{{item}}" })])
    ])
    const steps = await stepsOf(idOf(await run(id, { z: "Z", list: [1] })))
    const inputs = Object.fromEntries([...steps].map(([path, { input }]) => [path, input]))
    assert.deepStrictEqual(inputs, {
      does: { z: "Z" },
      fails: { z: "Z" },
      same: { z: "Z" },
      maps: { z: "Z" },
      each: { over: [1] },
      "each[0].inside": { v: 1 }
    })
    assert.deepStrictEqual(steps.get("maps")?.output, { z: "Z", y: "Z!" })
  })

  it("shows it without secrets, and says how large it is where it is larger than a step shows", async () => {
    const secret = { name: "TRACED", type: "text", value: "hidden-from-the-trace" }
    await svc.ask("POST", "/api/v1/secrets", { key: svc.first.key, body: secret })
    const id = await publish([
      code("reads", `return { s: await svc.secrets.get("TRACED") }`),
      transform("holds", { s: "{{steps.reads.output.s}}" }, { config: { transform: { t: "x" } } }),
      code("large", "return input.text.length", { input: { text: "{{input.text}}" } })
    ])
    const answer = await run(id, { text: "x".repeat(300_000) })
    const steps = await stepsOf(idOf(answer))
    assert.notInclude(JSON.stringify([...steps.values()]), "hidden-from-the-trace")
    assert.strictEqual(steps.get("large")?.output, 300_000)
    assert.deepInclude(steps.get("large")?.input, { characters: 300_011 })
  })

  it("names the step for which a run waits", async () => {
    const waits = loop("each", [{ name: "pause", type: "wait", config: { durationMs: 600_000 } }])
    const id = await publish([waits])
    const answer = await run(id, { list: [1] })
    const found = await eventually(
      () => execution(idOf(answer)),
      ({ waiting }) => waiting !== null
    )
    assert.deepInclude(found.waiting, { kind: "wait", step: "each[0].pause" })
    await svc.ask("POST", `/api/v1/executions/${idOf(answer)}/cancel`, { key: svc.first.key, body: {} })
  })
})

describe("A run that the service ends", () => {
  const endsAt = async (body: string, code_: string) => {
    const flow = [transform("first", {}), loop("each", [code("stands", body)])]
    const answer = await run(await publish(flow), { list: [1] })
    const { error } = await execution(idOf(answer))
    assert.deepInclude(error, { code: code_, step: "each[0].stands" })
  }

  it("names the step that awaits what nothing settles", () => endsAt("await new Promise(() => {})", "STUCK"))

  it("names the step that computes for too long, in its first turn or a later one", async () => {
    await endsAt("for (;;) {}", "CPU_LIMIT")
    await endsAt(`await svc.state.get("x"); for (;;) {}`, "CPU_LIMIT")
  })
})

describe("A wait until a time that an expression gives", () => {
  it.each([
    ["order 5", "INVALID_TIME"],
    ["2026-09-31", "INVALID_TIME"],
    ["2999-01-01T00:00:00Z", "TIME_TOO_FAR"]
  ])("fails where it cannot be waited for: %s", async (at, code_) => {
    const waits = { name: "waits", type: "wait", config: { until: "{{input.at}}" } }
    const id = idOf(await run(await publish([waits]), { at }))
    const ended = await eventually(
      () => execution(id),
      ({ status }) => status === "failed"
    )
    assert.deepInclude(ended.error, { code: code_, step: "waits" })
  })
})
