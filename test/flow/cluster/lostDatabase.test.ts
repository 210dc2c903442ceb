/**
 * Postgres restarts while a provider issues tokens: they are stored once it is back, by the process that has them or by its
 * next start, and the provider, which ends a grant whose spent token is used again, is asked once.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { type OwnPostgres, startOwnPostgres } from "../../support/chaos/OwnPostgres.js"
import { type ClusterNode, makeCluster, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { announce } from "../../support/LogExpectations.js"
import { makeDataDirectory, startService } from "../../support/Service.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../../support/oauthProvider.js"

let postgres: OwnPostgres
let cluster: TestCluster
let provider: OAuthProvider
let nodes: Array<ClusterNode> = []
let customer = ""

const lossOfPostgres =
  /"(?:cluster\.(?:seat_lost|node_gone)|background_task\.failed|audit\.seal_failed|request\.failed|connection\.\w+|event\w*\.\w+|database\.\w+|postgres\.awaited|stop\w*\.\w+)"/

beforeAll(async () => {
  provider = await startOAuthProvider()
  postgres = await startOwnPostgres()
  cluster = await makeCluster({}, postgres.database)
  nodes = [await cluster.start(), await cluster.start()]
  const client = (nodes[0] ?? assert.fail()).client
  customer = (await client.call("POST", "/api/v1/customers", { name: "Ada" })).body.data.id
  assert.strictEqual((await client.call("POST", "/api/v1/connectors", acme())).status, 201)
  assert.strictEqual((await client.call("POST", "/api/v1/connectors/acme/publish", {})).status, 200)
  await cluster.whole(2)
})
afterAll(async () => {
  await cluster.end()
  await postgres.close()
  await provider.close()
})

const call = (node: ClusterNode, id: string) =>
  node.client.call("GET", "/api/v1/proxy/me", undefined, { "x-end-org-id": customer, "x-svc-connections": id })

/** A connection whose token has ended, with the node that has asked for the next one, whose answer Postgres did not take. */
const loseAnswer = async () => {
  const before = provider.tokenRequests.length
  let release = () => undefined as void
  provider.behaviour.held = new Promise((resolve) => (release = resolve))
  const [node] = nodes
  const made = await node?.client.call("POST", "/api/v1/connections", {
    connector: "acme",
    customerId: customer,
    config: { base: provider.url },
    credential: { ...provider.issue(), expiresIn: 1 }
  })
  const id: string = made?.body.data.id
  const asked = nodes.map((one) => call(one, id).catch(() => undefined))
  await eventually(
    async () => provider.tokenRequests.length,
    (requests) => requests > before
  )
  await postgres.stop()
  release()
  provider.behaviour.held = undefined
  const holder = await eventually(
    async () => nodes.find(({ dataDir }) => fs.existsSync(path.join(dataDir, "unstored-tokens", `${id}.json`))),
    (found) => found !== undefined
  )
  return { id, asked, holder: holder ?? assert.fail(), requests: () => provider.tokenRequests.length - before }
}

const served = (node: ClusterNode, id: string) =>
  eventually(
    () => call(node, id),
    ({ status }) => status === 200
  )

describe("tokens that were issued while Postgres was away", () => {
  it("are stored by the process that has them", async () => {
    announce(lossOfPostgres)
    const { asked, holder, id, requests } = await loseAnswer()
    await postgres.start()
    for (const node of nodes) await served(node, id)
    await Promise.all(asked)
    assert.strictEqual(requests(), 1)
    await eventually(
      async () => fs.readdirSync(path.join(holder.dataDir, "unstored-tokens")),
      (files) => files.length === 0
    )
  })

  it("are stored by the next start of a process that was killed with them", async () => {
    announce(lossOfPostgres)
    const { asked, holder, id, requests } = await loseAnswer()
    // The other one as well: it would wait twenty seconds for the next start of a node that it misses.
    for (const node of nodes) node.kill("SIGKILL")
    await Promise.all(nodes.map(({ ended }) => ended))
    await postgres.start()
    const { dataDir } = holder
    nodes = [await cluster.start({ dataDir })]
    for (const node of nodes) await served(node, id)
    await Promise.all(asked)
    assert.strictEqual(requests(), 1)
    assert.isEmpty(fs.readdirSync(path.join(dataDir, "unstored-tokens")))
  })
})

describe("a node that is started while Postgres is away", () => {
  it("says what it waits for, and takes part once it is there", async () => {
    announce(lossOfPostgres)
    await postgres.stop()
    const place = makeDataDirectory()
    const late = startService({ dataDir: place.dataDir, env: { ...cluster.env, SVC_ROLE: "all" } })
    await eventually(
      async () => late.output(),
      (said) => said.includes('"postgres.awaited"')
    )
    assert.match(late.output(), /No Postgres answers/)
    await postgres.start()
    await late.ready
    late.kill("SIGTERM")
    assert.strictEqual(await late.ended, 0)
    place.remove()
  })
})
