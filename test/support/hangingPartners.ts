/** Providers of four organisations that hang, beside one whose provider answers. */
import { assert } from "@effect/vitest"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { eventually } from "./eventually.js"
import { type Running, start } from "./InProcess.js"

export const hangingOrganisations = 4
/** Of each organisation that hangs: together as many as the node has places for any use. */
const connectionsEach = 16
const requests = new Map<string, number>()
const countOf = (path: string) => requests.get(path) ?? 0
const hanging = new Map<ServerResponse, string>()
/** How many requests hang at a path. */
export const hangingAt = (path: string) => [...hanging.values()].filter((one) => one === path).length
let hangs = false

/** Has the providers hang while the work goes on. */
export const whileHanging = async (work: () => Promise<void>): Promise<void> => {
  hangs = true
  await work()
  hangs = false
  for (const response of hanging.keys()) response.destroy()
}

/** Makes the work of the organisations that hang due, and waits until it hangs. */
export const hang = async (use: keyof typeof uses): Promise<void> => {
  const { due, path } = uses[use]
  for (const { organisationId } of hangers) await sql(`${due} = '${organisationId}'`)
  await eventually(
    async () => hangingAt(path),
    (found) => found >= hangingOrganisations
  )
}

const answers: { readonly [path: string]: object } = {
  token: { access_token: "t", token_type: "Bearer", expires_in: 2 },
  list: { results: [] },
  hooks: { id: "h1" },
  me: { name: "me" }
}
const provider = createServer((request, response) => {
  request.resume()
  const [, who = "", path = ""] = (request.url ?? "").split("?")[0]?.split("/") ?? []
  requests.set(`${who}/${path}`, countOf(`${who}/${path}`) + 1)
  if (hangs && who.startsWith("hangs")) {
    hanging.set(response, path)
    response.on("close", () => hanging.delete(response))
    return
  }
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answers[path] ?? {}))
})

const base = (slug: string) => ({
  svcConnector: 1,
  slug,
  name: slug,
  kind: "crm",
  version: "1.0.0",
  baseUrl: "{{connection.config.base}}",
  connectionConfig: { type: "object", properties: { base: { type: "string" } }, required: ["base"] },
  retry: { maxAttempts: 1 }
})
const action = (name: string, method: string, path: string) => ({ name, version: 1, request: { method, path } })
const crm = {
  ...base("crm"),
  auth: [{ id: "key", type: "api_key", default: true, fields: [{ name: "apiKey", secret: true }] }],
  actions: [action("list", "GET", "/list"), action("subscribe", "POST", "/hooks"), action("me", "GET", "/me")],
  test: { action: "me" },
  events: [
    { id: "contact", delivery: "poll", poll: { action: "list", key: "$.id", intervalSeconds: 30 } },
    { id: "deal", delivery: "webhook" }
  ],
  webhooks: [
    {
      id: "deals",
      type: "per_event",
      eventKey: "$.type",
      subscribe: { action: "subscribe", args: {}, idFrom: "$.id" },
      verify: { scheme: "hmac", subscriptionSecret: true, header: "x-signature" }
    }
  ]
}
const machine = {
  ...base("machine"),
  auth: [
    {
      id: "machine",
      type: "oauth2",
      default: true,
      grant: "client_credentials",
      tokenUrl: "{{connection.config.base}}/token",
      clientAuth: "body",
      fields: [{ name: "clientId" }, { name: "clientSecret", secret: true }]
    }
  ],
  actions: [action("get", "GET", "/get")]
}

export let svc: Running
let url = ""
export interface Member {
  readonly name: string
  readonly key: string
  readonly organisationId: string
  /** Connections of the connector crm. */
  readonly ids: ReadonlyArray<string>
}
export const hangers: Array<Member> = []
export let beside: Member

const sql = (statement: string) => svc.sql<{ n: number }>(statement)

/** An organisation with connections, and triggers that poll and subscribe. */
const join = async (name: string, connections: number): Promise<Member> => {
  const { customerId, key, organisationId, workflowId } = await svc.organisation(name)
  const post = async (path: string, body: object) => {
    const answer = await svc.ask("POST", `/api/v1${path}`, { key, body })
    assert.isBelow(answer.status, 300, answer.text)
    return answer.body.data
  }
  for (const definition of [crm, machine]) {
    await post("/connectors", definition)
    await post(`/connectors/${definition.slug}/publish`, {})
  }
  const config = { base: `${url}/${name}` }
  const ids: Array<string> = []
  for (let n = 0; n < connections; n++) {
    const of = { customerId, config, label: `${n}` }
    ids.push((await post("/connections", { ...of, connector: "crm", credential: { apiKey: "k" } })).id)
    await post("/connections", { ...of, connector: "machine", credential: { clientId: "c", clientSecret: "s" } })
  }
  const routes = [{ workflowId }]
  for (const event of ["contact", "deal"])
    await post("/triggers", { type: "app_event", name: event, routes, appEvent: { connector: "crm", event } })
  return { name, key, organisationId, ids }
}

/** Starts a service with organisations whose providers hang when they are told, and one beside them. */
export const startHanging = async () => {
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve))
  url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
  for (let n = 0; n < hangingOrganisations; n++) hangers.push(await join(`hangs${n}`, connectionsEach))
  beside = await join("beside", 2)
  // Each has been polled and subscribed once.
  const all = hangingOrganisations * connectionsEach + 2
  await eventually(
    () => sql(`SELECT count(*)::int AS n FROM polls WHERE seq > 0`),
    ([row]) => row?.n === all
  )
  await eventually(
    () => sql(`SELECT count(*)::int AS n FROM subscriptions WHERE state = 'subscribed'`),
    ([row]) => row?.n === all
  )
}

export const stopHanging = async () => {
  provider.closeAllConnections()
  await svc.stop()
  provider.close()
}

export const uses = {
  polls: {
    path: "list",
    open: "FROM polls WHERE next_at <= now() AND org",
    due: "UPDATE polls SET next_at = now() WHERE org"
  },
  subscriptions: {
    path: "hooks",
    open: "FROM subscriptions WHERE state <> 'subscribed' AND org",
    due: "UPDATE subscriptions SET state = 'pending', leased_until = NULL, next_at = now() WHERE org"
  },
  refreshes: {
    path: "token",
    open: "FROM refresh_intents WHERE org",
    due: "UPDATE connections SET next_look_at = now() WHERE connector = 'machine' AND org"
  }
} as const

/** Makes the work of one organisation due, and waits until its provider was called again. */
export const isServed = async (use: keyof typeof uses, { name, organisationId }: Member, count: number) => {
  const { due, open, path } = uses[use]
  // What commits later would undo that it is due.
  await eventually(
    () => sql(`SELECT count(*)::int AS n ${open} = '${organisationId}'`),
    ([row]) => row?.n === 0
  )
  const before = countOf(`${name}/${path}`)
  await sql(`${due} = '${organisationId}'`)
  await eventually(
    async () => countOf(`${name}/${path}`) - before,
    (found) => found >= count
  )
}
