/** One `api` node and two `runner` nodes: requests go in at the one, and the others do the work. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { announce } from "../../support/LogExpectations.js"
import {
  announceEndedSessions,
  type ClusterNode,
  makeCluster,
  type TestCluster,
  withholdSeats
} from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { makeWebhook, sendWebhook } from "../../support/webhooks.js"

let cluster: TestCluster
let front: ClusterNode
const runners: Array<ClusterNode> = []

beforeAll(async () => {
  cluster = await makeCluster()
  front = await cluster.start({ env: { SVC_ROLE: "api" } })
})
afterAll(async () => {
  await cluster.end()
})

const echo = (name: string) => front.client.workflow(name, "instant", "export default async (ctx) => ctx.input.n")
const run = (workflow: string, n: number) =>
  front.client.call("POST", `/api/v1/workflows/${workflow}/execute`, { input: { n } })
/** A published workflow of steps. */
const saved = async (name: string, spec: object): Promise<string> => {
  const made = await front.client.call("POST", "/api/v1/workflows", { name, form: "steps", spec })
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  const { id } = made.body.data
  assert.strictEqual((await front.client.call("POST", `/api/v1/workflows/${id}/publish`, {})).status, 200)
  return id
}

describe("an api node", () => {
  it("accepts work while no node does it, and says of an Instant start that none is there", async () => {
    const workflow = await echo("first")
    const refused = await run(workflow, 1)
    assert.strictEqual(refused.status, 503, JSON.stringify(refused.body))
    assert.isAtMost(Number(refused.headers.get("retry-after")), 5)
    const later = await front.client.workflow("later", "standard", "export default async (ctx) => ctx.input.n + 1")
    const accepted = await run(later, 41)
    assert.strictEqual(accepted.status, 202, JSON.stringify(accepted.body))
    const hook = await makeWebhook(front.client, [{ workflowId: workflow }])
    const sent = await sendWebhook(front.client, hook.path, `{"n":7}`)
    assert.strictEqual(sent.status, 202, sent.text)

    runners.push(
      await cluster.start({ env: { SVC_ROLE: "runner" } }),
      await cluster.start({ env: { SVC_ROLE: "runner" } })
    )
    await cluster.whole(2)
    assert.strictEqual((await front.client.ended(accepted.body.executionId)).output, 42)
    await eventually(
      () => front.client.call("GET", "/api/v1/executions?status=completed"),
      ({ body }) => body.data.some((one: { trigger: { eventId: string } }) => one.trigger.eventId === sent.body.eventId)
    )
  })

  it("gives the result of an Instant run, of every runner, and its refusals", async () => {
    const workflow = await echo("second")
    const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => run(workflow, n)))
    for (const [n, answer] of answers.entries()) assert.deepStrictEqual([answer.status, answer.body], [200, n])
    const fails = await front.client.workflow(
      "fails",
      "instant",
      `export default async () => { throw new Error("no") }`
    )
    const failed = await run(fails, 1)
    assert.strictEqual(failed.status, 200, JSON.stringify(failed.body))
    const key = { "idempotency-key": "once" }
    const once = await front.client.call("POST", `/api/v1/workflows/${workflow}/execute`, { input: { n: 5 } }, key)
    const again = await front.client.call("POST", `/api/v1/workflows/${workflow}/execute`, { input: { n: 5 } }, key)
    assert.deepStrictEqual([once.body, again.body], [5, 5])
    assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
  })

  it("answers an Instant start that comes while it takes another seat", async () => {
    announce(/"(?:cluster\.|background_task\.failed|events\.|audit\.)/)
    const workflow = await echo("seatless")
    assert.strictEqual((await run(workflow, 1)).status, 200)
    const seats = await withholdSeats(cluster, "api")
    try {
      await eventually(
        () => front.client.call("GET", "/api/v1/workflows"),
        ({ status }) => status === 200
      )
      const asked = Promise.all([2, 3, 4].map((n) => run(workflow, n)))
      const first = await Promise.race([asked, new Promise((done) => setTimeout(done, 500, "waits"))])
      assert.strictEqual(first, "waits")
      await seats.release()
      for (const [at, { body, status }] of (await asked).entries())
        assert.deepStrictEqual([status, body], [200, at + 2])
    } finally {
      await seats.release()
    }
    await cluster.whole(2)
  })

  it("answers a webhook with the result of its run", async () => {
    const workflow = await echo("third")
    const hook = await makeWebhook(front.client, [{ workflowId: workflow }], { respond: "result" })
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => sendWebhook(front.client, hook.path, `{"n":${n}}`))
    )
    for (const [n, answer] of answers.entries()) assert.deepStrictEqual([answer.status, answer.body], [200, n])
  })

  it("answers a flow that is called by its name with the status that the flow says", async () => {
    const flow = (name: string, code: string) =>
      saved(name, {
        steps: [{ name: "compute", type: "action", config: { code } }],
        response: { success: { status: 201, body: { n: "{{input.n}}" } }, error: { status: 422, body: { of: "flow" } } }
      })
    await flow("says_created", "export default async () => 1")
    await flow("says_no", "export default async () => { throw new Error('no') }")
    const space = (await front.client.call("GET", "/api/v1/workspaces")).body.data[0].id
    const headers = { authorization: "", "x-svc-api-key": cluster.apiKey, "x-svc-space-id": space }
    const ask = (name: string) => front.client.call("POST", `/api/v1/${name}`, { input: { n: 1 } }, headers)
    for (let n = 0; n < 8; n++) {
      const [made, failed] = [await ask("says_created"), await ask("says_no")]
      assert.deepStrictEqual([made.status, made.body, failed.status, failed.body], [201, { n: 1 }, 422, { of: "flow" }])
    }
  })

  it("decides an approval of a run of another node, which goes on", async () => {
    const flow = await saved("asks", {
      steps: [{ name: "ask", type: "approval", config: { approvers: ["ada@example.com"], message: "Go on?" } }]
    })
    const { body } = await run(flow, 1)
    const path = `/api/v1/executions/${body.executionId}`
    const open = await eventually(
      () => front.client.call("GET", `/api/v1/approvals?execution_id=${body.executionId}`),
      (found) => found.body?.data?.length === 1
    )
    const decision = { decision: "approve", actor: "ada@example.com" }
    const answer = await front.client.call("POST", `${path}/approvals/${open.body.data[0].id}`, decision)
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    const ended = await front.client.ended(body.executionId)
    assert.deepInclude(ended, { status: "completed" })
    assert.strictEqual(ended.output.decision, "approve")
  })

  it("cancels a run of another node", async () => {
    const waits = await front.client.workflow(
      "waits",
      "standard",
      `export default async () => { await new Promise((done) => setTimeout(done, 3_600_000)) }`
    )
    const { body } = await run(waits, 1)
    await eventually(
      () => front.client.call("GET", `/api/v1/executions/${body.executionId}`),
      (found) => found.body.data.status === "running"
    )
    assert.strictEqual((await front.client.call("POST", `/api/v1/executions/${body.executionId}/cancel`)).status, 200)
  })
})

describe("a runner node", () => {
  it("answers probes, and says of requests where they belong", async () => {
    const [runner] = runners
    assert.strictEqual((await fetch(`${runner?.url}/readyz`)).status, 200)
    for (const path of ["/api/v1/workflows", "/docs"]) {
      const refused = await fetch(`${runner?.url}${path}`)
      assert.strictEqual(refused.status, 404)
      assert.include(await refused.text(), "role api")
    }
    const started = await fetch(`${runner?.url}/api/v1/workflows/wf_000000000000/execute`, {
      method: "POST",
      body: "{}"
    })
    assert.strictEqual(started.status, 404)
  })

  it("that is killed loses no caller: each run answers once, from the other node", async () => {
    announce(/"cluster\.node_gone"|RunnerUnavailable|socket/i)
    const workflow = await front.client.workflow(
      "slow",
      "instant",
      "export default async (ctx) => { await new Promise((done) => setTimeout(done, 1500)); return ctx.input.n }"
    )
    const asked = Promise.all(Array.from({ length: 40 }, (_, n) => run(workflow, n)))
    await new Promise((done) => setTimeout(done, 700))
    runners[1]?.kill("SIGKILL")
    const answers = await asked
    for (const [n, answer] of answers.entries()) assert.deepStrictEqual([answer.status, answer.body], [200, n])
    await cluster.whole(1)
  })

  it("that is frozen loses no caller either, and what it wakes with is refused", async () => {
    announce(/"cluster\.seat_lost"/, { required: true })
    announceEndedSessions()
    const frozen = await cluster.start({ env: { SVC_ROLE: "runner" } })
    await cluster.whole(2)
    const workflow = await front.client.workflow(
      "frozen",
      "instant",
      "export default async (ctx) => { await new Promise((done) => setTimeout(done, 1500)); return ctx.input.n }"
    )
    const asked = Promise.all(Array.from({ length: 40 }, (_, n) => run(workflow, n)))
    await new Promise((done) => setTimeout(done, 700))
    frozen.kill("SIGSTOP")
    const answers = await asked
    frozen.kill("SIGCONT")
    for (const [n, answer] of answers.entries()) assert.deepStrictEqual([answer.status, answer.body], [200, n])
    await cluster.whole(2)
    const { body } = await front.client.call("GET", `/api/v1/executions?workflow_id=${workflow}&page_size=200`)
    assert.lengthOf(body.data, 40)
    for (const { status } of body.data) assert.strictEqual(status, "completed")
  })
})

describe("an api node that is killed", () => {
  it("loses nothing that a runner has begun, and its successor shows it", async () => {
    const workflow = await front.client.workflow(
      "orphans",
      "instant",
      "export default async (ctx) => { await new Promise((done) => setTimeout(done, 1500)); return ctx.input.n }"
    )
    const asked = Array.from({ length: 20 }, (_, n) => run(workflow, n).catch(() => "gone"))
    await new Promise((done) => setTimeout(done, 700))
    front.kill("SIGKILL")
    assert.deepStrictEqual(new Set(await Promise.all(asked)), new Set(["gone"]))
    front = await cluster.start({ env: { SVC_ROLE: "api" } })
    await eventually(
      () => front.client.call("GET", `/api/v1/executions?workflow_id=${workflow}&status=completed`),
      ({ body }) => body.data.length === 20
    )
  })
})
