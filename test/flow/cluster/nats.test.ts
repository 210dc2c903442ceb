/** Nodes that share a NATS server: any of them takes any event, once, and none waits for another node. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { announce } from "../../support/LogExpectations.js"
import { announceEndedSessions, type ClusterNode, makeCluster, type TestCluster } from "../../support/cluster.js"
import { type NatsServer, startNats } from "../../support/natsServer.js"
import { sendEvents, waitsOf } from "../../support/eventWaits.js"
import { makeWebhook, type WebhookTrigger } from "../../support/webhooks.js"

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
})
afterAll(async () => {
  await cluster.end()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

describe("events over a NATS server that several nodes share", () => {
  it("start once, whichever node the broker gives them", async () => {
    assert.lengthOf(await waitsOf(front.client, await sendEvents(front.client, hook.path, 100)), 100)
  })

  it("start once also while a node hangs", async () => {
    announce(/"cluster\.seat_lost"|"event_stream\.(?:away|repaired)"/)
    announceEndedSessions()
    const [, , hung] = runners
    const before = sendEvents(front.client, hook.path, 50)
    await new Promise((done) => setTimeout(done, 200))
    hung?.kill("SIGSTOP")
    const ids = [...(await before), ...(await sendEvents(front.client, hook.path, 50))]
    // Its shards are taken, and what it had in hand is leased by others.
    await cluster.whole(2)
    const started = await waitsOf(front.client, ids)
    hung?.kill("SIGCONT")
    await cluster.whole(3)
    assert.lengthOf(started, 100)
  })
})
