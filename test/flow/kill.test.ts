import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { api, type Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { promised } from "../support/promises.js"
import { proofs } from "../support/proofs.js"
import { startProvider, type Provider } from "../support/provider.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"
import { isLong } from "../support/longForm.js"

// `npm run test:kill` runs the long form.
/** At least; further ones are started until every kill has happened. */
const runs = isLong ? 10_000 : 250
const kills = isLong ? 50 : 8
const points = [
  "parsed",
  "committed",
  "claimed",
  "beforeCall",
  "called",
  "beforeAppend",
  "appended",
  "terminal"
] as const
const callers = 16
const workflowCalls = 3

const keyOf = (execution: string, call: number | string) =>
  createHash("sha256").update(`${execution}|${call}`).digest("hex")

/** The same three calls as steps: before and in a branch, and after a wait in a loop. */
const post = (name: string, last: string) => ({
  name,
  type: "action",
  input: { url: `{{input.url}}/{{input.n}}/${last}` },
  config: {
    code: `export default async ({ url }) => {
      const answer = await fetch(url, { method: "POST", body: "x" })
      return (await answer.json()).url
    }`
  }
})
const flow = {
  steps: [
    post("first", "0"),
    {
      name: "route",
      type: "gate",
      config: {
        branches: [{ name: "taken", when: { path: "input.n", op: "exists" }, steps: [post("second", "1")] }],
        else: { steps: [post("never", "9")] }
      }
    },
    { name: "pause", type: "wait", config: { durationMs: 20 } },
    { name: "each", type: "loop", config: { over: "{{input.list}}", steps: [post("third", "{{item}}")] } }
  ],
  response: {
    success: { body: "{{steps.first.output}} {{steps.second.output}} {{steps.each.output.results[0]}}" }
  }
}

/** Three calls, of which two wait for an approval, and a notification. */
const askingFlow = {
  steps: [
    post("first", "0"),
    { name: "tell", type: "notification", config: { channel: "in_app", body: "{{steps.first.output}}" } },
    { name: "sign", type: "approval", config: { approvers: ["ada@example.com"], message: "Go on with {{input.n}}?" } },
    post("second", "1"),
    post("third", "2")
  ],
  response: { success: { body: "{{steps.first.output}} {{steps.second.output}} {{steps.third.output}}" } }
}
/** Of so many runs one asks. */
const askingRuns = 10

describe("A run that was accepted", () => {
  const place = makeDataDirectory()
  const { dataDir } = place
  let systems: Provider
  let current: Service
  let client: Api
  let workflows: ReadonlyArray<string>

  const restart = async (kill: string | undefined): Promise<void> => {
    await prepareData(dataDir)
    current = startService({
      dataDir,
      env: { SVC_EGRESS_ALLOW: "127.0.0.1/32", SVC_RUNNERS: "2" },
      ...(kill === undefined ? {} : { kill })
    })
    await current.ready
    client = api(dataDir)
  }

  beforeAll(async () => {
    systems = await startProvider()
    await restart(undefined)
    const code = await client.workflow(
      "three_calls",
      "standard",
      `export default async function (ctx) {
      const seen = []
      for (let i = 0; i < ${workflowCalls}; i++) {
        const answer = await fetch(ctx.input.url + "/" + ctx.input.n + "/" + i, { method: "POST", body: "x" })
        seen.push((await answer.json()).url)
      }
      return seen.join(" ")
    }`
    )
    workflows = [
      code,
      await client.workflow("three_steps", "standard", "", { form: "steps", code: undefined, spec: flow }),
      await client.workflow("three_asked", "long", "", { form: "steps", code: undefined, spec: askingFlow })
    ]
    current.kill("SIGTERM")
    await current.ended
  })

  afterAll(async () => {
    await proofs(current)
    await systems.close()
    place.remove()
  })

  const killAndRestart = async () => {
    current.kill("SIGKILL")
    await current.ended
    await restart(undefined)
  }

  let killed = 0

  /** Restarts the service whenever it has died, each time with the next kill point, and after the last one without. */
  const keepAlive = (stopped: () => boolean) => {
    let next = 0
    const go = async (): Promise<number> => {
      while (!stopped()) {
        // Late enough that other runs are in every state.
        const kill = next < kills ? `${points[next % points.length]}:${20 + next * 7}` : undefined
        next++
        await restart(kill)
        if (kill === undefined) return next - 1
        await current.ended
        killed++
      }
      return next
    }
    return go()
  }

  /** Approves whatever is asked, again if it is not known whether a decision was stored. */
  const approve = async (stopped: () => boolean) => {
    while (!stopped()) {
      const open = await client.call("GET", "/api/v1/approvals?status=open&page_size=200").catch(() => undefined)
      for (const { executionId, id } of open?.body?.data ?? []) {
        const body = { decision: "approve", actor: "ada@example.com" }
        await client.call("POST", `/api/v1/executions/${executionId}/approvals/${id}`, body).catch(() => undefined)
      }
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }

  /** Repeats the start of run `n` until it is acknowledged. Each start has the same key, so that it is the same run. */
  const start = (n: number) =>
    eventually(
      async () => {
        try {
          const input = { n, url: systems.url, list: [2] }
          const answer = await client.run(workflows[n % askingRuns === 0 ? 2 : n % 2] ?? "", input, {
            "idempotency-key": `run-${n}`
          })
          return answer.status === 202 ? String(answer.body.executionId) : undefined
        } catch {
          return undefined
        }
      },
      (id) => id !== undefined,
      120_000
    )

  it(
    "is never lost, repeats no completed call, and ends, however often the process is killed",
    async () => {
      let acknowledged = 0
      let stopped = false
      const alive = keepAlive(() => stopped)
      const approving = approve(() => stopped)
      const ids: Array<string> = []
      const isEnough = () => acknowledged >= runs && killed >= kills
      const caller = async () => {
        while (!isEnough()) {
          const n = acknowledged++
          const id = await start(n)
          if (id !== undefined) ids.push(id)
        }
      }
      await Promise.all(Array.from({ length: callers }, caller))
      promised("two acknowledged runs are one", () => assert.strictEqual(new Set(ids).size, acknowledged))
      let drained = 0
      while (drained < 200) {
        const found = await client.call("GET", "/api/v1/executions?status=running&page_size=1").catch(() => undefined)
        const waiting = await client.call("GET", "/api/v1/executions?status=pending&page_size=1").catch(() => undefined)
        if (found?.body?.data?.length === 0 && waiting?.body?.data?.length === 0) break
        drained++
        await new Promise((resolve) => setTimeout(resolve, 250))
      }

      const database = await connectEmbedded(dataDir)
      const { rows: ended } = await database.query<{ id: string; status: string; error: unknown; ok: boolean }>(
        `SELECT id, status, record->'error' AS error,
          output #>> '{}' = concat_ws(' ', '/' || (input->>'n') || '/0', '/' || (input->>'n') || '/1', '/' || (input->>'n') || '/2') AS ok
        FROM executions WHERE workflow_id = ANY($1)`,
        [workflows]
      )
      const { rows: open } = await database.query("SELECT id FROM runs UNION ALL SELECT id FROM start_queue")
      assert.lengthOf(open, 0)
      const byId = new Map(ended.map((row) => [row.id, row]))
      promised("an execution ended twice", () => assert.strictEqual(byId.size, ended.length))
      const lost = ids.filter((id) => !byId.has(id))
      promised("an acknowledged run is lost", () => assert.deepStrictEqual(lost, []))
      promised("a run started twice for one key", () => assert.strictEqual(ended.length, acknowledged))
      const wrong = ended.filter((row) => row.status !== "completed" || !row.ok)
      const untrue = wrong.filter((row) => row.status === "completed")
      promised("a completed run has not what its calls answered", () => assert.deepStrictEqual(untrue, []))
      assert.deepStrictEqual(wrong, [])

      const { rows: asked } = await database.query<{ asking: string; told: string; decided: string; audited: string }>(
        `SELECT (SELECT count(*) FROM executions WHERE workflow_id = $1) AS asking,
          (SELECT count(DISTINCT execution_id) FROM approvals WHERE status = 'approved') AS decided,
          (SELECT count(*) FROM notifications WHERE source->>'type' = 'execution') AS told,
          (SELECT count(*) FROM audit_entries WHERE action = 'approval.decide' AND outcome = 'success') AS audited`,
        [workflows[2]]
      )
      const count = String(Math.ceil(acknowledged / askingRuns))
      promised("an approval, a notification or an audit entry is lost or doubled", () =>
        assert.deepStrictEqual(asked, [{ asking: count, decided: count, told: count, audited: count }])
      )

      // A call is completed when its result is in the journal: it must not be sent after that commit.
      const { rows: journal } = await database.query<{ id: string; call: number; place: string | null; at: Date }>(
        "SELECT id, call, place, at FROM journal WHERE kind IN (1, 4, 5, 6)"
      )
      const committed = new Map(journal.map((row) => [keyOf(row.id, row.place ?? row.call), row.at.getTime()]))
      assert.isNotEmpty(
        systems.requests.filter(({ key = "" }) => committed.has(key)),
        "no key of a call is one of the journal"
      )
      const late = systems.requests.filter((request) => {
        const at = committed.get(request.key ?? "")
        // Both times are from the same clock.
        return at !== undefined && request.at > at + 5
      })
      promised("a completed call was made again", () => assert.deepStrictEqual(late, []))
      const times = new Map<string, number>()
      for (const { key = "" } of systems.requests) times.set(key, (times.get(key) ?? 0) + 1)
      promised("a call is lost, or went out under another key", () =>
        assert.strictEqual(times.size, acknowledged * workflowCalls)
      )
      const repeated = [...times.values()].filter((n) => n > 1).length
      console.log(
        `${acknowledged} runs, ${killed} kills: ${repeated} of ${times.size} calls were in flight at a kill and made again under their key`
      )
      await database.end()
      // The service after the last kill stays up for the proofs.
      stopped = true
      current.kill("SIGTERM")
      await Promise.race([alive, current.ended])
      await approving
      await restart(undefined)
    },
    isLong ? 3_600_000 : 300_000
  )

  it("keeps its open approval over a kill, and goes on by a decision after which the process is killed", async () => {
    const { body } = await client.run(workflows[2] ?? "", { n: 0, url: systems.url })
    const open = async () =>
      (await client.call("GET", `/api/v1/approvals?execution_id=${body.executionId}`)).body.data[0]
    const asked = await eventually(open, (one) => one !== undefined)
    await killAndRestart()
    const kept = await open()
    promised("an open approval is lost", () => assert.deepInclude(kept, { id: asked.id, status: "open" }))
    const path = `/api/v1/executions/${body.executionId}/approvals/${asked.id}`
    const decided = await client.call("POST", path, { decision: "reject", comment: "no", actor: "ada@example.com" })
    assert.strictEqual(decided.status, 200)
    await killAndRestart()
    const again = await client.call("POST", path, { decision: "approve", actor: "ada@example.com" })
    promised("a decision is lost", () => assert.notStrictEqual(again.status, 200))
    assert.strictEqual(again.status, 409)
    assert.deepInclude((await client.ended(body.executionId, 30_000)).error, { code: "APPROVAL_REJECTED" })
  })
})
