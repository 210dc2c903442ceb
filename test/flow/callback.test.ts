/** After the end of a run its callback is delivered, signed, whatever happens to the service meanwhile. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHmac, timingSafeEqual } from "node:crypto"
import { api, type Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { type Received, startReceiver, type Receiver } from "../support/receiver.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"

const env = { SVC_EGRESS_ALLOW: "127.0.0.1/32" }

/** The algorithm of the Standard Webhooks specification, written without the service's code. */
const verifies = (secret: string, { body, headers }: Received): boolean => {
  const key = Buffer.from(secret.slice("whsec_".length), "base64")
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`
  const expected = Buffer.from(createHmac("sha256", key).update(signed).digest("base64"))
  const offered = (headers["webhook-signature"] ?? "").split(" ").map((one) => one.split(","))
  return offered.some(([version, value = ""]) => {
    const given = Buffer.from(value)
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected)
  })
}

const echo = `export default async function (ctx) { return { got: ctx.input.value ?? null } }`
const throws = `export default async function () { throw new RangeError("no such order") }`
const waits = `export default async function (ctx) { await new Promise((resolve) => setTimeout(resolve, 600000)); return null }`

describe("A callback", () => {
  const place = makeDataDirectory()
  const { dataDir } = place
  let outside: Receiver
  let current: Service
  let client: Api
  const workflows = new Map<string, string>()

  const restart = async (kill?: string): Promise<void> => {
    await prepareData(dataDir)
    current = startService({ dataDir, env, ...(kill === undefined ? {} : { kill }) })
    await current.ready
    client = api(dataDir)
  }

  const workflow = async (name: string, tier: "instant" | "standard" | "long", code: string, more: object = {}) => {
    const known = workflows.get(name)
    if (known !== undefined) return known
    const made = await client.workflow(name, tier, code, more)
    workflows.set(name, made)
    return made
  }

  const execute = (id: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
    client.call("POST", `/api/v1/workflows/${id}/execute`, body, headers)

  /** Waits for this number of requests to the path. */
  const calls = (path: string, count = 1) =>
    eventually(
      async () => outside.at(path),
      (found) => found.length >= count
    )

  const only = async (
    path: string
  ): Promise<{
    readonly call: Received
    readonly message: {
      readonly type: string
      readonly timestamp: string
      readonly data: Readonly<Record<string, unknown>>
    }
  }> => {
    const [call] = await calls(path)
    assert.isDefined(call)
    return { call, message: JSON.parse(call.body) }
  }

  beforeAll(async () => {
    outside = await startReceiver()
    await restart()
  })

  afterAll(async () => {
    current.kill("SIGTERM")
    await current.ended
    await outside.close()
    place.remove()
  })

  it("reports a completed run exactly as the contract says, signed with the workspace's secret", async () => {
    const id = await workflow("echo", "standard", echo)
    const started = await execute(
      id,
      {
        input: { value: "ü" },
        metadata: { order: "S-1024", nested: [1, null] },
        callback: { url: `${outside.url}/completed?token=1` }
      },
      { "x-org-id": client.dev.customerId, "idempotency-key": "told-once" }
    )
    assert.strictEqual(started.status, 202)
    assert.strictEqual(started.body.callback, true)
    const again = await execute(
      id,
      {
        input: { value: "ü" },
        metadata: { order: "S-1024", nested: [1, null] },
        callback: { url: `${outside.url}/completed?token=1` }
      },
      { "x-org-id": client.dev.customerId, "idempotency-key": "told-once" }
    )
    assert.deepStrictEqual(again.body, started.body)
    const { call, message } = await only("/completed?token=1")
    assert.isTrue(verifies(client.dev.callbackSecret, call))
    assert.isFalse(verifies(client.dev.callbackSecret, { ...call, body: `${call.body} ` }))
    assert.isFalse(verifies(`whsec_${Buffer.alloc(32).toString("base64")}`, call))
    assert.match(call.headers["webhook-id"] ?? "", /^dlv_[0-9a-z]{26}$/)
    assert.strictEqual(call.headers["x-svc-execution-id"], started.body.executionId)
    assert.strictEqual(call.headers["content-type"], "application/json")

    const record = await client.execution(started.body.executionId)
    // In whole seconds: after the run's end, and before it arrived.
    const sentAt = Number(call.headers["webhook-timestamp"]) * 1_000
    assert.isAtLeast(sentAt + 1_000, Date.parse(record.finishedAt))
    assert.isAtMost(sentAt, call.at + 1_000)
    assert.deepStrictEqual(message, {
      type: "execution.completed",
      timestamp: record.finishedAt,
      data: {
        executionId: started.body.executionId,
        workflowId: id,
        workflowVersion: 1,
        environment: "live",
        tier: "standard",
        status: "completed",
        customerId: client.dev.customerId,
        customerRef: "example",
        installationId: null,
        attempt: 1,
        startedAt: record.startedAt,
        finishedAt: record.finishedAt,
        durationMs: record.durationMs,
        output: { got: "ü" },
        outputTruncated: false,
        error: null,
        metadata: { order: "S-1024", nested: [1, null] },
        triggeredBy: { type: "api", keyId: record.trigger.keyId, keyName: "First key" }
      }
    })
    assert.match(record.trigger.keyId, /^key_/)
  })

  it("reports a failed run, with the error's name, message, category and step only", async () => {
    const id = await workflow("fails", "long", throws)
    await execute(id, { callback: { url: `${outside.url}/failed` } })
    const { message } = await only("/failed")
    assert.strictEqual(message.type, "execution.failed")
    assert.deepInclude(message.data, {
      status: "failed",
      tier: "long",
      output: null,
      customerId: null,
      customerRef: null,
      metadata: {}
    })
    assert.deepStrictEqual(message.data["error"], {
      name: "RangeError",
      message: "no such order",
      category: "code",
      step: null
    })
  })

  it("reports a cancelled run", async () => {
    const id = await workflow("waits", "standard", waits)
    const { body } = await execute(id, { callback: { url: `${outside.url}/cancelled` } })
    const cancelled = await client.call("POST", `/api/v1/executions/${body.executionId}/cancel`)
    assert.strictEqual(cancelled.status, 200)
    const { call, message } = await only("/cancelled")
    assert.isTrue(verifies(client.dev.callbackSecret, call))
    assert.strictEqual(message.type, "execution.cancelled")
    assert.deepInclude(message.data, { executionId: body.executionId, status: "cancelled", output: null })
    assert.deepInclude(message.data["error"], { category: "cancelled" })
  })

  it("reports a run that timed out", async () => {
    const id = await workflow("too_long", "long", waits, { timeoutMs: 300 })
    const { body } = await execute(id, { callback: { url: `${outside.url}/timed_out` } })
    const { message } = await only("/timed_out")
    assert.strictEqual(message.type, "execution.timed_out")
    assert.deepInclude(message.data, { executionId: body.executionId, status: "timed_out", output: null })
    assert.deepInclude(message.data["error"], { category: "timeout" })
  })

  it("goes to the URL of the body, else of the header, else of the workflow", async () => {
    const id = await workflow("with_url", "standard", echo, { callbackUrl: `${outside.url}/workflow` })
    const header = { "x-svc-callback-url": `${outside.url}/header` }
    const byWorkflow = await execute(id, {})
    const byHeader = await execute(id, {}, header)
    const byBody = await execute(id, { callback: { url: `${outside.url}/body` } }, header)
    for (const [path, { body }] of [
      ["/workflow", byWorkflow],
      ["/header", byHeader],
      ["/body", byBody]
    ] as const) {
      const { message } = await only(path)
      assert.strictEqual(message.data["executionId"], body.executionId)
      assert.strictEqual(body.callback, true)
    }
    assert.strictEqual(outside.at("/workflow").length + outside.at("/header").length + outside.at("/body").length, 3)
  })

  it("is sent only for the requested events", async () => {
    const completes = await workflow("echo", "standard", echo)
    const fails = await workflow("fails", "long", throws)
    const callback = { url: `${outside.url}/filtered`, events: ["execution.failed", "execution.timed_out"] }
    const quiet = await execute(completes, { callback })
    assert.strictEqual((await client.ended(quiet.body.executionId)).status, "completed")
    const told = await execute(fails, { callback })
    const { message } = await only("/filtered")
    assert.strictEqual(message.data["executionId"], told.body.executionId)
    // The completed run ended first: its callback would have arrived before this one.
    assert.strictEqual(outside.at("/filtered").length, 1)
  })

  it("omits an output above 256 KiB, and says so", async () => {
    const id = await workflow(
      "large",
      "standard",
      `export default async function (ctx) { return "x".repeat(ctx.input.size) }`
    )
    const fits = 256 * 1024 - 2
    await execute(id, { input: { size: fits }, callback: { url: `${outside.url}/fits` } })
    await execute(id, { input: { size: fits + 1 }, callback: { url: `${outside.url}/large` } })
    const small = await only("/fits")
    assert.deepInclude(small.message.data, { outputTruncated: false, output: "x".repeat(fits) })
    const large = await only("/large")
    assert.deepInclude(large.message.data, { outputTruncated: true, output: null })
    assert.isTrue(verifies(client.dev.callbackSecret, large.call))
  })

  it("that fails is sent again after the first back-off, with the same id", async () => {
    outside.answer("/again", [500])
    outside.answer("/redirected", [302, { location: `${outside.url}/elsewhere` }])
    const id = await workflow("echo", "standard", echo)
    await execute(id, { callback: { url: `${outside.url}/again` } })
    await execute(id, { callback: { url: `${outside.url}/redirected` } })
    for (const path of ["/again", "/redirected"]) {
      const [first, second] = await calls(path, 2)
      assert.isDefined(first)
      assert.isDefined(second)
      assert.strictEqual(second.headers["webhook-id"], first.headers["webhook-id"])
      assert.strictEqual(second.body, first.body)
      assert.isTrue(verifies(client.dev.callbackSecret, second))
      assert.isAtLeast(second.at - first.at, 4_900)
    }
    assert.strictEqual(outside.at("/elsewhere").length, 0)
  })

  it("is not sent to a forbidden address", async () => {
    const id = await workflow("echo", "standard", echo)
    for (const url of [
      "http://10.0.0.1/hook",
      "http://169.254.169.254/latest/meta-data",
      "ftp://example.com/",
      "nowhere"
    ]) {
      const { body, status } = await execute(id, { callback: { url } })
      assert.strictEqual(status, 422, url)
      assert.strictEqual(body.code, "VALIDATION_FAILED")
    }
  })

  for (const [kill, sent] of [
    ["terminal:1", 1],
    ["beforeEffect:1", 1],
    ["effected:1", 2]
  ] as const) {
    it(`is delivered when the service dies at ${kill}, after the run has ended`, async () => {
      const id = await workflow("echo", "standard", echo)
      current.kill("SIGTERM")
      await current.ended
      await restart(kill)
      const path = `/killed/${kill}`
      const { body } = await execute(id, { input: { value: kill }, callback: { url: outside.url + path } })
      assert.strictEqual(await current.ended, null, "it has died by the signal")
      assert.strictEqual(outside.at(path).length, sent - 1)
      await restart()
      const found = await calls(path, sent)
      assert.strictEqual(found.length, sent)
      assert.strictEqual(new Set(found.map(({ headers }) => headers["webhook-id"])).size, 1)
      for (const one of found) {
        assert.isTrue(verifies(client.dev.callbackSecret, one))
        assert.deepInclude(JSON.parse(one.body).data, {
          executionId: body.executionId,
          status: "completed",
          output: { got: kill }
        })
      }
    })
  }
})
