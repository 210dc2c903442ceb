/**
 * Events that may not run wait or become dead letters, and none is lost or runs twice, however often the process is killed.
 * `SVC_TEST_LONG=1` sends 20,000 events against a quota.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { eventually } from "../support/eventually.js"
import { counted, promised } from "../support/promises.js"
import { definition } from "../support/calls.js"
import { countRuns, drained, everyItem, makeWebhook, sendWebhook, type WebhookTrigger } from "../support/webhooks.js"
import { worldOf } from "../support/World.js"
import { isLong } from "../support/longForm.js"

const quota = isLong ? 1_000 : 100
const arrivals = isLong ? 20_000 : 300
const senders = 16
const patience = isLong ? 600_000 : 60_000

const world = worldOf({ allow: true })
beforeAll(() => world.start())
afterAll(() => world.stop())

const call = async (method: string, path: string, body?: unknown) => {
  const answer = await world.api().call(method, `/api/v1${path}`, body)
  assert.isBelow(answer.status, 300, `${method} ${path}: ${JSON.stringify(answer.body)}`)
  return answer.body?.data
}
const customer = async (name: string, settings: object): Promise<string> => {
  const { id } = await call("POST", "/customers", { name })
  await call("PUT", `/customers/${id}`, settings)
  return id
}

/** Sends an event until it is answered, and returns its id. */
const send = (
  path: string,
  body: object,
  headersOf: (raw: string) => Readonly<Record<string, string>> = () => ({})
) => {
  const raw = JSON.stringify(body)
  return eventually(
    async () => {
      try {
        const { body: answer, status } = await sendWebhook(world.api(), path, raw, headersOf(raw))
        return status === 202 || status === 200 ? String(answer.eventId ?? answer.eventIds?.[0]) : undefined
      } catch {
        return undefined
      }
    },
    (id) => id !== undefined,
    patience
  ).then(String)
}

const heldOf = async (query: string): Promise<ReadonlyArray<string>> =>
  (await everyItem(world.api(), `/api/v1/events?status=held&${query}`)).map(({ id }) => id).sort()

/** The ids among `events` that ran; fails if one ran twice. */
const ranOf = async (events: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const runs = await countRuns(world.api())
  const repeated = events.filter((id) => (runs.get(id) ?? 0) > 1)
  promised("an event ran twice", () => assert.deepStrictEqual(repeated, []))
  return events.filter((id) => runs.has(id)).sort()
}
/** Events that are held or wait, and runs that are open. */
const underWay = async (): Promise<number> => {
  const { held, waiting } = await call("GET", "/events/reconciliation")
  const open = [await call("GET", "/executions?status=pending"), await call("GET", "/executions?status=running")]
  return held + waiting + open.flat().length
}
const awaitRuns = (events: ReadonlyArray<string>, count: number) =>
  counted({
    what: "an event that may run is lost",
    ask: () => ranOf(events),
    found: (ran) => ran.length >= count,
    underWay,
    millis: patience
  })

const assertReconciled = async () => {
  const { accepted, dead, duplicate, executed, held, ignored, unaccounted } = await drained(world.api(), patience)
  promised("an accepted event is lost", () => {
    assert.deepStrictEqual(unaccounted, [])
    assert.strictEqual(accepted, executed + ignored + held + dead + duplicate)
  })
}

describe("Over kills of the process", () => {
  it(
    `exactly ${quota} of ${arrivals} events run on a quota of ${quota}; the others run, the oldest first, once it allows`,
    async () => {
      const customerId = await customer("limited", { limits: { events_per_day: quota } })
      const echo = await world.api().workflow("limited", "instant", "export default async (ctx) => ctx.input.n")
      const { id: trigger, path } = await makeWebhook(
        world.api(),
        [{ workflowId: echo }],
        { deduplicationKey: "n" },
        { customerId }
      )
      const ids: Array<string> = []
      let sent = 0
      const sender = async () => {
        while (sent < arrivals) {
          const n = sent++
          ids[n] = await send(path, { n })
        }
      }
      const sending = Promise.all(Array.from({ length: senders }, sender))
      for (const part of [0.2, 0.6]) {
        await eventually(
          async () => sent,
          (count) => count >= arrivals * part,
          patience
        )
        await world.crash()
      }
      await sending
      promised("two acknowledged events are one", () => assert.strictEqual(new Set(ids).size, arrivals))
      await drained(world.api(), patience)
      const waiting = await heldOf(`trigger_id=${trigger}`)
      const ran = await ranOf(ids)
      promised("an event is lost, or more ran than the quota allows", () =>
        assert.deepStrictEqual([ran.length, waiting.length], [quota, arrivals - quota])
      )

      await call("PUT", `/customers/${customerId}`, { limits: { events_per_day: quota * 2 } })
      await awaitRuns(waiting, 1)
      await world.crash()
      await awaitRuns(waiting, quota)
      await drained(world.api(), patience)
      const released = await ranOf(waiting)
      promised("the oldest events did not run first", () => assert.deepStrictEqual(released, waiting.slice(0, quota)))

      await call("PUT", `/customers/${customerId}`, { limits: {} })
      await awaitRuns(waiting, quota + 1)
      await world.crash()
      await awaitRuns(ids, arrivals)
      assert.deepStrictEqual(await heldOf(`trigger_id=${trigger}`), [])
      await assertReconciled()
    },
    6 * patience
  )

  it("events of suspended customers and inactive connections wait, those whose workflow is gone are dead letters", async () => {
    const count = 10
    const { connection, headersOf, hook } = await appConnection()
    const suspended = await customer("suspended", { status: "suspended" })
    const echo = await world.api().workflow("echo", "instant", "export default async (ctx) => ctx.input")
    const gone = await world.api().workflow("gone", "instant", "export default async (ctx) => ctx.input")
    const webhook = (workflowId: string): Promise<WebhookTrigger> =>
      makeWebhook(world.api(), [{ workflowId }], {}, { customerId: suspended })
    const waits = await webhook(echo)
    const dies = await webhook(gone)
    await call("POST", "/triggers", {
      type: "app_event",
      name: "messages",
      routes: [{ workflowId: echo }],
      appEvent: { connector: "chat", event: "message.created" }
    })
    await call("POST", `/connections/${connection}/disable`, {})

    const ids: { readonly [kind in "waiting" | "dying" | "inactive"]: Array<string> } = {
      waiting: [],
      dying: [],
      inactive: []
    }
    for (let n = 0; n < count; n++) {
      ids.waiting.push(await send(waits.path, { n }))
      ids.dying.push(await send(dies.path, { n }))
      ids.inactive.push(await send(hook, { type: "message", team: "T1", n }, headersOf))
      if (n === count / 2) await world.crash()
    }
    await call("POST", `/workflows/${gone}/archive`, {})
    const all = [...ids.waiting, ...ids.dying, ...ids.inactive]
    await world.crash()
    assert.includeMembers([...(await heldOf(""))], all)
    const early = await ranOf(all)
    promised("an event ran that may not run", () => assert.deepStrictEqual(early, []))

    await call("PUT", `/customers/${suspended}`, { status: "active" })
    await awaitRuns(ids.waiting, 1)
    await world.crash()
    await call("POST", `/connections/${connection}/enable`, {})
    await awaitRuns([...ids.waiting, ...ids.inactive], 2 * count)
    const letters = await counted({
      what: "a dead letter is lost or doubled",
      ask: () => everyItem(world.api(), `/api/v1/dlq?trigger_id=${dies.id}`),
      found: (found) => found.length === count,
      underWay
    })
    const ran = await ranOf(ids.dying)
    promised("a dead letter is lost, or its event ran", () => {
      assert.sameMembers(
        letters.map(({ eventId }) => eventId),
        ids.dying
      )
      assert.deepStrictEqual(ran, [])
    })
    await assertReconciled()
  })

  it("all that a disabled endpoint missed is sent to it at a rate", async () => {
    const missed = 10
    const customerId = await customer("installer", {})
    const endpoint = await call("POST", "/webhook-endpoints", {
      url: `${world.systems().url}/missed`,
      events: ["installation.created"]
    })
    await call("PUT", `/webhook-endpoints/${endpoint.id}`, { status: "disabled" })
    for (let n = 0; n < missed; n++) await call("POST", "/installations", { customerId, integration: `missed-${n}` })
    await eventually(
      () => call("GET", `/webhook-endpoints/${endpoint.id}/attempts?outcome=skipped`),
      (found) => found.length === missed
    )
    await call("PUT", `/webhook-endpoints/${endpoint.id}`, { status: "active" })
    const resent = await call("POST", `/webhook-endpoints/${endpoint.id}/resend`, {
      outcome: "skipped",
      ratePerSecond: 3
    })
    assert.strictEqual(resent.queued, missed)
    const sent = () =>
      new Set(
        world
          .systems()
          .requests.filter(({ url }) => url === "/missed")
          .map(({ body }) => body)
      )
    await eventually(
      async () => sent().size,
      (count) => count >= 2
    )
    await world.crash()
    await counted({
      what: "what an endpoint missed is lost",
      ask: async () => sent().size,
      found: (count) => count === missed,
      underWay: pendingDeliveries
    })
  })
})

const pendingDeliveries = async (): Promise<number> => {
  const database = await connectEmbedded(world.dataDir)
  const { rows } = await database.query("SELECT count(*)::int AS n FROM deliveries WHERE status = 'pending'")
  await database.end()
  return rows[0].n
}

/** A connection of an account at a provider whose app delivers to one address. */
const appConnection = async () => {
  const secret = "the secret of the app"
  const verify = {
    scheme: "hmac",
    secretName: "CHAT_SECRET",
    header: "x-chat-signature",
    payload: "{timestamp}.{body}",
    timestampHeader: "x-chat-time"
  }
  await call(
    "POST",
    "/connectors",
    definition("chat", "1.0.0", {
      connectionConfig: {
        type: "object",
        properties: { base: { type: "string" }, team: { type: "string" } },
        required: ["base"]
      },
      events: [{ id: "message.created", delivery: "webhook", key: "message" }],
      webhooks: [
        {
          id: "app",
          type: "app",
          eventKey: "$.type",
          account: { payload: "$.team", connection: "$.config.team" },
          verify
        }
      ]
    })
  )
  await call("POST", "/connectors/chat/publish", {})
  await call("POST", "/secrets", { name: "CHAT_SECRET", value: secret })
  const { webhookUrls } = await call("GET", "/connectors/chat")
  const { id } = await call("POST", "/connections", {
    connector: "chat",
    customerId: (await call("POST", "/customers", { name: "team" })).id,
    config: { base: world.systems().url, team: "T1" },
    credential: { apiKey: "k" }
  })
  const headersOf = (raw: string) => {
    const time = String(Math.floor(Date.now() / 1_000))
    return {
      "x-chat-time": time,
      "x-chat-signature": createHmac("sha256", secret).update(`${time}.${raw}`).digest("hex")
    }
  }
  return { connection: String(id), hook: new URL(webhookUrls.app).pathname, headersOf }
}
