/** Dead letters are replayed without a request once their cause is gone, at most `maxReplays` times, over kills. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { worldOf } from "../support/World.js"
import { scaled } from "../support/slowness.js"

const world = worldOf({ allow: true })
const call = (method: string, path: string, body?: unknown) => world.api().call(method, `/api/v1${path}`, body)
let named = 0

beforeAll(() => world.start())
afterAll(() => world.stop())

const broken = "export default async () => { throw new Error('not yet') }"
const works = "export default async (ctx) => ctx.input.token"

const publish = async (workflow: string, code: string) => {
  assert.strictEqual((await call("PUT", `/workflows/${workflow}`, { code })).status, 200)
  assert.strictEqual((await call("POST", `/workflows/${workflow}/publish`, {})).status, 200)
}

/** A workflow that fails, and a trigger of it. */
const scene = async (autoReplay: object | null) => {
  const workflow = await world.api().workflow(`failing_${(named += 1)}`, "instant", broken)
  const made = await call("POST", "/triggers", {
    type: "webhook",
    name: `trigger ${named}`,
    webhook: { auth: "public" },
    routes: [{ workflowId: workflow }],
    autoReplay
  })
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  const { id, webhook } = made.body.data
  const path = new URL(webhook.url).pathname
  const send = async (body: unknown): Promise<string> => {
    const sent = await fetch(`${world.api().dev.baseUrl}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body)
    })
    assert.strictEqual(sent.status, 202)
    return ((await sent.json()) as { eventId: string }).eventId
  }
  const letters = async () => (await call("GET", `/dlq?trigger_id=${id}&page_size=200`)).body.data
  const pending = async () => (await letters()).filter(({ status }: { status: string }) => status === "pending")
  return { id, workflow, send, letters, pending, view: made.body.data }
}

const outputsOf = async (workflow: string) => {
  const runs = (await call("GET", `/executions?workflow_id=${workflow}&status=completed&page_size=200`)).body.data
  return Promise.all(runs.map(async ({ id }: { id: string }) => (await world.api().execution(id)).output))
}

describe("a dead letter whose trigger replays on deploy", () => {
  it("is replayed once for each deployment, and not again after maxReplays", async () => {
    const { letters, pending, send, view, workflow } = await scene({ on: ["deploy"], maxReplays: 2 })
    assert.deepStrictEqual(view.autoReplay, { on: ["deploy"], maxReplays: 2 })
    await send({ token: "a" })
    await eventually(pending, (found) => found.length === 1)
    for (const retryCount of [1, 2]) {
      await publish(workflow, `${broken} // ${retryCount}`)
      const [again] = await eventually(pending, (found) => found.length === 1 && found[0].retryCount === retryCount)
      assert.isNull(again.replayCause)
    }
    // The cause is gone now, but the event had its replays.
    await publish(workflow, works)
    const fresh = await scene({ on: ["deploy"] })
    await fresh.send({ token: "b" })
    await eventually(fresh.pending, (found) => found.length === 1)
    await publish(fresh.workflow, works)
    await eventually(
      () => outputsOf(fresh.workflow),
      (found) => found.length === 1
    )
    const all = await letters()
    assert.deepStrictEqual(
      all.map(({ replayCause, retryCount, status }: { [name: string]: unknown }) => [retryCount, status, replayCause]),
      [
        [2, "pending", null],
        [1, "replayed", "deploy"],
        [0, "replayed", "deploy"]
      ]
    )
    assert.deepStrictEqual(await outputsOf(workflow), [])
    const replay = (await call("GET", `/dlq-replays/${all[2].replayId}`)).body.data
    assert.deepInclude(replay, { cause: "deploy", replayed: 1, failed: 0 })
    const events = (await call("GET", `/events?trigger_id=${view.id}`)).body.data
    assert.deepStrictEqual(
      events.map(({ priority, replayOf }: { [name: string]: unknown }) => [priority, replayOf === null]),
      [
        [2, false],
        [2, false],
        [2, true]
      ]
    )
  })

  it(
    "is replayed exactly once though the service is killed meanwhile",
    async () => {
      const { pending, send, workflow } = await scene({ on: ["deploy"] })
      const tokens = Array.from({ length: 40 }, (_, n) => `t${n}`)
      for (const token of tokens) await send({ token })
      await eventually(pending, (found) => found.length === tokens.length)
      await publish(workflow, works)
      await eventually(
        () => outputsOf(workflow),
        (found) => found.length > 0
      )
      await world.crash()
      const outputs = await eventually(
        () => outputsOf(workflow),
        (found) => found.length >= tokens.length,
        90_000
      )
      assert.sameMembers(outputs, tokens)
      assert.deepStrictEqual(await pending(), [])
    },
    scaled(180_000)
  )
})

describe("a dead letter of a trigger without a policy", () => {
  it("follows the configuration of its workflow, customer and organisation; a trigger can opt out", async () => {
    const set = (value: unknown) => call("PUT", "/config", { level: "saas", scopeId: null, key: "autoReplay", value })
    const refused = await set({ on: ["sunrise"] })
    assert.deepStrictEqual([refused.status, refused.body.details?.[0]?.path], [422, "value.on.0"])
    assert.strictEqual((await set({ on: ["deploy", "schedule"] })).status, 200)
    const [inherits, optsOut] = [await scene(null), await scene({ on: [] })]
    for (const { pending, send, workflow } of [inherits, optsOut]) {
      await send({ token: "c" })
      await eventually(pending, (found) => found.length === 1)
      await publish(workflow, works)
    }
    await eventually(
      () => outputsOf(inherits.workflow),
      (found) => found.length === 1
    )
    assert.lengthOf(await optsOut.pending(), 1)

    // The schedule looks at a letter fifteen minutes after its failure, and then ever more rarely.
    const scheduled = await scene(null)
    await scheduled.send({ token: "d" })
    const [letter] = await eventually(scheduled.pending, (found) => found.length === 1)
    const database = await connectEmbedded(world.dataDir)
    // Its time is changed below: by then the publication of its workflow must be no cause any more.
    await eventually(
      async () => (await database.query("SELECT count(*)::int AS n FROM domain_events")).rows[0]?.n,
      (waiting) => waiting === 0
    )
    const shift = (id: string) =>
      database.query(
        "UPDATE dead_letters SET replay_at = now(), created_at = created_at - interval '16 minutes' WHERE id = $1",
        [id]
      )
    await shift(letter.id)
    const [second] = await eventually(scheduled.pending, (found) => found.length === 1 && found[0].retryCount === 1)
    await shift(second.id)
    await eventually(
      async () =>
        (await database.query("SELECT replay_at > now() AS later FROM dead_letters WHERE id = $1", [second.id])).rows,
      ([row]) => row?.later === true
    )
    assert.lengthOf(await scheduled.pending(), 1)
    const told = (await scheduled.letters()).map(({ replayCause }: { replayCause: string }) => replayCause)
    assert.deepStrictEqual(told, [null, "schedule"])
    await database.end()
    assert.strictEqual((await set(null)).status, 200)
  })
})
