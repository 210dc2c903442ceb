/**
 * A system outside that is hard to live with, and keeps its own books: it creates items once for each idempotency key, but
 * refuses in bursts, fails after it has committed, answers slowly or without an end; and it receives the ends of runs.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { createTestServer } from "../httpServer.js"
import type { Mood } from "./Plan.js"

/** A request for an item, as it arrived. */
export interface ItemRequest {
  /** `<name>/<step>`, which a run asks for once. */
  readonly item: string
  readonly key: string
  readonly mood: Mood
  /** Whether the key was new, so that it has made the item. */
  readonly isCommitted: boolean
  readonly account: string
  /** Unix milliseconds. */
  readonly at: number
}

/** The end of a run, as it was told. */
export interface ToldEnd {
  /** The name of the run. */
  readonly name: string
  readonly id: string
  readonly executionId: string
  readonly status: string
  readonly answered: number
}

export interface Farm {
  readonly url: string
  readonly requests: ReadonlyArray<ItemRequest>
  readonly ends: ReadonlyArray<ToldEnd>
  mood: Mood
  readonly close: () => Promise<void>
}

const retryAfterSeconds = 1
/** Longer than the calls of the load wait, in part. */
const slowest = 3_000
const dripMillis = 200
/** One in so many ends is told again: the first answer to it is 500, after it was received. */
const refusedEnds = 4

export const startFarm = async (random: () => number): Promise<Farm> => {
  const requests: Array<ItemRequest> = []
  const ends: Array<ToldEnd> = []
  const keys = new Map<string, number>()

  const json = (
    response: ServerResponse,
    status: number,
    body: object,
    headers: Readonly<Record<string, string>> = {}
  ) => void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))

  const drip = (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json" })
    const timer = setInterval(() => response.write(" "), dripMillis)
    response.once("close", () => clearInterval(timer))
  }

  const makeItem = (
    request: IncomingMessage,
    response: ServerResponse,
    { name, step }: { name: string; step: number }
  ) => {
    const { mood } = farm
    const key = String(request.headers["idempotency-key"] ?? "")
    const isCommitted = mood !== "limited" && !keys.has(key)
    requests.push({
      item: `${name}/${step}`,
      key,
      mood,
      isCommitted,
      account: String(request.headers["x-api-key"] ?? ""),
      at: Date.now()
    })
    if (mood === "limited") return json(response, 429, { error: "later" }, { "retry-after": String(retryAfterSeconds) })
    if (isCommitted) keys.set(key, keys.size + 1)
    const made = { id: keys.get(key) ?? 0 }
    if (mood === "failing") return json(response, 500, { error: "it broke" })
    if (mood === "endless") return drip(response)
    if (mood === "slow") return void setTimeout(() => json(response, 200, made), random() * slowest)
    return json(response, 200, made)
  }

  const receiveEnd = (
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    { data }: { readonly data?: { readonly executionId?: string; readonly status?: string } }
  ) => {
    const isFirst = !ends.some((one) => one.name === name)
    const answered = isFirst && Number(name.split("-").at(-1)) % refusedEnds === 0 ? 500 : 200
    ends.push({
      name,
      id: String(request.headers["webhook-id"] ?? ""),
      executionId: data?.executionId ?? "",
      status: data?.status ?? "",
      answered
    })
    json(response, answered, {})
  }

  const server = createTestServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (part: string) => {
      text += part
    })
    request.on("end", () => {
      const [, kind, name = ""] = (request.url ?? "").split("/")
      if (kind === "items") makeItem(request, response, JSON.parse(text))
      else receiveEnd(request, response, name, JSON.parse(text))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const farm: Farm = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    ends,
    mood: "well",
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
  return farm
}

const base = "{{connection.config.base}}"

/** The connector of the farm: every attempt of a call has the call's key. */
export const farmConnector = {
  svcConnector: 1,
  slug: "farm",
  name: "Farm",
  kind: "crm",
  version: "1.0.0",
  baseUrl: base,
  connectionConfig: { type: "object", properties: { base: { type: "string" } }, required: ["base"] },
  auth: [
    {
      id: "key",
      type: "api_key",
      default: true,
      inject: [{ in: "header", name: "X-API-Key", value: "{{credential.apiKey}}" }]
    }
  ],
  retry: {
    on: [429, 500, 503, "network", "timeout"],
    maxAttempts: 4,
    backoff: "exponential",
    initialMs: 100,
    maxMs: 1_000
  },
  actions: [
    {
      name: "make",
      request: { method: "POST", path: "/items", body: "{{args}}" },
      idempotency: { header: "Idempotency-Key" }
    }
  ]
}
