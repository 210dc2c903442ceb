/** Nodes that share a NATS server: events start within a second, and most do not wait for a node that hangs. */
import { afterAll, beforeAll, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { announceEndedSessions, type ClusterNode, makeCluster, type TestCluster } from "../../../support/cluster.js"
import { sendEvents, waitsOf } from "../../../support/eventWaits.js"
import { assertFigure } from "../../../support/figures.js"
import { announce } from "../../../support/LogExpectations.js"
import { startNats } from "../../../support/natsServer.js"
import { assertOnceWithin } from "../../../support/pace.js"
import { makeWebhook } from "../../../support/webhooks.js"

const scope = Effect.runSync(Scope.make())
let cluster: TestCluster
let front: ClusterNode
let path = ""
const runners: Array<ClusterNode> = []
beforeAll(async () => {
  const nats = await Effect.runPromise(Scope.extend(startNats(), scope))
  cluster = await makeCluster({ SVC_NATS_URL: nats.url })
  front = await cluster.start({ env: { SVC_ROLE: "api" } })
  for (let n = 0; n < 3; n++) runners.push(await cluster.start({ env: { SVC_ROLE: "runner" } }))
  await cluster.whole(3)
  const echo = await front.client.workflow("echo", "instant", "export default async (ctx) => ctx.input.n")
  path = (await makeWebhook(front.client, [{ workflowId: echo }])).path
}, 120_000)
afterAll(async () => {
  await cluster.end()
  await Effect.runPromise(Scope.close(scope, Exit.void))
}, 120_000)

const send = (count: number) => sendEvents(front.client, path, count)

it("the last of 100 events starts within a second", async () => {
  await assertOnceWithin(1_000, "", async () => (await waitsOf(front.client, await send(100))).at(-1) ?? Infinity)
}, 120_000)

it("most events do not wait for a node that hangs", async () => {
  announce(/"cluster\.seat_lost"|"event_stream\.(?:away|repaired)"/)
  announceEndedSessions()
  const [, , hung] = runners
  const before = send(50)
  await new Promise((done) => setTimeout(done, 200))
  hung?.kill("SIGSTOP")
  const ids = [...(await before), ...(await send(50))]
  await cluster.whole(2)
  const took = await waitsOf(front.client, ids)
  hung?.kill("SIGCONT")
  await cluster.whole(3)
  // What lay in the node when it hung, and what waited on its shards.
  const slow = took.filter((millis) => millis > 2_000).length
  assertFigure({ of: "of 100 that waited for more than two seconds", value: slow, bound: 75, unit: "times" })
}, 120_000)
