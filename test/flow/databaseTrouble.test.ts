/**
 * While Postgres restarts or ends its sessions, a webhook is acknowledged or refused with 503; what was acknowledged runs
 * once, and what was refused was not stored. `SVC_TEST_LONG=1` ends the sessions 50 times.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { eventually } from "../support/eventually.js"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { announce } from "../support/LogExpectations.js"
import { postgresPid } from "../support/Service.js"
import { promised } from "../support/promises.js"
import { countRuns, drained, makeWebhook, sendWebhook, type WebhookTrigger } from "../support/webhooks.js"
import { worldOf } from "../support/World.js"
import { isLong } from "../support/longForm.js"

const sessionEnds = isLong ? 50 : 10
const senders = 8
/** Words that only an error of the database, or of the way to it, contains. */
const internals =
  /select |insert |update |delete from|relation|postgres|\bpg\b|sql|ECONN|terminat|57P0|127\.0\.0\.1|svc_|stack/i

const world = worldOf({ allow: true })

interface Sender {
  readonly trigger: WebhookTrigger
  readonly runs: number
  readonly headersOf: (body: string) => Readonly<Record<string, string>>
}

const targets: Array<Sender> = []

/** Webhooks that need each read of the database which an arrival can need. */
const makeTargets = async () => {
  const client = world.api()
  const calling = await client.workflow(
    "calling",
    "standard",
    `export default async (ctx) => { await (await fetch("${world.systems().url}/" + ctx.input.n, { method: "POST" })).text(); return 1 }`
  )
  const computing = await client.workflow("computing", "instant", "export default async (ctx) => ctx.input.n")
  const secret = { name: "SIGNING", type: "text", value: "the secret of a sender" }
  assert.strictEqual((await client.call("POST", "/api/v1/secrets", secret)).status, 201)
  const none = () => ({})
  const keyed = await makeWebhook(client, [{ workflowId: computing }], { auth: "access_key" })
  targets.push(
    { trigger: await makeWebhook(client, [{ workflowId: calling }]), runs: 1, headersOf: none },
    {
      trigger: await makeWebhook(client, [{ workflowId: calling }, { workflowId: computing }]),
      runs: 2,
      headersOf: none
    },
    {
      trigger: await makeWebhook(client, [{ workflowId: computing }], { executionMode: "sequential" }),
      runs: 1,
      headersOf: none
    },
    {
      trigger: keyed,
      runs: 1,
      headersOf: () => ({ "x-svc-access-key": keyed.accessKey ?? "", "x-end-org-id": client.dev.customerId })
    },
    {
      trigger: await makeWebhook(client, [{ workflowId: computing }], {
        verify: { preset: "github", secretName: "SIGNING" }
      }),
      runs: 1,
      headersOf: (body) => ({
        "x-hub-signature-256": `sha256=${createHmac("sha256", secret.value).update(body).digest("hex")}`
      })
    }
  )
}

beforeAll(async () => {
  await world.start()
  await makeTargets()
})
afterAll(() => world.stop())

/** Over all trials: the same signature under another id is a duplicate. */
let n = 0

/** Sends events until `trouble` is over. Returns the acknowledged ids with the runs that each must have. */
const sendDuring = async (trouble: () => Promise<void>) => {
  const client = world.api()
  const acknowledged = new Map<string, number>()
  const wrong: Array<string> = []
  let refused = 0
  const trial = { isOver: false }
  const sender = async () => {
    while (!trial.isOver) {
      const target = targets[n % targets.length] ?? assert.fail("there are no targets")
      const body = JSON.stringify({ n: (n += 1) })
      const answer = await sendWebhook(client, target.trigger.path, body, target.headersOf(body))
      if (answer.status === 202 && answer.body.status === "accepted") acknowledged.set(answer.body.eventId, target.runs)
      else if (answer.status === 503 && Number(answer.headers.get("retry-after")) > 0) refused += 1
      else wrong.push(`${answer.status} without what it needs: ${answer.text}`)
      if (internals.test(answer.text)) wrong.push(`it tells internals: ${answer.text}`)
      if (answer.status === 503) await new Promise((done) => setTimeout(done, 50))
    }
  }
  /** Requests with a key, of which the typed API answers one and the thin route the other. */
  const caller = async () => {
    while (!trial.isOver) {
      for (const answer of [
        await client.call("GET", "/api/v1/events?page_size=1"),
        await client.call("GET", "/api/v1/events/reconciliation"),
        await client.call("GET", "/api/v1/dlq?page_size=1")
      ]) {
        if (answer.status !== 200 && (answer.status !== 503 || !(Number(answer.headers.get("retry-after")) > 0)))
          wrong.push(`${answer.status} ${JSON.stringify(answer.body)}`)
        if (answer.status !== 200 && internals.test(JSON.stringify(answer.body)))
          wrong.push(`it tells internals: ${JSON.stringify(answer.body)}`)
      }
      await new Promise((done) => setTimeout(done, 20))
    }
  }
  const sending = Promise.all([...Array.from({ length: senders }, sender), caller()])
  try {
    await trouble()
  } finally {
    trial.isOver = true
    await sending
  }
  assert.deepStrictEqual([...new Set(wrong)].slice(0, 5), [], `${wrong.length} wrong answers`)
  return { acknowledged, refused }
}

const assertRanOnce = async (acknowledged: ReadonlyMap<string, number>, before: number) => {
  const client = world.api()
  const reconciled = await drained(client)
  const { accepted, dead, duplicate, executed, held, ignored, unaccounted } = reconciled
  assert.deepStrictEqual([dead, duplicate, held, ignored, unaccounted], [0, 0, 0, 0, []], JSON.stringify(reconciled))
  assert.strictEqual(executed, accepted)
  promised("a refused event was stored, or an acknowledged one was not", () =>
    assert.strictEqual(accepted - before, acknowledged.size)
  )
  const runs = await countRuns(client)
  const wrong = [...acknowledged].flatMap(([id, wanted]) =>
    runs.get(id) === wanted ? [] : [[id, wanted, runs.get(id)]]
  )
  promised("events have too few or too many runs", () => assert.deepStrictEqual(wrong, []))
}

const acceptedSoFar = async () => (await world.api().call("GET", "/api/v1/events/reconciliation")).body.data.accepted

const awaitReady = () =>
  eventually(
    () => world.api().call("GET", "/readyz"),
    ({ body, status }) => status === 200 && body.status === "ready"
  )

/** The service tells of the trouble, but no request may end as one that nobody foresaw. */
const announceTrouble = () => announce(/^(?!.*"(?:request|webhook|events)\.(?:read_)?failed")/)

describe("a webhook", () => {
  it(
    "is acknowledged or refused with 503 while Postgres ends its sessions",
    async () => {
      announceTrouble()
      const before = await acceptedSoFar()
      const admin = await connectEmbedded(world.dataDir)
      const { acknowledged, refused } = await sendDuring(async () => {
        for (let i = 0; i < sessionEnds; i++) {
          await new Promise((done) => setTimeout(done, 100 + ((i * 37) % 200)))
          await admin.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
          )
        }
      })
      await admin.end()
      await awaitReady()
      await assertRanOnce(acknowledged, before)
      assert.isAbove(acknowledged.size, sessionEnds)
      console.log(`${acknowledged.size} acknowledged, ${refused} refused`)
    },
    isLong ? 300_000 : 90_000
  )

  it("is acknowledged or refused with 503 while Postgres is restarted three times", async () => {
    announceTrouble()
    const before = await acceptedSoFar()
    const { acknowledged, refused } = await sendDuring(async () => {
      for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
        await new Promise((done) => setTimeout(done, 300))
        const pid = postgresPid(world.dataDir)
        process.kill(pid, signal)
        await eventually(
          async () => {
            try {
              return postgresPid(world.dataDir) !== pid && (await world.api().call("GET", "/readyz")).status === 200
            } catch {
              return false
            }
          },
          (isBack) => isBack
        )
      }
    })
    await awaitReady()
    await assertRanOnce(acknowledged, before)
    assert.isAbove(acknowledged.size, 10)
    console.log(`${acknowledged.size} acknowledged, ${refused} refused`)
  })
})
