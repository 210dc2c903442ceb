import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { eventually } from "../support/eventually.js"
import { worldOf } from "../support/World.js"

const world = worldOf({
  allow: true,
  answer: (request, response) => {
    if (request.url.startsWith("/slow")) return void setTimeout(() => response.end("late"), 20_000)
    if (request.url.startsWith("/once")) {
      const again = world.systems().requests.filter((other) => other.url === request.url).length > 1
      if (!again) return void response.destroy()
    }
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ url: request.url }))
  }
})

/** Copies of a published workflow, with two versions each. */
const copies = 150
const copyId = (n: number) => `wf_${n.toString(16).padStart(12, "0")}`
const copyWorkflow = `WITH model AS (SELECT * FROM workflows WHERE id = $1), many AS (
    INSERT INTO workflows (id, org, space, name, slug, form, tier, retry, status, content_hash, published_version, created_by)
    SELECT 'wf_' || lpad(to_hex(n), 12, '0'), org, space, 'copy' || n, 'copy' || n, form, tier, retry, status, content_hash, 2, created_by
    FROM model, generate_series(1, ${copies}) n RETURNING id)
  INSERT INTO workflow_versions (org, workflow_id, number, form, source, script, content_hash, bindings, published_by)
  SELECT v.org, m.id, g.n, v.form, v.source, v.script, v.content_hash, v.bindings, v.published_by
  FROM many m, workflow_versions v, generate_series(1, 2) AS g (n) WHERE v.workflow_id = $1 AND v.number = 1`

let names = 0
const name = (text: string) => `${text}_${(names += 1)}`

describe("A run", () => {
  beforeAll(() => world.start())
  afterAll(() => world.stop())

  const cancel = (id: string) => world.api().call("POST", `/api/v1/executions/${id}/cancel`)
  const started = async (workflow: string, input: object = {}) => {
    const answer = await world.api().run(workflow, input)
    assert.strictEqual(answer.status, 202)
    return String(answer.body.executionId)
  }

  it("is cancelled while it calls, while it waits, while it computes and while it queues", async () => {
    const { ended, execution, workflow } = world.api()
    const url = world.systems().url
    const calls = await workflow(
      name("calls"),
      "standard",
      `export default async () => { await fetch("${url}/slow"); return 1 }`
    )
    const waits = await workflow(
      name("waits"),
      "standard",
      "export default async () => { await new Promise((r) => setTimeout(r, 60000)); return 1 }"
    )
    const computes = await workflow(name("computes"), "standard", "export default async () => { for (;;) {} }")
    type Ready = (found: { readonly status: string; readonly waiting: unknown }) => boolean
    const cases: ReadonlyArray<readonly [string, Ready]> = [
      [calls, (found) => found.status === "running"],
      [waits, (found) => found.waiting !== null],
      [computes, (found) => found.status === "running"]
    ]
    for (const [flow, ready] of cases) {
      // One after the other: a run that computes ends by itself after two seconds.
      const id = await started(flow)
      await eventually(() => execution(id), ready)
      const answer = await cancel(id)
      assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
      assert.strictEqual(answer.body.data.status, "cancelled")
    }
    const queued = await Promise.all(Array.from({ length: 5 }, () => started(waits)))
    const outcomes = await Promise.all(queued.map(cancel))
    assert.deepStrictEqual(
      outcomes.map((answer) => answer.body.data?.status),
      queued.map(() => "cancelled")
    )
    const again = await cancel(queued[0] ?? "")
    assert.strictEqual(again.status, 409)
    assert.strictEqual(again.body.state, "cancelled")
    assert.strictEqual((await ended(queued[1] ?? "")).status, "cancelled")
  })

  it("ends at the ceiling of its tier", async () => {
    const { call, ended, execution, run, workflow } = world.api()
    const code =
      "export default async () => { await new Promise((r) => setTimeout(r, 600)); await new Promise((r) => setTimeout(r, 900)); await new Promise((r) => setTimeout(r, 900)) }"
    const instant = await workflow(name("instant"), "instant", code, { timeoutMs: 1_000 })
    const answer = await run(instant)
    assert.strictEqual(answer.status, 408)
    assert.strictEqual(answer.body.code, "TIMED_OUT")
    assert.strictEqual((await execution(answer.body.executionId)).status, "timed_out")
    const standard = await workflow(name("standard"), "standard", code, { timeoutMs: 1_000 })
    assert.strictEqual((await ended(await started(standard))).status, "timed_out")
    // The ceilings follow from the deadlines of the runs.
    const ceilings = { instant: 30, standard: 15 * 60, long: 36 * 3_600 }
    for (const tier of ["instant", "standard", "long"] as const) {
      const slow = await workflow(
        name(tier),
        tier,
        `export default async () => { await fetch("${world.systems().url}/slow") }`
      )
      const pending = run(slow)
      const listed = await eventually(
        async () => (await call("GET", `/api/v1/executions?workflow_id=${slow}&status=running`)).body.data[0],
        (found) => found !== undefined && found.startedAt !== null
      )
      const from = tier === "instant" ? listed.createdAt : listed.startedAt
      assert.approximately((Date.parse(listed.deadlineAt) - Date.parse(from)) / 1000, ceilings[tier], 0.5)
      await cancel(listed.id)
      await pending
    }
  })

  it("continues after a crash: no call is repeated, timers keep their time, each log line is recorded once", async () => {
    const { execution, workflow } = world.api()
    const url = world.systems().url
    const code = `export default async (ctx) => {
      const random = [Math.random(), crypto.randomUUID(), Date.now()]
      await (await fetch("${url}/first/" + ctx.input.n, { method: "POST" })).json()
      console.log("first done")
      await svc.state.increment("crash-" + ctx.input.n, 1)
      await new Promise((resolve) => setTimeout(resolve, 2500))
      console.log("woken")
      await (await fetch("${url}/second/" + ctx.input.n, { method: "POST" })).json()
      return { random, count: await svc.state.get("crash-" + ctx.input.n) }
    }`
    const id = await started(await workflow(name("crash"), "standard", code), { n: names })
    await eventually(
      () => execution(id),
      (found) => found.waiting?.kind === "wait"
    )
    await world.crash()
    const done = await world.api().ended(id)
    assert.strictEqual(done.status, "completed", JSON.stringify(done.error))
    assert.strictEqual(done.output.count, 1)
    const asked = world
      .systems()
      .requests.filter((request) => request.url.endsWith(`/${done.input.n}`))
      .map((request) => request.url)
    assert.deepStrictEqual(asked, [`/first/${done.input.n}`, `/second/${done.input.n}`])
    const logs = await world.api().call("GET", `/api/v1/executions/${id}/logs`)
    assert.deepStrictEqual(
      logs.body.data.map((line: { message: string }) => line.message),
      ["first done", "woken"]
    )
    assert.isAbove(done.durationMs, 2_400)
  })

  it("uses all versions of a release or none: one that is killed in the middle of a deployment deploys nothing", async () => {
    const { call, workflow } = world.api()
    const model = await workflow(name("model"), "instant", "export default async () => 1")
    const slug = "killed"
    await call("POST", "/api/v1/environments", { name: slug, slug })
    const sql = await connectEmbedded(world.dataDir)
    await sql.query(copyWorkflow.replaceAll("$1", `'${model}'`))
    const pins = (version: number) => Array.from({ length: copies }, (_, n) => ({ workflowId: copyId(n + 1), version }))
    const first = await call("POST", "/api/v1/releases", { workflows: pins(1), environment: slug })
    assert.strictEqual(first.status, 201, JSON.stringify(first.body))
    const second = await call("POST", "/api/v1/releases", { workflows: pins(2) })
    const deploy = () =>
      world.api().call("POST", `/api/v1/releases/${second.body.data.id}/deploy`, { environment: slug })
    // The deployments are written, and the release waits for its row.
    await sql.query("BEGIN; LOCK TABLE environment_releases IN SHARE MODE")
    const answer = deploy().catch(() => "no answer")
    await eventually(
      async () =>
        (await sql.query("SELECT FROM pg_locks WHERE NOT granted AND relation = 'environment_releases'::regclass"))
          .rowCount,
      (waiting) => waiting === 1
    )
    process.kill(world.pid(), "SIGKILL")
    assert.strictEqual(await answer, "no answer")
    await sql.end()
    await world.crash()
    const deployed = async () => {
      const client = await connectEmbedded(world.dataDir)
      const { rows } = await client.query(
        "SELECT number, count(*)::int AS n FROM deployments WHERE environment = $1 GROUP BY 1",
        [slug]
      )
      await client.end()
      return rows
    }
    const statusOf = async (id: string) => (await world.api().call("GET", `/api/v1/releases/${id}`)).body.data.status
    assert.deepStrictEqual(await deployed(), [{ number: 1, n: copies }])
    assert.deepStrictEqual(
      [await statusOf(first.body.data.id), await statusOf(second.body.data.id)],
      ["deployed", "created"]
    )
    assert.strictEqual((await deploy()).status, 200)
    assert.deepStrictEqual(await deployed(), [{ number: 2, n: copies }])
    assert.deepStrictEqual(
      [await statusOf(first.body.data.id), await statusOf(second.body.data.id)],
      ["superseded", "deployed"]
    )
  })

  it("is retried only if its policy says so, only after transient failures, and keeps its successful steps", async () => {
    const { ended, workflow } = world.api()
    const url = world.systems().url
    const code = (last: string) => `export default async (ctx) => {
      const kept = await (await fetch("${url}/kept/" + ctx.input.n, { method: "POST" })).json()
      await fetch("${url}${last}/" + ctx.input.n, { method: "POST" })
      return kept
    }`
    const retry = { retry: { enabled: true, initialMs: 50, maxAttempts: 3 } }
    const off = await ended(await started(await workflow(name("off"), "standard", code("/once")), { n: (names += 1) }))
    assert.deepStrictEqual([off.status, off.attempt, off.error.category], ["failed", 1, "transient"])
    const on = await ended(
      await started(await workflow(name("on"), "standard", code("/once"), retry), { n: (names += 1) })
    )
    assert.deepStrictEqual([on.status, on.attempt], ["completed", 2], JSON.stringify(on.error))
    assert.lengthOf(
      world.systems().requests.filter((request) => request.url === `/kept/${on.input.n}`),
      1
    )
    const thrown = await workflow(
      name("thrown"),
      "standard",
      "export default async () => { throw new Error('mine') }",
      retry
    )
    const failed = await ended(await started(thrown))
    assert.deepStrictEqual([failed.status, failed.attempt, failed.error.category], ["failed", 1, "code"])
  })

  it("that is repeated starts again or continues after its successful steps", async () => {
    const { call, ended, workflow } = world.api()
    const url = world.systems().url
    const id = await started(
      await workflow(
        name("rerun"),
        "standard",
        `export default async (ctx) => {
      await fetch("${url}/kept/" + ctx.input.n, { method: "POST" })
      await fetch("${url}/once/" + ctx.input.n, { method: "POST" })
      return "through"
    }`
      ),
      { n: (names += 1) }
    )
    const n = names
    assert.strictEqual((await ended(id)).status, "failed")
    const resumed = await call("POST", `/api/v1/executions/${id}/rerun`, { mode: "resume" })
    assert.strictEqual(resumed.status, 202, JSON.stringify(resumed.body))
    const done = await ended(resumed.body.data.id)
    assert.deepStrictEqual(
      [done.status, done.output, done.parentId],
      ["completed", "through", id],
      JSON.stringify(done.error)
    )
    assert.lengthOf(
      world.systems().requests.filter((request) => request.url === `/kept/${n}`),
      1
    )
    const fresh = await call("POST", `/api/v1/executions/${id}/rerun`, { mode: "fresh" })
    assert.strictEqual((await ended(fresh.body.data.id)).status, "completed")
    assert.lengthOf(
      world.systems().requests.filter((request) => request.url === `/kept/${n}`),
      2
    )
    const refused = await call("POST", `/api/v1/executions/${id}/rerun`, { mode: "resume", input: {} })
    assert.strictEqual(refused.status, 422)
  })

  it("with an Idempotency-Key happens once, and every repetition gets its answer", async () => {
    const { run, workflow } = world.api()
    const counted = await workflow(
      name("once"),
      "instant",
      "export default async (ctx) => svc.state.increment('once-' + ctx.input.n, 1)"
    )
    const key = { "idempotency-key": `k-${(names += 1)}` }
    const answers = await Promise.all(Array.from({ length: 12 }, () => run(counted, { n: names }, key)))
    assert.isTrue(answers.every((answer) => answer.status === 200 || answer.body.code === "IDEMPOTENCY_IN_PROGRESS"))
    const after = await run(counted, { n: names }, key)
    assert.deepStrictEqual([after.status, after.body, after.headers.get("idempotent-replayed")], [200, 1, "true"])
    const other = await run(counted, { n: 0 }, key)
    assert.deepStrictEqual([other.status, other.body.code], [422, "IDEMPOTENCY_KEY_REUSED"])
  })

  it("has a trace without credentials, and stores large values as blobs", async () => {
    const { call, execution, run, workflow } = world.api()
    const url = world.systems().url
    const big = await workflow(
      name("big"),
      "instant",
      `export default async () => {
      await fetch("${url}/auth", { method: "POST", headers: { authorization: "Bearer hush-hush-hush", cookie: "sid=also-hush" } })
      return "x".repeat(300000)
    }`
    )
    const answer = await run(big)
    assert.lengthOf(answer.body, 300_000)
    const found = await execution(answer.headers.get("x-svc-execution-id") ?? "")
    assert.notInclude(JSON.stringify(found), "hush")
    assert.deepStrictEqual(Object.keys(found.output), ["$blob", "bytes", "sha256"])
    const blob = await call("GET", `/api/v1/executions/${found.id}/blobs/${found.output.$blob}`)
    assert.strictEqual(blob.body, "x".repeat(300_000))
  })
})
