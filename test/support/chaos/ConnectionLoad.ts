/**
 * Calls through connections whose tokens expire after seconds, at a provider that rotates refresh tokens and ends a grant
 * whose spent token is used again: by the proxy, and by runs.
 */
import type { TestCluster } from "../cluster.js"
import type { OAuthProvider } from "../oauthProvider.js"
import { acme } from "../oauthProvider.js"
import type { Ledger } from "./Ledger.js"
import type { TrialNode } from "./Nodes.js"
import type { Trial } from "./Trial.js"

const connections = 3
const lifetimeSeconds = 4
const slowestMillis = 1_500

export interface Connection {
  readonly id: string
  readonly customer: string
}

export interface ConnectionLoad {
  readonly send: () => Promise<void>
  /** Of the connections and of their customers. */
  readonly ids: () => ReadonlyArray<Connection>
  /** To be called at the end, when all connections are at rest. */
  readonly judge: (cluster: TestCluster, ledger: Ledger) => Promise<void>
}

export const makeConnectionLoad = async (
  { ask, deaths, insist, repeat, say, tried, violated }: Trial,
  front: TrialNode,
  provider: OAuthProvider
): Promise<ConnectionLoad> => {
  const { client } = front.node
  provider.behaviour.expiresIn = lifetimeSeconds
  await client.call("POST", "/api/v1/connectors", acme())
  await client.call("POST", "/api/v1/connectors/acme/publish", {})
  const workflow = await client.workflow(
    "connected",
    "standard",
    `export default async () => (await svc.connector.acme.me({})).email`
  )
  const all: Array<Connection> = []
  const current: Array<Connection> = []

  let named = 0
  const connect = async (): Promise<Connection | undefined> => {
    const customer = await insist(
      "a customer",
      () => ask("POST", "/api/v1/customers", { name: `Customer ${(named += 1)}` }),
      ({ status }) => status === 201
    )
    const made = await insist(
      "a connection",
      () =>
        ask("POST", "/api/v1/connections", {
          connector: "acme",
          customerId: customer?.body.data.id,
          config: { base: provider.url },
          credential: { ...provider.issue(), expiresIn: lifetimeSeconds }
        }),
      ({ status }) => status === 201
    )
    if (made === undefined) return undefined
    const connection = { id: made.body.data.id, customer: customer?.body.data.id }
    all.push(connection)
    return connection
  }
  for (let n = 0; n < connections; n++) {
    const made = await connect()
    if (made !== undefined) current.push(made)
  }

  const replacing = new Set<number>()
  /** Replaces a connection that its provider has ended. */
  const replace = async (at: number) => {
    if (replacing.has(at)) return
    replacing.add(at)
    const made = await connect()
    if (made !== undefined) current[at] = made
    replacing.delete(at)
  }

  const callByProxy = async (n: number) => {
    provider.behaviour.latencyMillis = (n * 377) % slowestMillis
    const at = n % connections
    const connection = current[at]
    if (connection === undefined) return
    const answer = await ask("GET", "/api/v1/proxy/me", undefined, {
      "x-end-org-id": connection.customer,
      "x-svc-connections": connection.id
    })
    if (answer?.body?.code === "CONNECTION_NOT_ACTIVE" && current[at] === connection) await replace(at)
  }
  const callByRun = async (n: number) => {
    const connection = current[n % connections]
    if (connection === undefined) return
    await ask("POST", `/api/v1/workflows/${workflow}/execute`, { input: {} }, { "x-end-org-id": connection.customer })
  }

  return {
    ids: () => all,
    send: async () => {
      await Promise.all([repeat(3, callByProxy), repeat(0.5, callByRun)])
    },
    judge: async (cluster, ledger) => {
      const times = new Map<string, Array<number>>()
      for (const [at, { refresh_token: token = "" }] of provider.tokenRequests.entries())
        times.set(token, [...(times.get(token) ?? []), provider.tokenRequestedAt[at] ?? 0])
      tried("refresh", times.size)
      let repeated = 0
      for (const sent of times.values()) {
        if (sent.length > 2) violated("refresh", `${sent.length} requests with the same refresh token`)
        const [first = 0, second = Infinity] = sent
        if (sent.length < 2) continue
        repeated++
        if (!deaths.some(({ from, until }) => from <= second && until >= first))
          violated("refresh", `a second request ${second - first} ms after the first, and no node died`)
      }
      let lost = 0
      for (const { id } of all) {
        const shown = await insist(
          `the read of ${id}`,
          () => ask("GET", `/api/v1/connections/${id}`),
          ({ status }) => status === 200
        )
        if (shown?.body.data.status === "active") continue
        lost++
        say(`${id} is lost: ${JSON.stringify(shown?.body.data)}`)
      }
      if (lost > repeated) violated("refresh", `${lost} connections are lost, by ${repeated} repeated requests`)
      const [stored] = await cluster.sql<{ refreshes: number; open: number }>(
        `SELECT coalesce(sum(number - 1), 0)::int AS refreshes,
          (SELECT count(*)::int FROM refresh_intents WHERE connection_id = ANY($1)) AS open
        FROM credentials WHERE connection_id = ANY($1)`,
        [all.map(({ id }) => id)]
      )
      // Of a lost connection one answer was not received. A refresh that is open may have been asked for: by an owner that died
      // before it had the answer, and the next call finds out; or just now.
      const outside = new Set(provider.tokenRequests.map((form) => form["refresh_token"])).size
      const known = (stored?.refreshes ?? 0) + lost
      const service = Math.max(known, Math.min(outside, known + (stored?.open ?? 0)))
      ledger.compare("refresh", { what: "refreshes of tokens", outside, service })
      say(
        `${provider.tokenRequests.length} token requests, ${repeated} repeated, ${lost} of ${all.length} connections lost`
      )
    }
  }
}
