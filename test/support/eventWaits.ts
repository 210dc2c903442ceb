/** Events that come one after the other, and how long each waits for its run. */
import { assert } from "@effect/vitest"
import type { Api } from "./api.js"
import { assertOneRun, countRuns, drained, everyItem, sendWebhook } from "./webhooks.js"

/** Sends webhooks one after the other, with pauses, so that none waits for those before. Returns the ids of their events. */
export const sendEvents = async (client: Api, path: string, count: number): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for (let n = 0; n < count; n++) {
    const sent = await sendWebhook(client, path, `{"n":${n}}`)
    assert.strictEqual(sent.status, 202, sent.text)
    ids.push(sent.body.eventId)
    await new Promise((done) => setTimeout(done, 20))
  }
  return ids
}

/** Fails unless each event has one run. The milliseconds from each event's receipt to the start of its run, in ascending order. */
export const waitsOf = async (client: Api, ids: ReadonlyArray<string>): Promise<ReadonlyArray<number>> => {
  const { dead, duplicate, unaccounted } = await drained(client)
  await assertOneRun(client, ids)
  assert.deepStrictEqual([dead, duplicate, unaccounted], [0, 0, []])
  const runs = await countRuns(client, "completed")
  assert.deepStrictEqual(
    ids.filter((id) => runs.get(id) !== 1),
    []
  )
  const received = new Map<string, number>()
  for (const { id, receivedAt } of await everyItem(client, "/api/v1/events")) received.set(id, Date.parse(receivedAt))
  const all: Array<number> = []
  for (const { startedAt, trigger } of await everyItem(client, "/api/v1/executions"))
    if (ids.includes(trigger.eventId)) all.push(Date.parse(startedAt) - (received.get(trigger.eventId) ?? 0))
  return all.sort((a, b) => a - b)
}
