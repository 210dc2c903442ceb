/** What a halted list of a flow leaves behind: its approvals are withdrawn, and its transactions rolled back. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execution, publishSaved, run, saveSteps, startSharedCalls, stopCalls, svc } from "../support/calls.js"
import { eventually } from "../support/eventually.js"

beforeAll(() => startSharedCalls())
afterAll(stopCalls)

const code = (name: string, body: string) => ({
  name,
  type: "action",
  dependsOn: [],
  config: { code: `export default async () => { ${body} }` }
})
const approval = (name: string) => ({
  name,
  type: "approval",
  config: { approvers: ["ada@example.com"], message: `${name}?` }
})

/** A gate that continues when its branch fails. */
const gateOf = (...steps: ReadonlyArray<object>) => ({
  name: "gate",
  type: "gate",
  onError: "continue",
  config: { branches: [{ name: "taken", when: { path: "input.none", op: "exists", value: false }, steps }] }
})

const approvalsOf = async (executionId: string): Promise<ReadonlyArray<{ id: string; name: string; status: string }>> =>
  (await svc.ask("GET", `/api/v1/approvals?execution_id=${executionId}`, { key: svc.first.key })).body.data

describe("A list that halts", () => {
  it("withdraws its approvals while the flow goes on, whose later one is decided", async () => {
    const fails = code("fails", "await new Promise((r) => setTimeout(r, 300)); throw new Error('no')")
    const later = { ...approval("later"), dependsOn: ["gate"] }
    const made = await saveSteps([gateOf({ ...approval("asked"), dependsOn: [] }, fails), later])
    await svc.ask("PUT", `/api/v1/workflows/${made.body.data.id}`, {
      key: svc.first.key,
      body: { name: made.body.data.name, form: "steps", spec: made.body.data.spec, tier: "long" }
    })
    const answer = await run(await publishSaved(made))
    const id = String(answer.headers["x-svc-execution-id"] ?? answer.body.data?.id ?? answer.body.executionId)
    const approvals = await eventually(
      () => approvalsOf(id),
      (found) => found.some(({ name }) => name === "later")
    )
    const statuses = Object.fromEntries(approvals.map(({ name, status }) => [name, status]))
    assert.deepStrictEqual(statuses, { asked: "closed", later: "open" })
    const open = approvals.find(({ name }) => name === "later")
    await svc.ask("POST", `/api/v1/executions/${id}/approvals/${open?.id}`, {
      key: svc.first.key,
      body: { decision: "approve", actor: "ada@example.com" }
    })
    const ended = await eventually(
      () => execution(id),
      ({ status }) => status === "failed"
    )
    assert.strictEqual(ended.statusReason, "continued_after_error")
    const asked = ended.steps.find((step: { readonly path?: string }) => step.path === "asked")
    assert.deepInclude(asked, { status: "failed", parent: "gate" })
    assert.strictEqual(asked.error.code, "ABORTED")
  })

  it("rolls its transaction back, so that steps after it find no lock", async () => {
    const insert = 'await tx.query("INSERT INTO halted VALUES (1)")'
    const pause = "await new Promise((r) => setTimeout(r, 60000))"
    const id = await publishSaved(
      await saveSteps([
        code("table", 'await svc.db.query("CREATE TABLE halted (n integer PRIMARY KEY)")'),
        {
          ...gateOf(
            code("holds", `await svc.db.transaction(async (tx) => { ${insert}; ${pause} })`),
            code("fails", "await new Promise((r) => setTimeout(r, 500)); throw new Error('no')")
          ),
          dependsOn: ["table"]
        },
        { ...code("again", 'await svc.db.query("INSERT INTO halted VALUES (1)"); return "done"'), dependsOn: ["gate"] }
      ])
    )
    const answer = await run(id)
    const ended = await execution(answer.headers["x-svc-execution-id"])
    assert.deepInclude(ended, { status: "failed", statusReason: "continued_after_error", output: "done" })
  })
})
