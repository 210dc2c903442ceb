/** The limit of an organisation's concurrent runs by its plan. Contract: limits. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { plans } from "../../src/domain/organisation/Plan.js"
import { eventually } from "../support/eventually.js"
import { start } from "../support/InProcess.js"

type World = Awaited<ReturnType<typeof start>>

describe("An organisation on a plan with a number of runs", () => {
  let svc: World
  const held: Array<ServerResponse> = []
  const provider = createServer((_, response) => void held.push(response))
  let url = ""
  const most = plans.starter.concurrentRuns ?? 0

  beforeAll(async () => {
    await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve))
    url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`
    svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
  })
  afterAll(async () => {
    await svc.stop()
    provider.closeAllConnections()
    provider.close()
  })

  const publish = async (key: string, name: string, tier: string) => {
    const code = `export default async () => { await fetch(${JSON.stringify(url)}); return 1 }`
    const made = await svc.ask("POST", "/api/v1/workflows", { key, body: { name, form: "code", tier, code } })
    assert.strictEqual(made.status, 201, made.text)
    const id: string = made.body.data.id
    assert.strictEqual((await svc.ask("POST", `/api/v1/workflows/${id}/publish`, { key, body: {} })).status, 200)
    return id
  }
  const run = (key: string, id: string) =>
    svc.ask("POST", `/api/v1/workflows/${id}/execute`, { key, body: { input: {} } })
  const running = async (key: string) =>
    (await svc.ask("GET", "/api/v1/executions?status=running&page_size=100", { key })).body.data.length
  const answerAll = () => {
    for (const response of held.splice(0)) response.end("ok")
  }

  it("is refused an Instant run beyond it, and gets one when another has ended", async () => {
    const { key } = await svc.organisation("Instants", "starter")
    const neighbour = await svc.organisation("Neighbour", "starter")
    const id = await publish(key, "hang", "instant")
    const waiting = Array.from({ length: most }, () => run(key, id))
    await eventually(
      async () => held.length,
      (calls) => calls === most
    )
    const refused = await run(key, id)
    assert.deepStrictEqual(
      [refused.status, refused.body.code, refused.headers["retry-after"]],
      [429, "RATE_LIMITED", "1"]
    )
    assert.include(refused.body.message, `${most} runs`)
    const theirs = run(neighbour.key, await publish(neighbour.key, "hang", "instant"))
    await eventually(
      async () => held.length,
      (calls) => calls === most + 1
    )
    answerAll()
    assert.deepStrictEqual(
      (await Promise.all([...waiting, theirs])).map(({ status }) => status),
      Array.from({ length: most + 1 }, () => 200)
    )
    const next = run(key, id)
    await eventually(
      async () => held.length,
      (calls) => calls === 1
    )
    answerAll()
    assert.strictEqual((await next).status, 200)
  })

  it("counts the runs of those whose parent it is, direct and queued ones", async () => {
    const { key } = await svc.organisation("Parent", "starter")
    const made = await svc.ask("POST", "/api/v1/organizations", {
      key,
      body: { name: "Child", settings: { codeEditing: true } }
    })
    assert.strictEqual(made.status, 201, made.text)
    const child: string = made.body.data.apiKey
    const [own, theirs] = [await publish(key, "hang", "instant"), await publish(child, "hang", "instant")]
    const half = most / 2
    const waiting = Array.from({ length: most }, (_, n) => (n < half ? run(key, own) : run(child, theirs)))
    await eventually(
      async () => held.length,
      (calls) => calls === most
    )
    for (const refused of [await run(key, own), await run(child, theirs)])
      assert.deepStrictEqual([refused.status, refused.body.code], [429, "RATE_LIMITED"])
    answerAll()
    assert.deepStrictEqual(
      (await Promise.all(waiting)).map(({ status }) => status),
      Array.from({ length: most }, () => 200)
    )
    const queued = [await publish(key, "queued", "standard"), await publish(child, "queued", "standard")]
    for (let n = 0; n < most; n++)
      for (const [i, id] of queued.entries()) assert.strictEqual((await run(i === 0 ? key : child, id)).status, 202)
    for (let batch = 0; batch < 2; batch++) {
      await eventually(
        async () => held.length,
        (calls) => calls === most
      )
      assert.strictEqual((await running(key)) + (await running(child)), most)
      answerAll()
    }
    for (const one of [key, child])
      await eventually(
        async () =>
          (await svc.ask("GET", "/api/v1/executions?status=completed&page_size=100", { key: one })).body.data.length,
        (completed) => completed === most + half
      )
  })

  it("lets its further queued runs wait while those of others start, and all of them end", async () => {
    const { key } = await svc.organisation("Queue", "starter")
    const other = await svc.organisation("Other", "starter")
    const id = await publish(key, "hang", "standard")
    for (let n = 0; n < most + 5; n++) assert.strictEqual((await run(key, id)).status, 202)
    await eventually(
      async () => held.length,
      (calls) => calls === most
    )
    assert.strictEqual((await run(other.key, await publish(other.key, "hang", "standard"))).status, 202)
    await eventually(
      async () => held.length,
      (calls) => calls === most + 1
    )
    assert.deepStrictEqual([await running(key), await running(other.key)], [most, 1])
    answerAll()
    await eventually(
      async () => held.length,
      (calls) => calls === 5
    )
    answerAll()
    await eventually(
      async () => (await svc.ask("GET", "/api/v1/executions?status=completed&page_size=100", { key })).body.data.length,
      (completed) => completed === most + 5
    )
  })
})
