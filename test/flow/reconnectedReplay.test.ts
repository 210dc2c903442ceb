/** Dead letters of runs that a connection refused are replayed when the connection works again. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { connect, publishConnector, scripts, startSharedCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { eventually } from "../support/eventually.js"

beforeAll(async () => {
  await startSharedCalls()
  scripts.set("/crm/get/1", () => ({ body: { name: "Ada" } }))
  await publishConnector("crm")
})
afterAll(() => stopCalls())

const ask = async (method: string, path: string, body?: object) => {
  const answer = await svc.ask(method, `/api/v1${path}`, {
    key: svc.first.key,
    ...(body === undefined ? {} : { body })
  })
  assert.isBelow(answer.status, 300, answer.text)
  return answer.body.data
}

describe("a dead letter of a customer whose connection was inactive", () => {
  it("is replayed once the connection is active again, and not those of other causes", async () => {
    const { customerId } = svc.first
    const { id: connection } = await connect("crm", "k", customerId)
    const calls = await workflow(`return await svc.connector.crm.get({ id: "1" })`)
    const broken = await workflow(`throw new Error("of another cause")`)
    const { id, webhook } = await ask("POST", "/triggers", {
      type: "webhook",
      name: "calls",
      customerId,
      webhook: { auth: "public" },
      routes: [{ workflowId: calls }, { workflowId: broken }],
      autoReplay: { on: ["connection.reactivated"], maxReplays: 3 }
    })
    await ask("POST", `/connections/${connection}/disable`, {})
    await svc.ask("POST", new URL(webhook.url).pathname, { body: { n: 1 } })
    const letters = () => ask("GET", `/dlq?trigger_id=${id}`)
    const before = await eventually(letters, (found) => found.length === 2)
    assert.sameMembers(
      before.map(({ error }: { error: { category: string } }) => error.category),
      ["auth", "code"]
    )
    await ask("POST", `/connections/${connection}/enable`, {})
    const after = await eventually(letters, (found) =>
      found.some(({ status }: { status: string }) => status === "replayed")
    )
    assert.sameDeepMembers(
      after.map(
        ({
          context,
          replayCause,
          status
        }: {
          context: { workflowId: string }
          replayCause: unknown
          status: string
        }) => [context.workflowId, status, replayCause]
      ),
      [
        [calls, "replayed", "connection.reactivated"],
        [broken, "pending", null]
      ]
    )
    const [run] = await eventually(
      () => ask("GET", `/executions?workflow_id=${calls}&status=completed`),
      (found) => found.length === 1
    )
    assert.deepStrictEqual((await ask("GET", `/executions/${run.id}`)).output, { name: "Ada" })
  })
})
