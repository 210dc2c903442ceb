import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { createServer } from "node:net"
import * as path from "node:path"
import { readEveryRow } from "../support/everyRow.js"
import { promised } from "../support/promises.js"
import { worldOf } from "../support/World.js"
import { scaled } from "../support/slowness.js"

const canaries = Array.from({ length: 12 }, (_, i) => `canary-${i}-${Math.random().toString(36).slice(2)}x9Z`)

describe("Two tenants", () => {
  const world = worldOf({ allow: false, env: { SVC_RUNNERS: "2" } })
  beforeAll(() => world.start())
  afterAll(() => world.stop())

  it(
    "whose runs alternate on the same runners cannot see each other's data",
    async () => {
      const { call, run, workflow } = world.api()
      const customers = await Promise.all(
        ["north", "south"].map(async (name) =>
          String((await call("POST", "/api/v1/customers", { name, externalRef: name })).body.data.id)
        )
      )
      // Leaves a mark in every place that a guest can write to, and looks for marks of the other tenant.
      const id = await workflow(
        "marks",
        "instant",
        `let module = []
      export default async (ctx) => {
        const me = ctx.customer.ref
        const seen = [globalThis.mark, Object.prototype.mark, Array.prototype.mark, module.at(-1), JSON.mark, Math.mark]
          .filter((mark) => mark !== undefined && mark !== me)
        globalThis.mark = me; Object.prototype.mark = me; Array.prototype.mark = me; module.push(me)
        try { JSON.mark = me; Math.mark = me } catch {}
        await svc.state.set("mine", me, { scope: "CUSTOMER" })
        const mine = await svc.state.get("mine", { scope: "CUSTOMER" })
        return { me, seen, mine, id: ctx.customer.id }
      }`
      )
      const one = async (n: number) => {
        const customer = customers[n % 2] ?? ""
        const answer = await run(id, { n }, { "x-end-org-id": customer })
        const ref = n % 2 === 0 ? "north" : "south"
        assert.property(answer.body, "seen", JSON.stringify(answer.body))
        promised("a tenant sees what is another's", () =>
          assert.deepStrictEqual(answer.body, { me: ref, seen: [], mine: ref, id: customer })
        )
      }
      for (let n = 0; n < 1_000; n += 20) await Promise.all(Array.from({ length: 20 }, (_, i) => one(n + i)))
    },
    scaled(180_000)
  )

  it("cannot be reached by a key of the other", async () => {
    const { call, dev, workflow } = world.api()
    const customer = String(
      (await call("POST", "/api/v1/customers", { name: "west", externalRef: "west" })).body.data.id
    )
    const key = (
      await call("POST", "/api/v1/api-keys", {
        name: "only north",
        mode: "live",
        preset: "full_access",
        customers: { mode: "subset", ids: [dev.customerId] }
      })
    ).body.data.key
    const narrowed = { authorization: `Bearer ${key}` }
    const id = await workflow("narrow", "instant", "export default async (ctx) => ctx.customer")
    const foreign = await call(
      "POST",
      `/api/v1/workflows/${id}/execute`,
      { input: {} },
      { ...narrowed, "x-end-org-id": customer }
    )
    const unknown = await call(
      "POST",
      `/api/v1/workflows/${id}/execute`,
      { input: {} },
      { ...narrowed, "x-end-org-id": customer.replace(/.$/, (c) => (c === "0" ? "1" : "0")) }
    )
    promised("a key reaches another tenant's customer", () => assert.isAtLeast(foreign.status, 400))
    assert.deepStrictEqual([foreign.status, foreign.body.code], [403, "CUSTOMER_NOT_REACHABLE"])
    assert.deepStrictEqual({ ...foreign.body, requestId: "" }, { ...unknown.body, requestId: "" })
    const none = await call("POST", `/api/v1/workflows/${id}/execute`, { input: {} }, narrowed)
    assert.strictEqual(none.body.code, "CUSTOMER_NOT_REACHABLE")
    const listed = await call("GET", "/api/v1/customers", undefined, narrowed)
    const read = await call("GET", `/api/v1/customers/${customer}`, undefined, narrowed)
    promised("a key sees another tenant", () => {
      assert.notInclude(JSON.stringify(listed.body), customer)
      assert.notStrictEqual(read.status, 200)
    })
    assert.lengthOf(listed.body.data, 1)
    assert.strictEqual(read.status, 404)
  })

  it("reach no internal address by fetch, whatever its form", async () => {
    let connections = 0
    const inside = createServer(() => {
      connections += 1
    })
    await new Promise<void>((resolve) => inside.listen(0, "127.0.0.1", resolve))
    const address = inside.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const { run, workflow } = world.api()
    const id = await workflow(
      "inside",
      "instant",
      `export default async (ctx) => {
      const out = []
      for (const url of ctx.input.urls) {
        try { await fetch(url); out.push("REACHED " + url) } catch (error) { out.push(error.code ?? error.name) }
      }
      return out
    }`
    )
    const hosts = [
      "127.0.0.1",
      "localhost",
      "2130706433",
      "0x7f000001",
      "0177.0.0.1",
      "127.1",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "0.0.0.0",
      "[::]",
      "127.0.0.1.",
      "LOCALHOST"
    ]
    const urls = [
      ...hosts.map((host) => `http://${host}:${port}/`),
      "http://169.254.169.254/latest/meta-data",
      "http://10.0.0.1/",
      "http://192.168.0.1/",
      "http://[fd00::1]/",
      "file:///etc/passwd",
      `http://user:pass@127.0.0.1:${port}/`
    ]
    const answer = await run(id, { urls })
    assert.strictEqual(answer.status, 200)
    assert.deepStrictEqual(
      answer.body.filter((text: string) => text.startsWith("REACHED")),
      []
    )
    assert.strictEqual(connections, 0)
    inside.close()
  })
})

describe("A secret", () => {
  const world = worldOf({ allow: true })
  beforeAll(() => world.start())
  afterAll(() => world.stop())

  it("appears in no log, record, error, header or file", async () => {
    const { call, run, workflow } = world.api()
    for (const [i, value] of canaries.entries()) {
      const made = await call("POST", "/api/v1/secrets", { name: `CANARY_${i}`, type: "text", value })
      assert.strictEqual(made.status, 201, JSON.stringify(made.body))
      promised("a secret is in the clear", () => assert.notInclude(JSON.stringify(made.body), value))
    }
    const url = world.systems().url
    const leaks = await workflow(
      "leaks",
      "instant",
      `export default async () => {
      const values = []
      for (let i = 0; i < 12; i++) values.push(await svc.secrets.get("CANARY_" + i))
      console.log("logged", values[0], btoa(values[1]), encodeURIComponent(values[2]), JSON.stringify({ v: values[3] }))
      await fetch("${url}/leak?v=" + values[4], { method: "POST", headers: { "x-mine": values[5], authorization: "Bearer " + values[6] }, body: values[7] })
      try { await fetch("http://127.0.0.1:1/" + values[8]) } catch {}
      await svc.state.set("leak", "not a secret")
      const failure = new Error("failed with " + values[9])
      failure.stack = "stack " + values[10]
      if (values[11] !== "") throw failure
    }`
    )
    const failed = await run(leaks)
    const returns = await workflow(
      "returns",
      "instant",
      "export default async () => ({ v: await svc.secrets.get('CANARY_0') })"
    )
    const returned = await run(returns)
    // Only the caller gets what the workflow returns.
    assert.strictEqual(returned.body.v, canaries[0])
    assert.strictEqual(failed.body.status, "failed")
    const seen: Array<string> = [JSON.stringify(failed.body), world.output()]
    for (const answer of [failed, returned]) {
      const id = answer.headers.get("x-svc-execution-id") ?? answer.body.executionId
      for (const target of [`/api/v1/executions/${id}`, `/api/v1/executions/${id}/logs`])
        seen.push(JSON.stringify((await call("GET", target)).body))
    }
    seen.push(
      JSON.stringify((await call("GET", "/api/v1/secrets")).body),
      JSON.stringify((await call("GET", "/api/v1/audit?page_size=200")).body)
    )
    seen.push(...(await readEveryRow(world.dataDir)).values())
    const files = readdirSync(world.dataDir)
      .map((file) => path.join(world.dataDir, file))
      .filter((file) => statSync(file).isFile())
    for (const file of files) seen.push(readFileSync(file, "utf8"))
    const found = canaries.flatMap((canary, i) =>
      [canary, btoa(canary), encodeURIComponent(canary)].flatMap((form) =>
        seen.flatMap((text, where) => (text.includes(form) ? [`canary ${i} in ${where}`] : []))
      )
    )
    promised("a secret is in the clear", () => assert.deepStrictEqual(found, []))
  })
})
