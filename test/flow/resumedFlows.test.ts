/** A failed run of steps is resumed: what it has completed is not run again, on the same version or on a repaired one. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import {
  connect,
  execution,
  getStep,
  publishConnector,
  publishSaved,
  requestsTo,
  run,
  saveSteps,
  scripts,
  startSharedCalls,
  stopCalls,
  svc,
  workflow
} from "../support/calls.js"
import { eventually } from "../support/eventually.js"

const slug = "resume-crm"

const ask = (method: string, target: string, body?: unknown) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })

/** Publishes steps as a workflow, or as the next version of one. */
const publish = async (steps: ReadonlyArray<object>, id?: string): Promise<string> =>
  publishSaved(id === undefined ? await saveSteps(steps) : await ask("PUT", `/workflows/${id}`, { spec: { steps } }))

const rerun = async (id: string, body: object) => {
  const again = await ask("POST", `/executions/${id}/rerun`, body)
  assert.strictEqual(again.status, 202, again.text)
  const ended = await eventually(
    () => execution(again.body.data.id),
    ({ status }) => status !== "pending" && status !== "running"
  )
  return { ...again.body.data, ...ended }
}

const failedRun = async (workflowId: string, input: object): Promise<string> => {
  const answer = await run(workflowId, input)
  assert.strictEqual(answer.headers["x-svc-execution-status"], "failed", answer.text)
  return String(answer.headers["x-svc-execution-id"])
}

const get = getStep(slug)
const create = (name: string, what: string, more: object = {}) => ({
  name,
  type: "action",
  connector: slug,
  action: "create",
  input: { name: what },
  retry: { maxAttempts: 1 },
  ...more
})
const code = (name: string, source: string, input: object = {}) => ({
  name,
  type: "action",
  input,
  config: { code: `export default async (input) => ${source}` }
})
const keyOf = (root: string, place: string) => createHash("sha256").update(`${root}|${place}`).digest("hex")
const count = (path: string) => requestsTo(`/${slug}/get/${path}`).length

beforeAll(async () => {
  await startSharedCalls()
  await publishConnector(slug)
  await connect(slug, "key-of-resumed-flows")
})
afterAll(stopCalls)

describe("A resumed run of steps", () => {
  it("makes only the calls that had not completed, with their keys, and keeps outputs of code", async () => {
    let isBroken = true
    scripts.set(`/${slug}/create`, () => (isBroken ? { status: 500, body: {} } : { body: { made: true } }))
    const id = await publish([
      get("find", "r1-find"),
      code("count", `({ n: await svc.state.increment("resumed-count", 1), at: Date.now() })`),
      {
        name: "each",
        type: "loop",
        config: {
          over: "{{input.items}}",
          steps: [get("read", "r1-{{item}}"), code("mark", "input.of", { of: "{{steps.read.output.path}}" })],
          result: "{{steps.mark.output}}"
        }
      },
      create("make", "{{steps.count.output.n}}", { dependsOn: ["count", "each"] }),
      {
        name: "end",
        type: "action",
        input: { results: "{{steps.each.output.results}}", count: "{{steps.count.output}}" }
      }
    ])
    const first = await failedRun(id, { items: ["a", "b"] })
    const before = await execution(first)
    isBroken = false
    const ended = await rerun(first, { mode: "resume" })
    assert.deepInclude(ended, { status: "completed", parentId: first }, JSON.stringify(ended.error))
    assert.deepStrictEqual(
      ended.output.results,
      ["a", "b"].map((one) => `/${slug}/get/r1-${one}`)
    )
    const marked = (
      view: { steps: ReadonlyArray<{ path?: string; output: unknown; reused?: boolean; status: string }> },
      path: string
    ) => view.steps.find((step) => step.path === path)
    assert.deepStrictEqual(ended.output.count, marked(before, "count")?.output)
    assert.deepStrictEqual([count("r1-find"), count("r1-a"), count("r1-b")], [1, 1, 1])
    assert.deepStrictEqual(
      requestsTo(`/${slug}/create`).map(({ key }) => key),
      [keyOf(first, "make|0"), keyOf(first, "make|0")]
    )
    assert.deepInclude(marked(ended, "find"), { reused: true, status: "completed" })
    assert.deepInclude(marked(ended, "each[1].mark"), { reused: true, status: "completed" })
    assert.isUndefined(marked(ended, "make")?.reused)
    // A run that resumes the second one takes over from both.
    const third = await rerun(ended.id, { fromStep: "end" })
    assert.deepStrictEqual(third.output, ended.output)
    assert.strictEqual(requestsTo(`/${slug}/create`).length, 2)
    assert.strictEqual(count("r1-find"), 1)
  })

  it("goes on with a repaired version, and names completed steps that differ in it", async () => {
    const id = await publish([
      get("find", "r2-find"),
      code("label", `"old"`),
      code("bad", `{ throw new Error("not yet") }`)
    ])
    const first = await failedRun(id, {})
    await publish(
      [
        get("find", "r2-other"),
        code("label", `"new"`),
        code("bad", "input", { label: "{{steps.label.output}}", path: "{{steps.find.output.path}}" })
      ],
      id
    )
    const same = await rerun(first, { mode: "resume" })
    assert.strictEqual(same.error.message, "not yet")
    const ended = await rerun(first, { mode: "resume", version: "latest" })
    assert.deepStrictEqual(ended.output, { label: "old", path: `/${slug}/get/r2-find` })
    assert.sameMembers(ended.changed, ["find", "label"])
    assert.strictEqual(ended.workflowVersion, 2)
    assert.deepStrictEqual([count("r2-find"), count("r2-other")], [1, 0])
    const anew = await rerun(first, { fromStep: "label", version: "latest" })
    assert.deepStrictEqual(anew.output, { label: "new", path: `/${slug}/get/r2-find` })
    assert.deepStrictEqual(anew.changed, ["find"])
  })

  it("keeps the end of a wait, and the output of a step that is of another type now", async () => {
    const id = await publish([
      { name: "pause", type: "wait", config: { durationMs: 1 } },
      get("find", "r8-find"),
      code("label", `"old"`),
      code("bad", `{ throw new Error("no") }`)
    ])
    const { executionId: first } = (await run(id, {})).body
    const failed = await eventually(
      () => execution(first),
      ({ status }) => status === "failed"
    )
    await publish(
      [
        { name: "pause", type: "wait", config: { durationMs: 2 } },
        code("find", `"new"`),
        get("label", "r8-label"),
        code("end", "input", {
          pause: "{{steps.pause.output}}",
          find: "{{steps.find.output.path}}",
          label: "{{steps.label.output}}"
        })
      ],
      id
    )
    interface Row {
      readonly path?: string
      readonly output?: object
      readonly reused?: boolean
    }
    const pause = ({ steps }: { readonly steps: ReadonlyArray<Row> }) => steps.find(({ path }) => path === "pause")
    const before = pause(failed)
    const ended = await rerun(first, { mode: "resume", version: "latest" })
    assert.deepStrictEqual(ended.output, {
      pause: before?.output,
      find: `/${slug}/get/r8-find`,
      label: "old"
    })
    assert.match(ended.output.pause.until, /^\d{4}-/)
    assert.deepStrictEqual([pause(ended)?.reused, pause(ended)?.output], [true, ended.output.pause])
    assert.sameMembers(ended.changed, ["pause", "find", "label"])
    assert.deepStrictEqual([count("r8-find"), count("r8-label")], [1, 0])
  })

  it("runs the step that it begins at anew with those that depend on it, under keys of its own", async () => {
    scripts.set(`/${slug}/create`, ({ body }) => ({ body: { got: JSON.parse(body).name } }))
    const id = await publish([
      {
        name: "each",
        type: "loop",
        config: {
          over: "{{input.items}}",
          as: "row",
          steps: [
            get("aside", "r3-aside-{{row}}", { dependsOn: [] }),
            create("send", "{{row}}", { dependsOn: [] }),
            get("after", "r3-{{steps.send.output.got}}")
          ]
        }
      },
      get("other", "r3-other", { dependsOn: [] }),
      {
        name: "route",
        type: "gate",
        dependsOn: ["each"],
        config: {
          branches: [{ name: "all", when: { path: "input.items", op: "exists" }, steps: [get("last", "r3-last")] }]
        }
      }
    ])
    const answer = await run(id, { items: ["x", "y"] })
    const first = String(answer.headers["x-svc-execution-id"])
    const counts = () => ["aside-x", "x", "aside-y", "y", "other", "last"].map((one) => count(`r3-${one}`))
    const sent = () =>
      requestsTo(`/${slug}/create`)
        .slice(-3)
        .map(({ key }) => key)
    assert.deepStrictEqual(counts(), [1, 1, 1, 1, 1, 1])
    const ended = await rerun(first, { fromStep: "each[1].send" })
    assert.strictEqual(ended.status, "completed")
    assert.deepStrictEqual(counts(), [1, 1, 1, 2, 1, 2])
    assert.deepStrictEqual(sent().slice(1), [keyOf(first, "each[1].send|0"), keyOf(ended.id, "each[1].send|0")])
    for (const fromStep of [
      "each.send",
      "each[1]",
      "send",
      "absent",
      "each[x].send",
      "each[2].send",
      "each[99].after"
    ]) {
      const refused = await ask("POST", `/executions/${first}/rerun`, { fromStep })
      assert.deepStrictEqual([refused.status, refused.body.details?.[0]?.code], [422, "UNKNOWN_STEP"], refused.text)
    }
  })

  it("is refused where it contradicts itself, and for code that would begin at a step", async () => {
    const id = await publish([code("bad", `{ throw new Error("no") }`)])
    const first = await failedRun(id, {})
    for (const body of [
      { mode: "fresh", fromStep: "bad" },
      { mode: "resume", input: {} },
      { fromStep: "bad", input: {} }
    ])
      assert.strictEqual((await ask("POST", `/executions/${first}/rerun`, body)).status, 422)
    const coded = await workflow(`await svc.connector.resumeCrm.get({ id: "r4" }); throw new Error("no")`)
    const ran = await failedRun(coded, {})
    for (const body of [{ fromStep: "bad" }, { mode: "resume", version: "latest" }])
      assert.strictEqual((await ask("POST", `/executions/${ran}/rerun`, body)).status, 422)
  })

  it("of code keeps the trace of what it replays, with the rows of svc.step", async () => {
    let isBroken = true
    scripts.set(`/${slug}/get/r5-b`, () => (isBroken ? { status: 500, body: {} } : { body: { b: 1 } }))
    const coded = await workflow(
      `const a = await svc.step("one", (svc) => svc.connector.resumeCrm.get({ id: "r5-a" }));
       await svc.state.set("r5", 1);
       return [a.path, await svc.connector.resumeCrm.get({ id: "r5-b" }, { retry: false })]`
    )
    const first = await failedRun(coded, {})
    isBroken = false
    const ended = await rerun(first, { mode: "resume" })
    assert.deepStrictEqual(ended.output, [`/${slug}/get/r5-a`, { b: 1 }])
    assert.strictEqual(count("r5-a"), 1)
    const before = await execution(first)
    assert.deepStrictEqual(
      ended.steps.slice(0, -1),
      before.steps.slice(0, -1).map((step: object) => ({ ...step, reused: true }))
    )
    assert.deepInclude(ended.steps.at(-1), { status: "completed" })
    assert.isUndefined(ended.steps.at(-1).reused)
  })
})

describe("The steps of an execution", () => {
  it("are listed in pages, by path and by status; its record shows the first thousand", async () => {
    const id = await publish([
      {
        name: "each",
        type: "loop",
        config: { over: "{{input.items}}", steps: [{ name: "one", type: "action", input: { n: "{{item}}" } }] }
      },
      code("bad", `{ throw new Error("no") }`)
    ])
    const ran = await failedRun(id, { items: Array.from({ length: 1_100 }, (_, at) => at) })
    const seen = await execution(ran)
    assert.lengthOf(seen.steps, 1_000)
    assert.isTrue(seen.stepsTruncated)
    const paths: Array<string> = []
    for (let cursor = ""; ;) {
      const page = await ask("GET", `/executions/${ran}/steps?page_size=200${cursor}`)
      for (const { path } of page.body.data) paths.push(path)
      if (page.body.page.nextCursor === null) break
      cursor = `&cursor=${page.body.page.nextCursor}`
    }
    assert.lengthOf(new Set(paths), 1_102)
    const pathsOf = async (query: string) =>
      (await ask("GET", `/executions/${ran}/steps?${query}`)).body.data.map(({ path }: { path: string }) => path)
    assert.deepStrictEqual(await pathsOf("path=each%5B7%5D"), ["each[7].one"])
    assert.deepStrictEqual(await pathsOf("status=failed"), ["bad"])
    assert.deepStrictEqual(await pathsOf("path=eac"), [])
    const [wrong, foreign] = [
      await ask("GET", `/executions/${ran}/steps?cursor=!`),
      await ask("GET", `/executions/exec_00000000000000000000000000/steps`)
    ]
    assert.deepStrictEqual([wrong.status, wrong.body.code, foreign.status], [400, "INVALID_CURSOR", 404])
  })
})

describe("The diagram of an execution", () => {
  it("marks what completed, failed, was skipped, and what did not run", async () => {
    const id = await publish([
      get("find", "r6-find"),
      { name: "never", type: "action", when: { path: "input.no", op: "exists" } },
      code("bad", `{ throw new Error("no") }`),
      get("after", "r6-after")
    ])
    const ran = await failedRun(id, {})
    await publish([get("other", "r6-other")], id)
    const drawn = await ask("GET", `/executions/${ran}/diagram.svg`)
    assert.strictEqual(drawn.status, 200, drawn.text)
    const said = /<desc[^>]*>([^<]*)</.exec(drawn.text)?.[1] ?? ""
    for (const [name, mark] of [
      ["find", "completed"],
      ["never", "skipped"],
      ["bad", "failed"],
      ["after", "did not run"]
    ])
      assert.match(said, new RegExp(`${name}: [^,]*, ${mark}`))
    for (const [version, name] of [
      [1, "find"],
      [2, "other"]
    ]) {
      const one = await ask("GET", `/workflows/${id}/diagram.svg?version=${version}`)
      assert.include(one.text, `${name}: ${slug}.get`)
      assert.notInclude(one.text, "did not run")
    }
    assert.strictEqual((await ask("GET", `/workflows/${id}/diagram.svg?version=9`)).status, 404)
    const coded = await workflow(`await svc.state.get("r7"); await svc.connector.resumeCrm.get({ id: "r7" }); return 1`)
    const answer = await run(coded)
    const marked = await ask("GET", `/executions/${answer.headers["x-svc-execution-id"]}/diagram.svg`)
    assert.match(marked.text, /resumeCrm\.get[^<]*, completed/)
    // What code did beside calls of connectors is not known, and nothing is said of it.
    assert.notInclude(marked.text, "did not run")
  })

  it("of two versions is compared step by step", async () => {
    const id = await publish([get("a", "1"), get("b", "2"), get("c", "3")])
    await publish([get("a", "1"), get("b", "changed"), get("d", "4")], id)
    const { data } = (await ask("GET", `/workflows/${id}/versions/1/diff/2`)).body
    assert.deepStrictEqual(data.steps, { added: ["d"], removed: ["c"], changed: ["b"] })
    assert.isTrue(
      data.code.some(({ op, text }: { op: string; text: string }) => op === "added" && /changed/.test(text))
    )
  })
})
