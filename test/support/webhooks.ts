/** Webhooks of a running service: makes triggers, sends to them, and tells what became of the events. */
import { assert } from "@effect/vitest"
import type { Answer, Api } from "./api.js"
import { eventually } from "./eventually.js"
import { counted, promised } from "./promises.js"

export interface WebhookTrigger {
  readonly id: string
  /** The path of its URL. */
  readonly path: string
  readonly accessKey: string | null
  readonly routes: ReadonlyArray<{ readonly id: string }>
}

let named = 0

/** Makes a trigger whose URL is public, unless `webhook` says otherwise. */
export const makeWebhook = async (
  { call }: Api,
  routes: ReadonlyArray<object>,
  webhook: object = {},
  more: object = {}
): Promise<WebhookTrigger> => {
  const made = await call("POST", "/api/v1/triggers", {
    type: "webhook",
    name: `webhook ${(named += 1)}`,
    webhook: { auth: "public", ...webhook },
    routes,
    ...more
  })
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  const { accessKey, id, routes: stored, webhook: settings } = made.body.data
  return { id, path: new URL(settings.url).pathname, accessKey, routes: stored }
}

/** Sends a body as a provider does, without a key of the API. */
export const sendWebhook = async (
  { dev }: Api,
  path: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {}
): Promise<Answer & { readonly text: string }> => {
  const response = await fetch(`${dev.baseUrl}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body
  })
  const text = await response.text()
  let parsed: unknown = text
  try {
    parsed = JSON.parse(text)
  } catch {
    // The tests assert the text of an answer that is not JSON.
  }
  return { status: response.status, body: parsed, headers: response.headers, text }
}

/** Awaits that no event waits and no run is open, and returns the reconciliation: it accounts for all events. */
export const drained = async ({ call }: Api, millis = 60_000): Promise<Answer["body"]> => {
  const reconcile = async () => (await call("GET", "/api/v1/events/reconciliation")).body?.data
  const reconciled = await counted({
    what: "an accepted event is lost",
    ask: reconcile,
    found: (found) => found?.waiting === 0,
    // An event that waits without a place in the queue is unaccounted for: nothing starts it.
    underWay: async () => {
      const { unaccounted, waiting } = await reconcile()
      return waiting - unaccounted.length
    },
    millis
  })
  promised("events are unaccounted for", () =>
    assert.deepStrictEqual([reconciled.unaccounted, reconciled.missing], [[], []], JSON.stringify(reconciled))
  )
  for (const status of ["pending", "running"])
    await eventually(
      async () => (await call("GET", `/api/v1/executions?status=${status}`)).body?.data,
      (open) => open?.length === 0,
      millis
    )
  return reconciled
}

/** All items of a list. */
export const everyItem = async ({ call }: Api, target: string): Promise<ReadonlyArray<Answer["body"]>> => {
  const items: Array<Answer["body"]> = []
  for (let cursor = ""; ;) {
    const page = await call("GET", `${target}${target.includes("?") ? "&" : "?"}page_size=200&cursor=${cursor}`)
    assert.strictEqual(page.status, 200, JSON.stringify(page.body))
    items.push(...page.body.data)
    cursor = page.body.page.nextCursor ?? ""
    if (cursor === "") return items
  }
}

/** Asserts that each of these events has one run: none is lost, and none runs twice. */
export const assertOneRun = async (client: Api, events: Iterable<string>): Promise<void> => {
  const runs = await countRuns(client)
  const wrong = [...events].filter((id) => runs.get(id) !== 1)
  promised("an acknowledged event has not one run", () => assert.deepStrictEqual(wrong, []))
}

/** How many executions each event has; with a status, only those that ended so. */
export const countRuns = async (client: Api, status?: "completed"): Promise<ReadonlyMap<string, number>> => {
  const counts = new Map<string, number>()
  for (const { trigger } of await everyItem(
    client,
    `/api/v1/executions${status === undefined ? "" : `?status=${status}`}`
  ))
    if (trigger?.eventId != null) counts.set(trigger.eventId, (counts.get(trigger.eventId) ?? 0) + 1)
  return counts
}
