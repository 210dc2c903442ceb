/** A tenant's events and dead letters on surface B: those of surface C, for one customer. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let other: string
let workflow: string

const ask = async (method: string, path: string, body?: object, statuses: ReadonlyArray<number> = [200, 201, 202]) => {
  const { key, spaceId } = svc.first
  const isTenants = path.startsWith("/tenants/")
  const answer = await svc.ask(method, `/api/v1${path}`, {
    ...(isTenants ? { headers: { "x-svc-api-key": key, "x-svc-space-id": spaceId } } : { key }),
    ...(body === undefined ? {} : { body })
  })
  assert.include(statuses, answer.status, answer.text)
  return answer.body
}
const inject = async (customerId: string, n: number) =>
  String((await ask("POST", "/events", { type: "tenant.event", customerId, payload: { n } })).data.eventId)
const tenant = (path: string) => `/tenants/${svc.first.customerId}${path}`

beforeAll(async () => {
  svc = await startShared()
  other = (await ask("POST", "/customers", { name: "Other", externalRef: "other-1" })).data.id
  const code = "export default async () => { throw new Error('not yet') }"
  workflow = (await ask("POST", "/workflows", { name: "fails", form: "code", code })).data.id
  await ask("POST", `/workflows/${workflow}/publish`, {})
  const routes = [{ workflowId: workflow }]
  await ask("POST", "/triggers", { type: "event", name: "e", event: { type: "tenant.event" }, routes })
})
afterAll(() => svc.stop())

describe("a tenant", () => {
  it("has its own events, dead letters and reconciliation, and no other's", async () => {
    const mine = await inject(svc.first.customerId, 1)
    const theirs = await inject(other, 2)
    const letters = await eventually(
      async () => (await ask("GET", "/dlq")).data,
      (found) => found.length === 2
    )
    const letterOf = (event: string) => letters.find(({ eventId }: { eventId: string }) => eventId === event).id

    const listed = (await ask("GET", tenant("/events"))).data.map(({ id }: { id: string }) => id)
    assert.deepStrictEqual(listed, [mine])
    assert.deepStrictEqual((await ask("GET", tenant(`/events/${mine}`))).data.payload, { n: 1 })
    assert.deepStrictEqual((await ask("GET", "/tenants/ref:other-1/events")).data[0].id, theirs)
    const dead = (await ask("GET", tenant("/dlq"))).data.map(({ eventId }: { eventId: string }) => eventId)
    assert.deepStrictEqual(dead, [mine])

    for (const [method, path, body] of [
      ["GET", `/events/${theirs}`, undefined],
      ["POST", `/events/${theirs}/replay`, {}],
      ["GET", `/dlq/${letterOf(theirs)}`, undefined],
      ["POST", `/dlq/${letterOf(theirs)}/replay`, {}],
      ["DELETE", `/dlq/${letterOf(theirs)}`, undefined]
    ] as const)
      await ask(method, tenant(path), body, [404])
    await ask("GET", "/tenants/cus_00000000000000000000000000/events", undefined, [404])

    const counts = (await ask("GET", tenant("/events/reconciliation"))).data
    assert.deepInclude(counts, { accepted: 1, executed: 1, dead: 0, unaccounted: [] })
    assert.deepInclude((await ask("GET", "/events/reconciliation")).data, { accepted: 2, executed: 2 })
  })

  it("replays and discards its dead letters, and many of them at a rate, which take no other's", async () => {
    await ask("PUT", `/workflows/${workflow}`, { code: "export default async (ctx) => ctx.input.n" })
    await ask("POST", `/workflows/${workflow}/publish`, {})
    const [letter] = (await ask("GET", tenant("/dlq"))).data
    const replayed = (await ask("POST", tenant(`/dlq/${letter.id}/replay`), {})).data
    assert.strictEqual((await ask("GET", tenant(`/events/${replayed.eventId}`))).data.replayOf, letter.eventId)
    await ask("DELETE", tenant(`/dlq/${letter.id}`), undefined, [409])

    const job = (await ask("POST", tenant("/dlq/replay"), {})).data
    const finished = await eventually(
      async () => (await ask("GET", tenant(`/dlq-replays/${job.id}`))).data,
      ({ status }) => status === "finished"
    )
    assert.deepInclude(finished, { replayed: 0, failed: 0, cause: "request" })
    await ask("GET", `/tenants/${other}/dlq-replays/${job.id}`, undefined, [404])
    const left = (await ask("GET", "/dlq?status=pending")).data
    assert.deepStrictEqual(
      left.map(({ customerId }: { customerId: string }) => customerId),
      [other]
    )
    await ask("DELETE", `/tenants/${other}/dlq/${left[0].id}`, undefined, [204])
    await ask("DELETE", `/tenants/${other}/dlq/${left[0].id}`, undefined, [404])
    assert.strictEqual((await ask("GET", `/tenants/${other}/dlq/${left[0].id}`)).data.status, "discarded")
  })
})
