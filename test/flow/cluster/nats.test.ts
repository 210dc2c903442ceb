/** Nodes that share a NATS server: any of them takes any event, once, and none waits for another node. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { announce } from "../../support/LogExpectations.js"
import { announceEndedSessions, type ClusterNode, makeCluster, type TestCluster } from "../../support/cluster.js"
import { type NatsServer, startNats } from "../../support/natsServer.js"
import { assertOnceWithin } from "../../support/pace.js"
import {
  assertOneRun,
  countRuns,
  drained,
  everyItem,
  makeWebhook,
  sendWebhook,
  type WebhookTrigger
} from "../../support/webhooks.js"

const scope = Effect.runSync(Scope.make())
let nats: NatsServer
let cluster: TestCluster
let front: ClusterNode
let hook: WebhookTrigger
const runners: Array<ClusterNode> = []

beforeAll(async () => {
  nats = await Effect.runPromise(Scope.extend(startNats(), scope))
  cluster = await makeCluster({ SVC_NATS_URL: nats.url })
  front = await cluster.start({ env: { SVC_ROLE: "api" } })
  for (let n = 0; n < 3; n++) runners.push(await cluster.start({ env: { SVC_ROLE: "runner" } }))
  await cluster.whole(3)
  const echo = await front.client.workflow("echo", "instant", "export default async (ctx) => ctx.input.n")
  hook = await makeWebhook(front.client, [{ workflowId: echo }])
}, 120_000)
afterAll(async () => {
  await cluster.end()
  await Effect.runPromise(Scope.close(scope, Exit.void))
}, 120_000)

/** Sends webhooks one after the other, with pauses, so that none waits for those before. Returns the ids of their events. */
const send = async (count: number): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for (let n = 0; n < count; n++) {
    const sent = await sendWebhook(front.client, hook.path, `{"n":${n}}`)
    assert.strictEqual(sent.status, 202, sent.text)
    ids.push(sent.body.eventId)
    await new Promise((done) => setTimeout(done, 20))
  }
  return ids
}

/** The milliseconds from each event's receipt to the start of its run, in ascending order. */
const waits = async (ids: ReadonlyArray<string>): Promise<ReadonlyArray<number>> => {
  const { dead, duplicate, unaccounted } = await drained(front.client)
  await assertOneRun(front.client, ids)
  assert.deepStrictEqual([dead, duplicate, unaccounted], [0, 0, []])
  const runs = await countRuns(front.client, "completed")
  assert.deepStrictEqual(
    ids.filter((id) => runs.get(id) !== 1),
    []
  )
  const received = new Map<string, number>()
  for (const { id, receivedAt } of await everyItem(front.client, "/api/v1/events"))
    received.set(id, Date.parse(receivedAt))
  const all: Array<number> = []
  for (const { startedAt, trigger } of await everyItem(front.client, "/api/v1/executions"))
    if (ids.includes(trigger.eventId)) all.push(Date.parse(startedAt) - (received.get(trigger.eventId) ?? 0))
  return all.sort((a, b) => a - b)
}

describe("events over a NATS server that several nodes share", () => {
  it("start once, within a second, whichever node the broker gives them", async () => {
    await assertOnceWithin(1_000, "the last of 100 events waited", async () => {
      const took = await waits(await send(100))
      assert.lengthOf(took, 100)
      return took.at(-1) ?? Infinity
    })
  }, 120_000)

  it("do not wait for a node that hangs", async () => {
    announce(/"cluster\.seat_lost"|"event_stream\.(?:away|repaired)"/)
    announceEndedSessions()
    const [, , hung] = runners
    const before = send(50)
    await new Promise((done) => setTimeout(done, 200))
    hung?.kill("SIGSTOP")
    const ids = [...(await before), ...(await send(50))]
    // Its shards are taken, and what it had in hand is leased by others.
    await cluster.whole(2)
    const took = await waits(ids)
    hung?.kill("SIGCONT")
    await cluster.whole(3)
    assert.lengthOf(took, 100)
    const slow = took.filter((millis) => millis > 2_000)
    // What lay in the node when it hung, and what waited on its shards.
    assert.isBelow(slow.length, 75, `${slow.length} waited longer: ${slow.slice(-5).join()} ms`)
  }, 120_000)
})
