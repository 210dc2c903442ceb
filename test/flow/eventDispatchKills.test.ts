/**
 * The dispatch of events over kills -9: every lane of a sequential trigger keeps the order of arrival, and an event starts
 * all of its runs or none yet, whatever becomes of its other routes. `SVC_TEST_LONG=1` kills at more points, more often.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { api, type Answer, type Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { promised } from "../support/promises.js"
import { proofs } from "../support/proofs.js"
import { startProvider, type Provider } from "../support/provider.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"
import { countRuns, drained, everyItem, makeWebhook, type WebhookTrigger } from "../support/webhooks.js"
import { isLong } from "../support/longForm.js"

const lanePoints = isLong
  ? ["called:9", "terminal:6", "claimed:7", "beforeAppend:9", "committed:4", "appended:11", "beforeCall:8"]
  : ["called:9", "terminal:6"]
const routePoints = isLong
  ? [
      "parsed",
      "committed",
      "claimed",
      "beforeEffect",
      "beforeAppend",
      "appended",
      "beforeCall",
      "called",
      "terminal"
    ].flatMap((point) => [2, 5, 9].map((n) => `${point}:${n}`))
  : ["committed:3", "claimed:4", "beforeEffect:3", "beforeAppend:3", "appended:3"]

const place = makeDataDirectory()
let systems: Provider
let current: Service
let client: Api

const restart = async (kill?: string): Promise<void> => {
  await prepareData(place.dataDir)
  current = startService({
    dataDir: place.dataDir,
    env: { SVC_EGRESS_ALLOW: "127.0.0.1/32" },
    ...(kill === undefined ? {} : { kill })
  })
  await current.ready
  client = api(place.dataDir)
}

/** Restarts the service again and again, to be killed at each of the points, and at last to live. */
const killAtEach = async (points: ReadonlyArray<string>): Promise<void> => {
  current.kill("SIGKILL")
  await current.ended
  for (const point of points) {
    await restart(point)
    assert.isNull(await current.ended, `${point}: ${current.output()}`)
  }
  await restart()
}

/** Sends an event until it is acknowledged. Returns its id and status. */
const send = ({ accessKey, path }: WebhookTrigger, body: object, headers: Readonly<Record<string, string>> = {}) =>
  eventually(
    async () => {
      try {
        const more = { "x-svc-access-key": accessKey ?? "", ...headers }
        const { body: answer, status } = await client.call("POST", path, body, more)
        return status === 200 || status === 202 ? answer : undefined
      } catch {
        return undefined
      }
    },
    (answer) => answer !== undefined
  )

const event = async (id: string): Promise<Answer["body"]> =>
  (await client.call("GET", `/api/v1/events/${id}`)).body.data

beforeAll(async () => {
  systems = await startProvider()
  await restart()
})
afterAll(async () => {
  await proofs(current)
  await systems.close()
  place.remove()
})

describe("every lane of a sequential trigger", () => {
  const perLane = isLong ? 40 : 8
  const lanes = ["plain", "other", "dead", "held"]
  /** What the provider saw of a lane; a call in flight at a kill is made again under its key. */
  const seenOf = (lane: string) =>
    systems.requests
      .map(({ url }) => url.split("/").slice(1))
      .filter(([, of]) => of === lane)
      .map(([what, , n]) => `${what} ${n}`)
      .filter((one, at, all) => one !== all[at - 1])

  it(
    "keeps the order of arrival, each event once; a held head holds its lane only, a dead one frees it",
    async () => {
      const flow = await client.workflow(
        "in_order",
        "standard",
        `export default async ({ input: { fails, lane, n } }) => {
        await (await fetch("${systems.url}/begin/" + lane + "/" + n)).text()
        if (fails) throw new Error("no")
        await (await fetch("${systems.url}/end/" + lane + "/" + n)).text()
      }`
      )
      const customer = (await client.call("POST", "/api/v1/customers", { name: "Held" })).body.data.id
      const suspended = await client.call("PUT", `/api/v1/customers/${customer}`, { status: "suspended" })
      assert.strictEqual(suspended.status, 200)
      const trigger = await makeWebhook(client, [{ workflowId: flow }], {
        auth: "access_key",
        executionMode: "sequential",
        partitionKey: "lane",
        deduplicationKey: "id"
      })
      const ids = new Map<string, string>()
      const trouble = killAtEach(lanePoints)
      for (let n = 0; n < perLane; n++)
        for (const lane of lanes) {
          const id = `${lane} ${n}`
          // Only the head of its lane is for the suspended customer.
          const headers = lane === "held" && n === 0 ? { "x-end-org-id": customer } : {}
          const sent = await send(trigger, { id, lane, n, fails: lane === "dead" && n % 4 === 2 }, headers)
          ids.set(id, sent.eventId)
        }
      await trouble

      const heads = ["plain", "other", "dead"].map((lane) => ids.get(`${lane} ${perLane - 1}`) ?? "")
      for (const id of heads) {
        const { deliveries } = await eventually(
          () => event(id),
          ({ status }) => status === "delivered"
        )
        await client.ended(deliveries[0].executionId)
      }
      promised("the lane of a held head has begun", () => assert.deepStrictEqual(seenOf("held"), []))
      const held = await Promise.all(Array.from({ length: perLane }, (_, n) => event(ids.get(`held ${n}`) ?? "")))
      assert.deepStrictEqual(
        held.map(({ status }) => status),
        held.map((_, n) => (n === 0 ? "held" : "received"))
      )
      assert.strictEqual((await client.call("PUT", `/api/v1/customers/${customer}`, { status: "active" })).status, 200)
      const { dead, held: left, ignored, unaccounted } = await drained(client)
      const runs = await countRuns(client)
      const letters = await everyItem(client, "/api/v1/dlq")
      const wrong = [...ids].filter(([, id]) => runs.get(id) !== 1)
      promised("events have not one run", () => assert.deepStrictEqual(wrong, []))
      const begun = (lane: string) => seenOf(lane).filter((one) => one.startsWith("begin"))
      const inOrder = Array.from({ length: perLane }, (_, n) => `begin ${n}`)
      for (const lane of lanes)
        promised("a lane has lost, repeated or reordered an event", () =>
          assert.deepStrictEqual(begun(lane), inOrder, lane)
        )
      for (const lane of lanes)
        assert.deepStrictEqual(
          seenOf(lane),
          Array.from({ length: perLane }, (_, n) =>
            lane === "dead" && n % 4 === 2 ? [`begin ${n}`] : [`begin ${n}`, `end ${n}`]
          ).flat(),
          lane
        )
      assert.deepStrictEqual([dead, left, ignored, unaccounted], [0, 0, 0, []])
      const lettersOf = letters.map(({ eventId }) => eventId)
      const failing = [...ids].flatMap(([name, id]) =>
        /^dead \d+$/.test(name) && Number(name.slice(5)) % 4 === 2 ? [id] : []
      )
      promised("a dead letter is lost", () => assert.includeMembers(lettersOf, failing))
      assert.sameMembers(lettersOf, failing)
    },
    isLong ? 300_000 : 90_000
  )
})

describe("an event with several routes", () => {
  it(
    "starts all of its runs or none yet; a route without a workflow, or whose filter cannot compare, loses no other",
    async () => {
      const before = (await everyItem(client, "/api/v1/dlq")).length
      const calling = await client.workflow(
        "calling",
        "standard",
        `export default async (ctx) => { await (await fetch("${systems.url}/called/" + ctx.input.n)).text() }`
      )
      const computing = await client.workflow("computing", "instant", "export default async (ctx) => ctx.input.n")
      const gone = await client.workflow("gone", "instant", "export default async () => 1")
      const trigger = await makeWebhook(
        client,
        [
          { workflowId: calling },
          { workflowId: gone },
          { workflowId: computing, filter: { path: "total", op: "gt", value: 10 } },
          { workflowId: computing, filter: { path: "total.amount", op: "matches", value: "^[0-9]+$" } },
          { workflowId: computing }
        ],
        { auth: "access_key", deduplicationKey: "n" }
      )
      const [called, missing, , , computed] = trigger.routes.map(({ id }) => id)
      assert.strictEqual((await client.call("DELETE", `/api/v1/workflows/${gone}`)).status, 204)
      const totals = [{ amount: [] }, null, true, { amount: { of: 1 } }]

      const ids: Array<string> = []
      const trouble = { isOver: false }
      const kills = killAtEach(routePoints).finally(() => {
        trouble.isOver = true
      })
      let sent = 0
      const sender = async () => {
        while (!trouble.isOver) {
          const n = sent++
          ids[n] = (await send(trigger, { n, total: totals[n % totals.length] })).eventId
        }
      }
      await Promise.all([sender(), sender(), sender()])
      await kills
      const { dead, held, ignored, unaccounted } = await drained(client)
      const runs = await countRuns(client, "completed")
      const all = await countRuns(client)
      for (const id of ids) {
        const { deliveries, status } = await event(id)
        promised("an event has not started each of its runs once", () =>
          assert.deepStrictEqual(
            [status, deliveries.map((one: Answer["body"]) => [one.route, one.status]).toSorted(), all.get(id)],
            [
              "delivered",
              [
                [called, "started"],
                [computed, "started"],
                [missing, "failed"]
              ].toSorted(),
              2
            ],
            id
          )
        )
      }
      assert.deepStrictEqual([dead, held, ignored, unaccounted], [0, 0, 0, []])
      for (const id of ids) assert.strictEqual(runs.get(id), 2, id)
      const letters = await everyItem(client, "/api/v1/dlq")
      promised("a dead letter is lost or doubled", () => {
        assert.strictEqual(letters.length - before, ids.length)
        for (const id of ids)
          assert.lengthOf(
            letters.filter(({ eventId }) => eventId === id),
            1
          )
      })
      const calls = new Set(systems.requests.map(({ url }) => url).filter((url) => url.startsWith("/called/")))
      promised("a call is lost", () => assert.strictEqual(calls.size, ids.length))
      console.log(`${ids.length} events, ${routePoints.length} kills`)
    },
    isLong ? 300_000 : 90_000
  )
})
