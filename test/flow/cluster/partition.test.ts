/**
 * Nodes that are cut off from each other, and not from Postgres: every request is answered or refused with a reason in time,
 * and once the path is back all of them work. What was accepted is done once.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { setTimeout as pause } from "node:timers/promises"
import type { Answer } from "../../support/api.js"
import { beginRun, type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { freePort } from "../../support/freePort.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../../support/oauthProvider.js"
import { type Direction, type PathProxy, startPathProxy } from "../../support/pathProxy.js"
import { type Provider, startProvider } from "../../support/provider.js"
import { makeWebhook } from "../../support/webhooks.js"
import { promptConnectEnv } from "../../support/connectTimeout.js"
import { scaled } from "../../support/slowness.js"
import { isLong } from "../../support/longForm.js"

/** How many requests of each kind each node gets: their shards are of all nodes. */
const each = 2

let cluster: TestCluster
let calls: Provider
let accounts: OAuthProvider
let nodes: ReadonlyArray<ClusterNode> = []
/** The paths on which the second node and the third one are reached by others. */
let paths: ReadonlyArray<PathProxy> = []
let instant = ""
let queued = ""
let endless = ""
let hook = ""
let customer = ""
const connections: Array<string> = []

/** The address at which other nodes reach one: the proxy listens there, and the node at the same port of 127.0.0.1. */
const outside = "127.0.0.2"

const startReached = async (): Promise<readonly [ClusterNode, PathProxy]> => {
  const port = await freePort()
  const path = await startPathProxy(port, { listen: { host: outside, port } })
  const env = { SVC_NODE_ADDRESS: `${outside}:${port}`, SVC_NODE_LISTEN: "127.0.0.1" }
  return [await cluster.start({ env }), path]
}

const connect = (node: ClusterNode, label: string, headers: Readonly<Record<string, string>> = {}) =>
  node.client.call(
    "POST",
    "/api/v1/connections",
    {
      connector: "acme",
      customerId: customer,
      label,
      config: { base: accounts.url },
      credential: { ...accounts.issue(), expiresIn: 3_600 }
    },
    headers
  )

beforeAll(async () => {
  calls = await startProvider()
  accounts = await startOAuthProvider()
  cluster = await makeCluster(promptConnectEnv)
  const [first, ...reached] = await Promise.all([
    cluster.start({ env: { SVC_ROLE: "api" } }),
    startReached(),
    startReached()
  ])
  nodes = [first, ...reached.map(([node]) => node)]
  paths = reached.map(([, path]) => path)
  await cluster.whole(2)
  const { call, workflow } = first.client
  const code = (times: number, pauseMillis: number) => `export default async (ctx) => {
    for (let i = 0; i < ${times}; i++) {
      await (await fetch("${calls.url}/" + ctx.input.name + "/" + i, { method: "POST", body: "x" })).text()
      await new Promise((done) => setTimeout(done, ${pauseMillis}))
    }
    return ctx.input.name
  }`
  instant = await workflow("instant", "instant", code(2, 50))
  queued = await workflow("queued", "standard", code(2, 50))
  endless = await workflow("endless", "long", code(600, 500))
  hook = (await makeWebhook(first.client, [{ workflowId: queued }], { deduplicationKey: "name" })).path
  customer = (await call("POST", "/api/v1/customers", { name: "Ada" })).body.data.id
  assert.strictEqual((await call("POST", "/api/v1/connectors", acme())).status, 201)
  assert.strictEqual((await call("POST", "/api/v1/connectors/acme/publish", {})).status, 200)
  for (let n = 0; n < 4; n++) connections.push((await connect(first, `of before ${n}`)).body.data.id)
})
afterAll(async () => {
  await cluster.end()
  for (const { close } of paths) close()
  await Promise.all([calls.close(), accounts.close()])
})

interface Request {
  readonly name: string
  readonly isInstant?: boolean
  readonly send: () => Promise<Answer>
}

/** Requests of all kinds to a node. Those that begin something have a key under which they can be repeated. */
const requestsTo = (node: ClusterNode, of: string, runs: ReadonlyArray<string>): ReadonlyArray<Request> => {
  const { call, run } = node.client
  const times = (kind: string, send: (name: string) => Promise<Answer>): ReadonlyArray<Request> =>
    Array.from({ length: each }, (_, n) => ({ name: `${kind}-${of}-${n}`, send: () => send(`${kind}-${of}-${n}`) }))
  const key = (name: string) => ({ "idempotency-key": name })
  const through = (id: string) => ({ "x-end-org-id": customer, "x-svc-connections": id })
  return [
    ...times("instant", (name) => run(instant, { name }, key(name))).map((one) => ({ ...one, isInstant: true })),
    ...times("queued", (name) => run(queued, { name }, key(name))),
    ...times("event", (name) => call("POST", hook, { name })),
    ...times("created", (name) => connect(node, name, key(name))),
    ...connections.flatMap((id) => [
      { name: `call of ${of} by ${id}`, send: () => call("GET", "/api/v1/proxy/me", undefined, through(id)) },
      { name: `test of ${of} of ${id}`, send: () => call("POST", `/api/v1/connections/${id}/test`, {}) },
      { name: `label of ${of} of ${id}`, send: () => call("PUT", `/api/v1/connections/${id}`, { label: of }) }
    ]),
    // One that was cancelled by a request whose answer was lost is in another state.
    ...runs.map((id) => ({
      name: `cancel of ${of} of ${id}`,
      send: async () => {
        const answer = await call("POST", `/api/v1/executions/${id}/cancel`, {})
        return answer.status === 409 && (await node.client.execution(id)).status === "cancelled"
          ? { ...answer, status: 200 }
          : answer
      }
    }))
  ]
}

/** Sends a request once. It is answered, or refused with a reason and when to send it again. */
const sendOnce = async ({ name, send }: Request): Promise<Answer> => {
  const answer = await send()
  if (answer.status >= 300) {
    const said = `${name}: ${answer.status} ${JSON.stringify(answer.body)}`
    assert.strictEqual(answer.status, 503, said)
    assert.strictEqual(answer.body.retryable, true, said)
    assert.isNotNull(answer.headers.get("retry-after"), said)
  }
  return answer
}

const isDone = (answer: Answer | undefined) => answer !== undefined && answer.status < 300

type Cut = readonly [Direction | null, Direction | null]

const cuts: ReadonlyArray<Cut> = isLong
  ? [
      ["both", "both"],
      ["toServer", "toServer"],
      ["toClient", "toClient"],
      ["both", null],
      ["toServer", "toClient"]
    ]
  : [["toServer", "toClient"]]

/** How long the paths stay cut in the long form: longer than any request may take. */
const cutMillis = 40_000

const nothingOpen = () =>
  eventually(
    () =>
      cluster.sql("SELECT id FROM runs UNION ALL SELECT id FROM start_queue UNION ALL SELECT id FROM domain_events"),
    (open) => open.length === 0
  )

/** What the requests of these names began is there, once, and complete. */
const assertOnce = async (names: ReadonlyArray<string>) => {
  const found = await cluster.sql<{ name: string; status: string }>(
    `SELECT input->>'name' AS name, status FROM executions WHERE workflow_id = ANY($1)
     UNION ALL SELECT label, status FROM connections`,
    [[instant, queued]]
  )
  for (const name of names.filter((one) => /^(instant|queued|event|created)-/.test(one)))
    assert.deepStrictEqual(
      found.filter((one) => one.name === name).map(({ status }) => status),
      [name.startsWith("created") ? "active" : "completed"],
      name
    )
  // A run makes each of its calls once.
  const seen = new Set<string>()
  const twice = calls.requests.filter(({ url }) => seen.size === seen.add(url).size)
  assert.deepStrictEqual(twice, [])
}

describe.each(cuts)("the paths to two nodes, cut %s and %s", (...cut) => {
  it(
    "answers or refuses every request, works again once they are back, and does each thing once",
    async () => {
      const of = cut.join("-")
      const before = await Promise.all(
        Array.from({ length: each * nodes.length }, (_, n) =>
          beginRun(nodeOf(nodes, n), endless, { name: `${of}-${n}` })
        )
      )
      await eventually(
        async () => before.every((_, n) => calls.requests.some(({ url }) => url.startsWith(`/${of}-${n}/`))),
        (haveCalled) => haveCalled
      )
      for (const [at, direction] of cut.entries()) if (direction !== null) paths[at]?.cut(direction)
      const requests = nodes.flatMap((node, at) =>
        requestsTo(
          node,
          `${of}-${at}`,
          before.filter((_, n) => n % nodes.length === at)
        )
      )
      const sending = requests.map(sendOnce)
      // Of the short form, Instant starts wait for their owner over the heal.
      await (isLong ? pause(cutMillis) : Promise.all(sending.filter((_, n) => requests[n]?.isInstant !== true)))
      for (const path of paths) path.heal("dead")
      const sent = await Promise.all(sending)
      const refused = requests.filter((_, n) => !isDone(sent[n]))
      await Promise.all(
        refused.map(async (request) => {
          while (!isDone(await sendOnce(request))) await pause(200)
        })
      )
      for (const node of nodes) assert.strictEqual((await fetch(`${node.url}/readyz`)).status, 200)
      await cluster.whole(2)
      await nothingOpen()
      await assertOnce(requests.map(({ name }) => name))
    },
    scaled(180_000)
  )
})
