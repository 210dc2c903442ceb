/** A CRM that keeps contacts, with a connector made by POST that maps them. It has pages of its own size, and quirks of its own. */
import { assert } from "@effect/vitest"
import type { AddressInfo } from "node:net"
import { createTestServer } from "../httpServer.js"
import type { Running } from "../InProcess.js"

/** A contact as the CRM has it. */
export interface PlainContact {
  id: number
  first: string | null
  last: string | null
  mails: Array<{ value: string; kind?: string }>
  phone: string | null
  job: string | null
  stage: string | null
  street: { line: string | null; town: string | null; secret?: string }
  tags: string
  score: number
  created: number
  changed: string
}

/** What arrived at the CRM. */
export interface PlainRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: unknown
  readonly key: string | undefined
}

/** The definition's members that a test may replace. */
type More = Readonly<Record<string, unknown>>

const text = { type: "string" }
const whole = { type: "integer" }

/** The map of its contacts. */
export const contactPairs = [
  { from: "id", to: "id" },
  { from: "first", to: "firstName" },
  { from: "last", to: "lastName" },
  { from: "mails[*].value", to: "emailAddresses[*].emailAddress" },
  { from: "mails[*].kind", to: "emailAddresses[*].type" },
  { from: "phone", to: "phoneNumbers[0].phoneNumber" },
  { from: "street.line", to: "addresses[0].street1" },
  { from: "street.town", to: "addresses[0].city" },
  { from: "job", to: "title" },
  { from: "score", to: "customFields.score" },
  { from: "created", to: "remoteCreatedAt", dateFormat: "unix" },
  { from: "changed", to: "remoteUpdatedAt" }
]

/** The definition of the connector. `isRecognising`: whether the CRM recognises repeated creations. */
export const plainCrm = (
  slug: string,
  { isRecognising = false, ...more }: More & { isRecognising?: boolean } = {}
) => ({
  svcConnector: 1,
  slug,
  name: "Plain CRM",
  kind: "crm",
  version: "1.0.0",
  retry: { initialMs: 10, maxAttempts: 2 },
  baseUrl: "{{connection.config.base}}",
  connectionConfig: { type: "object", properties: { base: text, locale: text } },
  auth: [
    {
      id: "key",
      type: "api_key",
      inject: [{ in: "header", name: "x-key", value: "{{credential.apiKey}}" }],
      fields: [{ name: "apiKey", secret: true }]
    }
  ],
  actions: [
    {
      name: "list",
      title: "List",
      inputSchema: {
        type: "object",
        properties: { limit: { type: "integer", minimum: 1, maximum: 25 }, from: whole, since: whole }
      },
      outputSchema: {},
      request: {
        method: "GET",
        path: "/contacts",
        query: { limit: "{{args.limit}}", from: "{{args.from}}", since: "{{args.since}}" }
      },
      pagination: { type: "offset", param: "from", sizeParam: "limit", size: 25, items: "items" }
    },
    {
      name: "get",
      title: "Get",
      inputSchema: { type: "object", properties: { id: whole }, required: ["id"] },
      outputSchema: {},
      request: { method: "GET", path: "/contacts/{{args.id}}" }
    },
    {
      name: "create",
      title: "Create",
      inputSchema: { type: "object", properties: { contact: {} }, required: ["contact"] },
      outputSchema: {},
      request: { method: "POST", path: "/contacts", body: "{{args.contact}}" },
      ...(isRecognising ? { idempotency: { header: "idempotency-key" } } : {})
    },
    {
      name: "update",
      title: "Update",
      inputSchema: { type: "object", properties: { id: whole, contact: {} }, required: ["id", "contact"] },
      outputSchema: {},
      request: { method: "PATCH", path: "/contacts/{{args.id}}", body: "{{args.contact}}" }
    },
    {
      name: "remove",
      title: "Remove",
      inputSchema: { type: "object", properties: { id: whole }, required: ["id"] },
      outputSchema: {},
      request: { method: "DELETE", path: "/contacts/{{args.id}}" }
    }
  ],
  entities: [
    {
      name: "contact",
      unified: "crm/contact",
      read: "list",
      get: "get",
      create: "create",
      update: "update",
      delete: "remove",
      record: "contact",
      args: {
        read: { limit: "{{query.pageSize}}", since: "{{query.modifiedAfter.unix}}" },
        create: { contact: "{{record}}" },
        update: { id: "{{id}}", contact: "{{record}}" }
      },
      unifiedFields: contactPairs
    }
  ],
  ...more
})

/** A CRM on a free port of this machine. */
export const startPlainCrm = async () => {
  const contacts = new Map<number, PlainContact>()
  const requests: Array<PlainRequest> = []
  /** Replies that replace the usual ones, first in, first out; `lost`: the change is made, and the connection cut. */
  /** Planned answers; a body that is text is sent as it is. */
  const replies: Array<{ status: number; body?: unknown; headers?: Record<string, string> } | "lost"> = []
  const seen = new Map<string, number>()
  /** What a test does when a request has arrived, and before its answer leaves: the CRM waits for it. */
  const gate: {
    arrived?: ((request: PlainRequest) => Promise<unknown>) | undefined
    answering?: ((request: PlainRequest) => Promise<unknown>) | undefined
  } = {}
  let next = 1

  const add = (given: Partial<PlainContact> = {}): PlainContact => {
    const id = next++
    const made: PlainContact = {
      id,
      first: `First${id}`,
      last: `Last${id}`,
      mails: [{ value: `c${id}@example.com`, kind: "work" }],
      phone: null,
      job: null,
      stage: null,
      street: { line: null, town: null },
      tags: "",
      score: 1,
      created: 1_700_000_000 + id,
      changed: new Date(Date.UTC(2026, 0, 1) + id * 60_000).toISOString(),
      ...given
    }
    contacts.set(id, made)
    return made
  }

  const answer = (request: PlainRequest): { status: number; body?: unknown } => {
    const id = Number(request.path.split("/")[2] ?? "0")
    const found = contacts.get(id)
    if (request.method === "GET" && request.path === "/contacts") {
      const from = Number(request.query.get("from") ?? "0")
      const limit = Math.min(25, Number(request.query.get("limit") ?? "25"))
      const since = Number(request.query.get("since") ?? "0") * 1000
      const all = [...contacts.values()].filter(({ changed }) => since === 0 || Date.parse(changed) > since)
      return { status: 200, body: { items: all.slice(from, from + limit) } }
    }
    if (request.method === "POST") {
      const known = request.key === undefined ? undefined : seen.get(request.key)
      const made = known === undefined ? add(request.body as Partial<PlainContact>) : contacts.get(known)
      if (request.key !== undefined && made !== undefined) seen.set(request.key, made.id)
      return { status: 201, body: { contact: made } }
    }
    if (found === undefined) return { status: 404, body: { message: "no such contact" } }
    if (request.method === "GET") return { status: 200, body: { contact: found } }
    if (request.method === "DELETE") {
      contacts.delete(id)
      return { status: 204 }
    }
    Object.assign(found, request.body)
    return { status: 200, body: { contact: found } }
  }

  const server = createTestServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", async () => {
      const url = new URL(request.url ?? "/", "http://127.0.0.1")
      const raw = Buffer.concat(chunks).toString()
      const one: PlainRequest = {
        method: request.method ?? "",
        path: url.pathname,
        query: url.searchParams,
        body: raw === "" ? undefined : JSON.parse(raw),
        key: request.headers["idempotency-key"] as string | undefined
      }
      requests.push(one)
      await gate.arrived?.(one)
      const planned = replies.shift()
      const headers = planned === undefined || planned === "lost" ? {} : planned.headers
      const { body, status } = planned === undefined || planned === "lost" ? answer(one) : planned
      await gate.answering?.(one)
      if (planned === "lost") return response.destroy()
      response.writeHead(status, { "content-type": "application/json", ...headers })
      return response.end(body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    contacts,
    requests,
    replies,
    gate,
    add,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
export type PlainCrm = Awaited<ReturnType<typeof startPlainCrm>>

/** Publishes a connector, or its next version. */
export const publishDefinition = async (svc: Running, definition: { readonly slug: string }) => {
  const { key } = svc.first
  const known = await svc.ask("GET", `/api/v1/connectors/${definition.slug}`, { key })
  const made =
    known.status === 200
      ? await svc.ask("PUT", `/api/v1/connectors/${definition.slug}`, { key, body: definition })
      : await svc.ask("POST", "/api/v1/connectors", { key, body: definition })
  assert.oneOf(made.status, [200, 201], made.text)
  const published = await svc.ask("POST", `/api/v1/connectors/${definition.slug}/publish`, { key, body: {} })
  assert.strictEqual(published.status, 200, published.text)
}

/** Connects a customer, and returns the connection's id. */
export const connectTo = async (
  svc: Running,
  connector: string,
  base: string,
  customerId: string = svc.first.customerId,
  more: object = {}
): Promise<string> => {
  const made = await svc.ask("POST", "/api/v1/connections", {
    key: svc.first.key,
    body: { connector, customerId, credential: { apiKey: "canary-of-a-key" }, config: { base }, ...more }
  })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}
