/** Drafts are edited without loss: nobody's change is overwritten unseen, what was overwritten comes back, mistakes are kept. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import {
  askWorkflows,
  connect,
  doneWorkflows,
  getStep,
  publishConnector,
  publishSaved,
  saveSteps,
  startSharedCalls,
  stopCalls,
  svc
} from "../support/calls.js"
import { eventually } from "../support/eventually.js"
import { makeKey } from "../support/keys.js"

const slug = "drafting-crm"
const get = getStep(slug)
let other = ""

const flowOf = (...ids: ReadonlyArray<string>) => ({ spec: { steps: ids.map((id, at) => get(`step${at}`, id)) } })
interface Saved {
  readonly draft: { readonly spec: { readonly steps: ReadonlyArray<{ readonly input: { readonly id: string } }> } }
}
const idsOf = ({ draft }: Saved) => draft.spec.steps.map(({ input }) => input.id)
const draftsOf = async (id: string) => doneWorkflows("GET", `/${id}/drafts`)

beforeAll(async () => {
  await startSharedCalls()
  await publishConnector(slug)
  await connect(slug, "key-of-drafting")
  other = (await makeKey(svc, { name: "the other editor" })).key
})
afterAll(stopCalls)

describe("Two editors of a workflow", () => {
  it("do not overwrite each other unseen: the second gets 409, and what is overwritten then can be restored", async () => {
    const { id, version } = (await saveSteps(flowOf("mine").spec.steps)).body.data
    await doneWorkflows("PUT", `/${id}`, flowOf("theirs"), { "if-match": `"${version}"` }, other)
    const late = await askWorkflows("PUT", `/${id}`, flowOf("again mine"), { "if-match": `"${version}"` })
    assert.deepStrictEqual([late.status, late.body.code], [409, "VERSION_MISMATCH"])
    await doneWorkflows("PUT", `/${id}`, flowOf("again mine"))

    const drafts = await draftsOf(id)
    assert.deepStrictEqual(
      drafts.map(({ number }: { number: number }) => number),
      [version + 1, version]
    )
    assert.notStrictEqual(drafts[0].savedBy, drafts[1].savedBy)
    assert.strictEqual(drafts[0].savedBy, drafts[1].replacedBy)
    assert.notInclude(JSON.stringify(drafts), "theirs", "a list holds no content")

    const stale = await askWorkflows("POST", `/${id}/drafts/${version + 1}/restore`, { version })
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "VERSION_MISMATCH"])
    const restored = await doneWorkflows("POST", `/${id}/drafts/${version + 1}/restore`, { version: version + 2 })
    assert.deepStrictEqual(idsOf(restored), ["theirs"])
    // The restored state replaced one of the same author and minutes, which is kept nevertheless.
    assert.deepStrictEqual(idsOf(await doneWorkflows("POST", `/${id}/drafts/${version + 2}/restore`, {})), [
      "again mine"
    ])
  })

  it("keep one state of each author and five minutes, and the last fifty", async () => {
    const { id, version } = await doneWorkflows("POST", "", {
      name: "often",
      form: "code",
      code: "export default async () => 1"
    })
    const save = (n: number, key = svc.first.key) =>
      doneWorkflows("PUT", `/${id}`, { inputContract: { title: `${n}` } }, {}, key)
    for (const n of [1, 2, 3]) await save(n)
    const before = await draftsOf(id)
    // The minutes may have changed once meanwhile.
    assert.isAtMost(before.length, 1)
    await doneWorkflows("PUT", `/${id}`, { description: "no change of the draft" }, {}, other)
    assert.lengthOf(await draftsOf(id), before.length)
    for (let n = 4; n < 56; n++) await save(n, n % 2 === 0 ? other : undefined)
    const drafts = await draftsOf(id)
    assert.lengthOf(drafts, 50)
    assert.strictEqual(drafts[0].number, version + 55)
    const first = await askWorkflows("GET", `/${id}/drafts?page_size=30`)
    const { hasMore, nextCursor } = first.body.page
    assert.deepStrictEqual([first.body.data.length, hasMore], [30, true])
    const rest = await askWorkflows("GET", `/${id}/drafts?page_size=30&cursor=${nextCursor}`)
    assert.deepStrictEqual([...first.body.data, ...rest.body.data], drafts)
    assert.isFalse(rest.body.page.hasMore)
    for (const number of ["999", "0", "x", "-1"])
      assert.strictEqual((await askWorkflows("POST", `/${id}/drafts/${number}/restore`, {})).status, 404, number)
  })

  it("restore code with its contracts", async () => {
    const contract = { type: "object", required: ["name"] }
    const body = { name: "restored_code", form: "code", code: "export default async () => 1", inputContract: contract }
    const { id, version } = await doneWorkflows("POST", "", body)
    await doneWorkflows("PUT", `/${id}`, { code: "export default async () => 2", inputContract: null }, {}, other)
    const restored = await doneWorkflows("POST", `/${id}/drafts/${version}/restore`, {})
    assert.strictEqual(restored.draft.code, body.code)
    assert.deepStrictEqual(restored.inputContract, contract)
  })
})

describe("A draft with mistakes", () => {
  const broken = { steps: [get("a", "{{steps.absent.output}}"), { name: "b", type: "none" }], extra: 1 }

  it("is refused, or kept with its problems, which a correct save removes", async () => {
    const { id } = (await saveSteps(flowOf("x").spec.steps)).body.data
    const refused = await askWorkflows("PUT", `/${id}`, { spec: broken })
    assert.strictEqual(refused.status, 422)
    assert.deepStrictEqual(idsOf(await doneWorkflows("GET", `/${id}`)), ["x"])
    const kept = await doneWorkflows("PUT", `/${id}?incomplete=true`, { spec: broken })
    assert.deepStrictEqual(kept.problems, refused.body.details)
    const read = await doneWorkflows("GET", `/${id}?include=diagram`)
    assert.deepStrictEqual([read.draft.spec, read.problems], [broken, refused.body.details])
    const back = await doneWorkflows("PUT", `/${id}?incomplete=true`, {
      ...read,
      spec: broken,
      description: "as it was read"
    })
    assert.deepStrictEqual(back.problems, refused.body.details)
    assert.deepStrictEqual((await doneWorkflows("PUT", `/${id}`, flowOf("y"))).problems, [])
  })

  it("is not published or run, and a refused publish leaves draft, version and trigger as they are", async () => {
    const id = await publishSaved(await saveSteps(flowOf("published").spec.steps))
    const { body: made } = await svc.ask("POST", "/api/v1/triggers", {
      key: svc.first.key,
      body: { type: "webhook", name: "of drafting", routes: [{ workflowId: id }] }
    })
    const { problems } = await doneWorkflows("PUT", `/${id}?incomplete=true`, { spec: broken })
    const before = await doneWorkflows("GET", `/${id}`)
    for (const [target, body] of [
      ["publish", {}],
      ["execute", { draft: true, input: {} }],
      ["run", { draft: true }]
    ] as const) {
      const refused = await askWorkflows("POST", `/${id}/${target}`, body)
      assert.deepStrictEqual([refused.status, refused.body.code], [422, "VALIDATION_FAILED"], target)
      assert.deepStrictEqual(refused.body.details, problems)
    }
    assert.deepStrictEqual(await doneWorkflows("GET", `/${id}`), before)
    const trigger = await svc.ask("GET", `/api/v1/triggers/${made.data.id}`, { key: svc.first.key })
    assert.deepStrictEqual(trigger.body.data.routes, made.data.routes)
    assert.strictEqual(trigger.body.data.version, made.data.version)
    // The published version runs.
    assert.strictEqual(
      (await askWorkflows("POST", `/${id}/execute`, { input: {} }, { "x-org-id": svc.first.customerId })).status,
      200
    )
  })

  it("may be a new workflow, code, or have a schema that cannot be used; it is never too large", async () => {
    const made = await doneWorkflows("POST", "?incomplete=true", {
      name: "kept_new",
      form: "steps",
      spec: { steps: 1 }
    })
    assert.strictEqual(made.problems[0].path, "spec.steps")
    const schema = { ...flowOf("x").spec, requestSchema: { type: "nothing" } }
    const { inputContract, problems } = await doneWorkflows("PUT", `/${made.id}?incomplete=true`, { spec: schema })
    assert.deepStrictEqual([problems[0].path, inputContract], ["spec.requestSchema.type", null])
    const code = await doneWorkflows("POST", "?incomplete=true", {
      name: "kept_code",
      form: "code",
      code: "export default ("
    })
    assert.deepInclude(code.problems[0], { path: "code", code: "SYNTAX_ERROR", line: 1 })
    const many = Array.from({ length: 150 }, (_, at) => ({ name: `s${at}`, type: "x".repeat(100) }))
    assert.lengthOf(
      (await doneWorkflows("PUT", `/${made.id}?incomplete=true`, { spec: { steps: many } })).problems,
      100
    )
    const large = { steps: [{ name: "a", type: "action", input: { x: "x".repeat(600_000) } }] }
    assert.strictEqual((await askWorkflows("PUT", `/${made.id}?incomplete=true`, { spec: large })).status, 422)
    assert.strictEqual((await askWorkflows("PUT", `/${made.id}?incomplete=perhaps`, {})).status, 422)
  })

  it("is restored with the mistakes that it has by now", async () => {
    const { id, version } = (await saveSteps(flowOf("x").spec.steps)).body.data
    const { problems } = await doneWorkflows("PUT", `/${id}?incomplete=true`, { spec: broken }, {}, other)
    await doneWorkflows("PUT", `/${id}`, flowOf("y"))
    assert.strictEqual((await draftsOf(id))[0].problemCount, problems.length)
    assert.deepStrictEqual((await doneWorkflows("POST", `/${id}/drafts/${version + 1}/restore`, {})).problems, problems)
  })

  it("with code is a code write, in any form and when it is restored", async () => {
    const parent = await svc.organisation("Parent of drafting")
    const { key, organisationId } = await svc.organisation("Child of drafting")
    const steps = [{ name: "c", type: "action", config: { code: "export default async () => 1" } }]
    const made = await doneWorkflows("POST", "", { name: "gated", form: "steps", spec: { steps } }, {}, key)
    const second = await svc.ask("POST", "/api/v1/api-keys", {
      key,
      body: { name: "b", mode: "live", preset: "full_access" }
    })
    await doneWorkflows("PUT", `/${made.id}`, { spec: { steps: [] } }, {}, second.body.data.key)
    await svc.run(
      Effect.flatMap(
        WriterSql,
        (sql) =>
          sql`UPDATE organisations SET parent_id = ${parent.organisationId}, settings = '{"codeEditing":false}' WHERE id = ${organisationId}`
      )
    )
    for (const [method, target, body] of [
      ["POST", `/${made.id}/drafts/1/restore`, {}],
      ["PUT", `/${made.id}?incomplete=true`, { spec: { steps: [...steps, { name: 1 }] } }],
      ["POST", "?incomplete=true", { name: "gated_2", form: "code", code: "(" }]
    ] as const) {
      // A key's record may be cached for a second.
      const refused = await eventually(
        () => askWorkflows(method, target, body, {}, key),
        ({ status }) => status === 403
      )
      assert.strictEqual(refused.body.details[0].code, "CODE_EDITING_DISABLED", target)
    }
    assert.strictEqual(
      (await askWorkflows("PUT", `/${made.id}?incomplete=true`, { spec: { steps: 1 } }, {}, key)).status,
      200
    )
  })
})
