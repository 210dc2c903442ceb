/**
 * What was published keeps the order and the library of steps that it was published with; drafts are of the present generation,
 * and say what they would now do otherwise. `test/support/generations/1.json` was compiled by the release before generation 2,
 * `2.json` by the one before generation 3.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { contentText } from "../../src/domain/workflow/WorkflowChanges.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { done, releaseClient } from "../support/releaseClient.js"

let svc: Running
const { ask, made, unique } = releaseClient(() => svc)
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

/** `order`, then an approval, and `pay`, which reads `order`: of the first generation it did not wait for the approval. */
const first = JSON.parse(readFileSync("test/support/generations/1.json", "utf8"))
/** `many` runs if `n` is at least 16: of the second generation `0x10` was a number. */
const second = JSON.parse(readFileSync("test/support/generations/2.json", "utf8"))

const workflow = async (id: string) => done(await ask("GET", `/workflows/${id}`))
const codesOf = ({ warnings }: { readonly warnings: ReadonlyArray<{ readonly code: string }> }) =>
  warnings.map(({ code }) => code)

/** A workflow whose draft and version 1 were saved and published by an earlier release. */
const older = async ({ script, spec } = first): Promise<string> => {
  const { id } = await made("/workflows", { name: unique(), form: "steps", spec })
  await made(`/workflows/${id}/publish`, {})
  const contracts = { inputContract: null, outputContract: null }
  const content = contentText({ form: "steps", source: null, spec, script, ...contracts })
  const hash = createHash("sha256").update(content).digest("hex")
  const set = `SET script = $script$${script}$script$, content_hash = '${hash}'`
  await svc.sql(`UPDATE workflows ${set} WHERE id = '${id}'`)
  await svc.sql(`UPDATE workflow_versions ${set} WHERE workflow_id = '${id}'`)
  return id
}

/** The steps of a run that have completed while its approval is open; the run is cancelled then. */
const completedBeforeApproval = async (
  id: string,
  more: object = {},
  most?: string
): Promise<ReadonlyArray<string>> => {
  const answer = await ask("POST", `/workflows/${id}/execute`, { input: { total: 5 }, ...more })
  assert.strictEqual(answer.status, 202, answer.text)
  const run = answer.headers["x-svc-execution-id"]
  const steps = await eventually(
    async () => {
      const { steps, waiting } = done(await ask("GET", `/executions/${run}`))
      const completed = steps.flatMap((one: { readonly name: string; readonly status: string }) =>
        one.status === "completed" ? [one.name] : []
      )
      return waiting?.kind === "approval" && (most === undefined || completed.includes(most)) ? completed : undefined
    },
    (found) => found !== undefined
  )
  await ask("POST", `/executions/${run}/cancel`, {})
  return steps
}

describe("A version of an earlier generation", () => {
  it("keeps its order and its library; publishing its content again makes a version of the present one", async () => {
    const id = await older()
    assert.sameMembers([...(await completedBeforeApproval(id, {}, "pay"))], ["order", "pay"])
    const published = await made(`/workflows/${id}/publish`, {})
    assert.deepInclude(published, { version: 2, created: true })
    assert.deepStrictEqual(await completedBeforeApproval(id), ["order"])
    assert.deepInclude(await made(`/workflows/${id}/publish`, {}), { version: 2, created: false })
    await made(`/workflows/${id}/publish`, { version: 1 })
    assert.sameMembers([...(await completedBeforeApproval(id, {}, "pay"))], ["order", "pay"])
    const versions = done(await ask("GET", `/workflows/${id}/versions`))
    assert.deepStrictEqual(
      versions.map((one: { readonly version: number; readonly generation: number }) => [one.version, one.generation]),
      [
        [2, 3],
        [1, 1]
      ]
    )
  })

  it("is named by the warnings while it is in use, with both orders of its draft", async () => {
    const id = await older()
    const shown = await workflow(id)
    assert.deepStrictEqual(codesOf(shown).toSorted(), ["OLDER_GENERATION", "ORDER_CHANGED", "UNKNOWN_APPROVER"])
    const { message, steps } = shown.warnings.find(({ code }: { readonly code: string }) => code === "ORDER_CHANGED")
    assert.deepStrictEqual(steps, [{ name: "pay", before: ["order"], now: ["ask"] }])
    assert.include(message, '"pay" waited for "order" and waits for "ask"')
    assert.notStrictEqual(shown.draft.contentHash, shown.versions[0].contentHash)
    // A save that changes nothing says the same.
    const saved = done(await ask("PUT", `/workflows/${id}`, { spec: first.spec }))
    assert.sameMembers(codesOf(saved), codesOf(shown))
    await made(`/workflows/${id}/publish`, {})
    assert.deepStrictEqual(codesOf(await workflow(id)), ["UNKNOWN_APPROVER"])
  })

  it("gives its order to the present one by the spec with dependsOn written out", async () => {
    const id = await older()
    const file = await ask("GET", `/workflows/${id}/export?order=earlier`)
    const { generation, name: _, ...spec } = JSON.parse(file.text)
    assert.strictEqual(generation, 3)
    assert.deepStrictEqual(
      spec.steps.map(({ dependsOn, name }: { readonly name: string; readonly dependsOn: unknown }) => [
        name,
        dependsOn
      ]),
      [
        ["order", undefined],
        ["ask", ["order"]],
        ["pay", ["order"]]
      ]
    )
    done(await ask("PUT", `/workflows/${id}`, { spec }))
    assert.notInclude(codesOf(await workflow(id)), "ORDER_CHANGED")
    await made(`/workflows/${id}/publish`, {})
    assert.sameMembers([...(await completedBeforeApproval(id, {}, "pay"))], ["order", "pay"])
  })
})

describe("A version of the second generation", () => {
  it("compares as it did, says so without an order that has changed, and its draft as the present one does", async () => {
    const id = await older(second)
    const many = async (more: object = {}) =>
      (await ask("POST", `/workflows/${id}/execute`, { input: { n: "0x10" }, ...more })).body.many
    assert.deepStrictEqual([await many(), await many({ draft: true })], ["0x10", null])
    assert.deepStrictEqual(codesOf(await workflow(id)), ["OLDER_GENERATION"])
    const saved = done(await ask("PUT", `/workflows/${id}`, { spec: second.spec }))
    assert.deepStrictEqual(codesOf(saved), ["OLDER_GENERATION"])
    assert.deepInclude(await made(`/workflows/${id}/publish`, {}), { version: 2, created: true })
    assert.isNull(await many())
    assert.deepStrictEqual(codesOf(await workflow(id)), [])
  })
})

describe("A draft of an earlier generation", () => {
  it("runs as the present one does", async () => {
    assert.deepStrictEqual(await completedBeforeApproval(await older(), { draft: true }), ["order"])
  })
})

describe("A file of a flow", () => {
  const imported = async (source: object) =>
    await made("/workflows", { name: unique(), import: { format: "flow.json", source: JSON.stringify(source) } })

  it("that names no generation is imported with the warning of its earlier order, until it is published", async () => {
    const { id, warnings } = await imported(first.spec)
    assert.include(codesOf({ warnings }), "ORDER_CHANGED")
    const again = done(await ask("PUT", `/workflows/${id}`, { spec: first.spec }))
    assert.include(codesOf(again), "ORDER_CHANGED")
    await made(`/workflows/${id}/publish`, {})
    assert.notInclude(codesOf(await workflow(id)), "ORDER_CHANGED")
  })

  it("that was written by this generation, or whose steps have one order in both, is imported without", async () => {
    assert.notInclude(codesOf(await imported({ ...first.spec, generation: 2 })), "ORDER_CHANGED")
    const [order, ask_] = first.spec.steps
    assert.notInclude(codesOf(await imported({ steps: [order, ask_] })), "ORDER_CHANGED")
    const steps = first.spec.steps.map((one: object) => `.step(${JSON.stringify(one)})`).join("")
    const module = (generation: string) => ({
      format: "flow.js",
      source: `export default flow("f")${generation}${steps}`
    })
    const fromModule = (generation: string) => made("/workflows", { name: unique(), import: module(generation) })
    assert.include(codesOf(await fromModule("")), "ORDER_CHANGED")
    assert.notInclude(codesOf(await fromModule(".generation(3)")), "ORDER_CHANGED")
    const refused = await ask("POST", "/workflows", {
      name: unique(),
      import: { format: "flow.json", source: JSON.stringify({ ...first.spec, generation: 4 }) }
    })
    assert.deepInclude(refused.body.details[0], { path: "import.source.generation" })
  })

  it("says its generation", async () => {
    const { id } = await made("/workflows", { name: unique(), form: "steps", spec: first.spec })
    assert.strictEqual(JSON.parse((await ask("GET", `/workflows/${id}/export`)).text).generation, 3)
    assert.match((await ask("GET", `/workflows/${id}/export?format=flow.js`)).text, /generation: 3/)
    const id1 = await older()
    assert.isUndefined(JSON.parse((await ask("GET", `/workflows/${id1}/export?version=1`)).text).generation)
    const code = (await ask("GET", `/workflows/${id1}/export?version=1&format=code`)).text
    assert.include(code, 'flow.code("pay", { after: ["order"]')
  })
})
