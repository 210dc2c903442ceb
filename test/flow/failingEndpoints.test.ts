/** An endpoint that hangs or fails delays neither the other endpoints of its organisation nor those of others. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"

/** Far less than the 15 s for which a hanging endpoint keeps a slot. */
const soonMillis = 5_000
const pending = 500
/** Of each of four organisations: together as many as the node has places. */
const hangingEndpoints = 16

const requests: Array<string> = []
const receiver = createServer((request, response) => {
  const path = request.url ?? ""
  requests.push(path)
  request.resume()
  if (path.startsWith("/hangs")) return
  response.writeHead(path.startsWith("/fails") ? 500 : 200).end()
})
const at = (path: string) => requests.filter((one) => one === path).length

let svc: Running
let url = ""
beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
})
afterAll(async () => {
  await svc.stop()
  receiver.closeAllConnections()
  receiver.close()
})

type World = Awaited<ReturnType<Running["organisation"]>>

const subscribe = async ({ key }: World, path: string, event: string): Promise<string> => {
  const body = { url: `${url}${path}`, events: [event] }
  const answer = await svc.ask("POST", "/api/v1/webhook-endpoints", { key, body })
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.body.data.id
}
const sql = <A extends object>(statement: string) => svc.sql<A>(statement)
/** Repeats an endpoint's pending delivery, as many events would have caused it. */
const flood = async (endpoint: string, count: number) => {
  await eventually(
    () => sql(`SELECT id FROM deliveries WHERE endpoint_id = '${endpoint}'`),
    (found) => found.length > 0
  )
  await sql(`INSERT INTO deliveries (id, org, space, kind, url, endpoint_id, event_type, payload, next_at)
    SELECT id || n, org, space, kind, url, endpoint_id, event_type, payload, now()
    FROM deliveries, generate_series(1, ${count}) n WHERE endpoint_id = '${endpoint}'`)
}
const install = async ({ customerId, key }: World, name: string) => {
  const answer = await svc.ask("POST", "/api/v1/installations", { key, body: { customerId, integration: name } })
  assert.strictEqual(answer.status, 201, answer.text)
}
const arrives = (path: string, count: number) =>
  eventually(
    async () => at(path),
    (found) => found >= count,
    soonMillis
  )

describe("An endpoint", () => {
  it("is told at once while others of its organisation hang and fail with hundreds of deliveries pending", async () => {
    const world = await svc.organisation("Mixed")
    const other = await svc.organisation("Other")
    const hangs = await subscribe(world, "/hangs", "installation.*")
    const fails = await subscribe(world, "/fails", "installation.*")
    await subscribe(world, "/works", "installation.*")
    await subscribe(other, "/other", "installation.*")
    await install(world, "first")
    await arrives("/works", 1)
    await flood(hangs, pending)
    await flood(fails, pending)
    for (let n = 1; n <= 3; n++) {
      await Promise.all([install(world, `more${n}`), install(other, `more${n}`)])
      await Promise.all([arrives("/works", 1 + n), arrives("/other", n)])
    }
    assert.isAtMost(at("/hangs"), 4)
    await eventually(
      async () => at("/fails"),
      (found) => found >= pending
    )
  })

  it("is told at once while those of four other organisations hang, as many as would fill the node", async () => {
    const beside = await svc.organisation("Beside")
    await subscribe(beside, "/beside", "installation.*")
    const hanging: Array<World> = []
    for (let n = 0; n < 4; n++) {
      const world = await svc.organisation(`Hanging ${n}`)
      for (let m = 0; m < hangingEndpoints; m++) await subscribe(world, `/hangs/${n}/${m}`, "installation.*")
      hanging.push(world)
    }
    for (let n = 1; n <= 3; n++) for (const world of hanging) await install(world, `hang${n}`)
    const held = () => requests.filter((path) => path.startsWith("/hangs/")).length
    await eventually(
      async () => held(),
      (found) => found >= 24
    )
    for (let n = 1; n <= 3; n++) {
      await install(beside, `beside${n}`)
      await arrives("/beside", n)
    }
    const late = await svc.organisation("Late")
    await subscribe(late, "/late", "installation.*")
    await install(late, "late")
    await arrives("/late", 1)
    assert.isAtMost(held(), 64)
  })
})
