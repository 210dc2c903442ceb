/**
 * A service over a NATS server in trouble: every acknowledged webhook runs once, the backlog drains, and `/readyz` says how
 * the broker does. `SVC_TEST_LONG=1` kills the server 14 times and leaves it away for a minute.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { api, type Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { announce } from "../support/LogExpectations.js"
import { type NatsServer, startNats } from "../support/natsServer.js"
import { proofs } from "../support/proofs.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"
import {
  assertOneRun,
  countRuns,
  drained,
  everyItem,
  makeWebhook,
  sendWebhook,
  type WebhookTrigger
} from "../support/webhooks.js"
import { isLong } from "../support/longForm.js"

const kills = isLong ? 14 : 4
const awayMillis = isLong ? 60_000 : 10_000

announce(/event_stream\.(away|repaired)/)

const place = makeDataDirectory()
const scope = Effect.runSync(Scope.make())
let nats: NatsServer
let service: Service
let client: Api
let triggers: ReadonlyArray<WebhookTrigger> = []

beforeAll(async () => {
  nats = await Effect.runPromise(Scope.extend(startNats(), scope))
  await prepareData(place.dataDir)
  service = startService({ dataDir: place.dataDir, env: { SVC_NATS_URL: nats.url } })
  await service.ready
  client = api(place.dataDir)
  const echo = await client.workflow("echo", "instant", "export default async (ctx) => ctx.input.n")
  triggers = [
    await makeWebhook(client, [{ workflowId: echo }]),
    await makeWebhook(client, [{ workflowId: echo }], { executionMode: "sequential", partitionKey: "lane" })
  ]
})
afterAll(async () => {
  await proofs(service)
  await Effect.runPromise(Scope.close(scope, Exit.void))
  place.remove()
})

const pause = (millis: number) => new Promise<void>((done) => setTimeout(done, millis))

const readiness = async () => {
  const { body, status } = await client.call("GET", "/readyz")
  return { code: status, status: body.status, events: body.checks.events }
}
const awaitBroker = (isThere: boolean) => eventually(readiness, ({ events }) => events.ok === isThere)

/** Sends webhooks until the trouble is over. Returns the ids of the events. */
const sendDuring = async (trouble: () => Promise<void>): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  const trial = { isOver: false }
  let n = 0
  const sender = async (trigger: WebhookTrigger) => {
    while (!trial.isOver) {
      const sent = await sendWebhook(client, trigger.path, JSON.stringify({ n: (n += 1), lane: n % 5 }))
      assert.deepStrictEqual([sent.status, sent.body.status], [202, "accepted"], sent.text)
      ids.push(sent.body.eventId)
      await pause(5)
    }
  }
  const sending = Promise.all(triggers.map(sender))
  try {
    await trouble()
  } finally {
    trial.isOver = true
    await sending
  }
  return ids
}

const assertRanOnce = async (ids: ReadonlyArray<string>) => {
  const { dead, duplicate, held, ignored, unaccounted } = await drained(client)
  await assertOneRun(client, ids)
  assert.deepStrictEqual([dead, duplicate, held, ignored, unaccounted], [0, 0, 0, 0, []])
  const runs = await countRuns(client, "completed")
  const wrong = ids.filter((id) => runs.get(id) !== 1)
  if (wrong.length === 0) return
  const executions = (await everyItem(client, "/api/v1/executions")).filter(({ trigger }) =>
    wrong.includes(trigger?.eventId)
  )
  const found = executions.map(({ error, id, status }) => ({ id, status, error }))
  assert.fail(`these events did not complete once: ${JSON.stringify([wrong, found])}`)
}

describe("a webhook that was acknowledged, over a NATS server", () => {
  it(
    "that is killed again and again, every second time with its store, runs once",
    async () => {
      const ids = await sendDuring(async () => {
        for (let i = 0; i < kills; i++) {
          await pause(200 + ((i * 137) % 300))
          await Effect.runPromise(nats.kill)
          if (i % 2 === 1) await Effect.runPromise(nats.deleteStore)
          await awaitBroker(false)
          await Effect.runPromise(nats.start)
          await awaitBroker(true)
        }
      })
      await assertRanOnce(ids)
    },
    isLong ? 600_000 : 120_000
  )

  it(
    "that is away for long runs meanwhile, and the node says that it is degraded but ready",
    async () => {
      const ids = await sendDuring(async () => {
        await Effect.runPromise(nats.kill)
        const { code, events, status } = await awaitBroker(false)
        assert.deepStrictEqual([code, status, events.driver], [200, "degraded", "jetstream"])
        assert.isNotEmpty(events.detail)
        const before = (await client.call("GET", "/api/v1/events/reconciliation")).body.data.executed
        await pause(awayMillis)
        await eventually(
          async () => (await client.call("GET", "/api/v1/events/reconciliation")).body.data,
          ({ executed, waiting }) => executed > before + 50 && waiting < 50
        )
        await Effect.runPromise(nats.start)
        await awaitBroker(true)
      })
      await assertRanOnce(ids)
    },
    isLong ? 240_000 : 90_000
  )
})
