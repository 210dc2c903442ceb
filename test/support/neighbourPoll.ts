/** A poll of a neighbour beside attacks: it keeps its interval. */
import { assert } from "@effect/vitest"
import type { Client } from "./neighbours.js"
import { startProvider } from "./provider.js"

/** The shortest that a connector may ask for. */
const intervalSeconds = 30

export interface NeighbourPoll {
  /** How many polls were due since the start at least, and were made. */
  readonly polls: () => { readonly due: number; readonly made: number }
  readonly stop: () => Promise<void>
}

export const startPoll = async (neighbour: Client): Promise<NeighbourPoll> => {
  const system = await startProvider((_, response) => {
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ results: [] }))
  })
  const made = async (path: string, body: unknown) => {
    const answer = await neighbour("POST", `/api/v1${path}`, body)
    assert.isBelow(answer.status, 300, `${path}: ${JSON.stringify(answer.body)}`)
    return answer.body.data
  }
  await made("/connectors", {
    svcConnector: 1,
    slug: "polled",
    name: "Polled",
    kind: "crm",
    version: "1.0.0",
    baseUrl: system.url,
    auth: [{ id: "open", type: "none" }],
    actions: [{ name: "list", version: 1, request: { method: "GET", path: "/list" }, response: { map: "$.results" } }],
    events: [{ id: "item", delivery: "poll", poll: { action: "list", key: "$.id", intervalSeconds } }]
  })
  await made("/connectors/polled/publish", {})
  const { id: customerId } = await made("/customers", { name: "Polled" })
  await made("/connections", { connector: "polled", customerId })
  const { id: workflowId } = await made("/workflows", {
    name: "polled",
    form: "code",
    tier: "instant",
    code: "export default async () => 1"
  })
  await made(`/workflows/${workflowId}/publish`, {})
  await made("/triggers", {
    name: "polled",
    type: "app_event",
    routes: [{ workflowId }],
    appEvent: { connector: "polled", event: "item" }
  })
  const began = Date.now()
  return {
    // The first poll comes at once: as many as whole intervals have passed are always there.
    polls: () => ({ due: Math.floor((Date.now() - began) / (intervalSeconds * 1_000)), made: system.requests.length }),
    stop: () => system.close()
  }
}
