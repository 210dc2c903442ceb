/** An event that a key of one workflow makes or replays starts runs of this workflow only, whatever else takes it. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { type Answer, type Running, start } from "../support/InProcess.js"
import { scopedKey } from "../support/keys.js"

let svc: Running
let narrow: string
let inside: string
let outside: string

const ask = (method: string, target: string, body?: unknown, key = svc.first.key) =>
  svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })

const made = async (target: string, body: unknown): Promise<string> => {
  const answer = await ask("POST", target, body)
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.body.data.id
}

const workflowOn = async (types: ReadonlyArray<string>) => {
  const code = "export default async () => 1"
  const id = await made("/workflows", { name: types.join("-").replaceAll(".", "-"), form: "code", code })
  await ask("POST", `/workflows/${id}/publish`, {})
  for (const type of types)
    await made("/triggers", { type: "event", name: type, event: { type }, routes: [{ workflowId: id }] })
  return id
}

const settled = async (id: string): Promise<Answer> =>
  eventually(
    () => ask("GET", `/events/${id}`),
    ({ body }) => body.data?.settledAt !== null
  )

/** The workflows that an event started. */
const startedBy = async ({ body, status, text }: Answer): Promise<ReadonlyArray<string>> => {
  assert.strictEqual(status, 202, text)
  const { body: found } = await settled(body.data.eventId)
  return found.data.deliveries.map(({ workflowId }: { readonly workflowId: string }) => workflowId).toSorted()
}

const inject = (key: string, type: string, more: object = {}) => ask("POST", "/events", { type, ...more }, key)

beforeAll(async () => {
  svc = await start()
  inside = await workflowOn(["order.paid", "order.sent"])
  outside = await workflowOn(["order.paid", "order.lost"])
  narrow = await scopedKey(svc, [{ type: "workflow", ids: [inside] }])
})
afterAll(() => svc.stop())

describe("an event of a key that is narrowed to a workflow", () => {
  it("starts this workflow, and not another that takes the type, and is seen by the key", async () => {
    assert.deepStrictEqual(await startedBy(await inject(svc.first.key, "order.paid")), [inside, outside].toSorted())
    const own = await inject(narrow, "order.paid")
    assert.deepStrictEqual(await startedBy(own), [inside])
    assert.strictEqual((await ask("GET", `/events/${own.body.data.eventId}`, undefined, narrow)).status, 200)
  })

  it("is refused if no trigger in scope takes its type", async () => {
    for (const type of ["order.lost", "order.unknown"]) {
      const { body, status } = await inject(narrow, type)
      assert.deepStrictEqual([status, body.code], [403, "RESOURCE_OUT_OF_SCOPE"])
    }
  })

  it("makes no event of a wider key a repetition", async () => {
    for (const [name, more] of [
      ["deduplicationKey", { deduplicationKey: "one" }],
      ["occurredAt", { occurredAt: "2026-01-01T00:00:00Z" }]
    ] as const) {
      assert.deepStrictEqual(await startedBy(await inject(narrow, "order.paid", more)), [inside], name)
      const again = await inject(narrow, "order.paid", more)
      assert.strictEqual(again.body.data.status, "duplicate", name)
      assert.deepStrictEqual(
        await startedBy(await inject(svc.first.key, "order.paid", more)),
        [inside, outside].toSorted(),
        name
      )
    }
  })

  it("still starts only this workflow when a wider key replays it", async () => {
    const own = await inject(narrow, "order.paid")
    await startedBy(own)
    assert.deepStrictEqual(await startedBy(await ask("POST", `/events/${own.body.data.eventId}/replay`, {})), [inside])
  })
})

describe("a replay by a key that is narrowed to a workflow", () => {
  const replay = (id: string, body: object = {}) => ask("POST", `/events/${id}/replay`, body, narrow)

  it("is refused for an event that other workflows took, too", async () => {
    const { body } = await inject(svc.first.key, "order.paid")
    await settled(body.data.eventId)
    assert.strictEqual((await replay(body.data.eventId)).body.code, "RESOURCE_OUT_OF_SCOPE")
    assert.strictEqual((await replay("evt_00000000000000000000000000")).status, 404)
  })

  it("starts its own workflow, though another takes the type by now", async () => {
    const { body } = await inject(svc.first.key, "order.sent")
    await settled(body.data.eventId)
    const { body: added } = await ask("POST", "/triggers", {
      type: "event",
      name: "later",
      event: { type: "order.sent" },
      routes: [{ workflowId: outside }]
    })
    // Nodes know of a new trigger within a second.
    await eventually(
      async () => startedBy(await inject(svc.first.key, "order.sent")),
      (started) => started.length === 2
    )
    assert.deepStrictEqual(await startedBy(await replay(body.data.eventId)), [inside])
    const foreign = await replay(body.data.eventId, { routes: [added.data.routes[0].id] })
    assert.deepStrictEqual([foreign.status, foreign.body.code], [403, "RESOURCE_OUT_OF_SCOPE"])
  })
})
