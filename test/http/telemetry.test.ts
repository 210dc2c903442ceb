import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { exporter, traceRequest } from "../../src/runtime/telemetry/Tracing.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"

describe("the metrics", () => {
  let svc: Running
  beforeAll(async () => {
    svc = await start()
  })
  afterAll(() => svc.stop())

  /** Each sample by its name with its labels. */
  const scrape = async (): Promise<ReadonlyMap<string, number>> => {
    const { headers, status, text } = await svc.ask("GET", "/metrics")
    assert.deepStrictEqual([status, headers["content-type"]], [200, "text/plain; version=0.0.4; charset=utf-8"])
    const samples = new Map<string, number>()
    for (const line of text.trimEnd().split("\n")) {
      if (line.startsWith("#")) assert.match(line, /^# (HELP|TYPE) [A-Za-z_:][\w:]* \S/)
      else {
        const [, name = "", value = ""] = /^([A-Za-z_:][\w:]*(?:\{[^}]*\})?) (\S+)$/.exec(line) ?? assert.fail(line)
        assert.isFalse(samples.has(name), `${name} is told twice`)
        samples.set(name, Number(value))
      }
    }
    return samples
  }

  it("count requests, runs and refusals, and report what is in progress", async () => {
    const { key } = svc.first
    const limited = await svc.ask("POST", "/api/v1/api-keys", {
      key,
      body: { name: "one", mode: "live", preset: "full_access", rateLimitPerMinute: 1 }
    })
    const before = await scrape()
    // In the middle of a minute, so that all calls are in one.
    const later = `${150_000 - (Date.now() % 60_000)} millis` as const
    for (let i = 0; i < 3; i++)
      await svc.ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, { key, body: { input: {} } })
    for (let i = 0; i < 3; i++) await svc.ask("GET", "/api/v1/customers", { key: limited.body.data.key, later })
    const after = await scrape()
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
    assert.strictEqual(grown('svc_http_requests_total{surface="execution",status="200"}'), 3)
    assert.strictEqual(grown('svc_http_requests_total{surface="resource",status="200"}'), 1)
    assert.strictEqual(grown('svc_http_requests_total{surface="resource",status="429"}'), 2)
    assert.strictEqual(grown('svc_http_rate_limited_total{surface="resource"}'), 2)
    assert.strictEqual(grown("svc_runs_started_total"), 3)
    assert.strictEqual(grown('svc_runs_finished_total{status="completed"}'), 3)
    assert.strictEqual(grown('svc_http_request_duration_seconds_count{surface="execution"}'), 3)
    assert.strictEqual(grown('svc_http_request_duration_seconds_bucket{surface="execution",le="+Inf"}'), 3)
    for (const name of ["svc_runs_live", "svc_journal_queue_depth"]) assert.strictEqual(after.get(name), 0)
    for (const name of [
      "process_resident_memory_bytes",
      "process_cpu_seconds_total",
      "process_start_time_seconds",
      "nodejs_heap_used_bytes"
    ]) {
      assert.isAbove(after.get(name) ?? 0, 0)
    }
  })

  it("contain nothing of any tenant", async () => {
    const { text } = await svc.ask("GET", "/metrics")
    for (const secret of [svc.first.organisationId, svc.first.workflowId, svc.first.customerId, svc.first.key.slice(9)])
      assert.notInclude(text, secret)
  })

  it.each([
    ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true],
    ["00-00000000000000000000000000000000-b7ad6b7169203331-01", false],
    ["garbage", false]
  ])("the caller's trace %j goes back: %s", async (traceparent, back) => {
    const ask = { key: svc.first.key, headers: { traceparent } }
    for (const { headers } of [
      await svc.ask("GET", "/api/v1/customers", ask),
      await svc.ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, { ...ask, body: { input: {} } })
    ])
      assert.strictEqual(headers["traceparent"], back ? traceparent : undefined)
  })
})

describe("with a collector", () => {
  const received: Array<{ readonly path: string; readonly body: string; readonly authorization: string | undefined }> =
    []
  let collector: Server
  let baseUrl: string
  beforeAll(async () => {
    collector = createServer((request, response) => {
      let body = ""
      request
        .setEncoding("utf8")
        .on("data", (part) => (body += part))
        .on("end", () => {
          received.push({ path: request.url ?? "", body, authorization: request.headers.authorization })
          response.end("{}")
        })
    })
    await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve))
    baseUrl = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
  })
  afterAll(() => new Promise((resolve) => collector.close(resolve)))

  it("a request is a span of its caller's trace, and the answer names it; nothing else is traced", async () => {
    const request = {
      method: "POST",
      target: "/api/v1/workflows/wf_0123456789ab/execute?x=secret",
      body: new Uint8Array(0),
      remoteAddress: "",
      headers: {
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        authorization: "Bearer svk_live_x"
      }
    }
    const handled = Effect.succeed({ status: 200, headers: { "x-svc-execution-id": "exec_1" }, body: "" }).pipe(
      Effect.withSpan("inside")
    )
    const reply = await Effect.withSpan(Effect.void, "beside").pipe(
      Effect.zipRight(traceRequest(request, handled)),
      Effect.provide(exporter({ otlpUrl: Option.some(baseUrl), otlpHeaders: Option.none() })),
      Effect.withTracerEnabled(false),
      Effect.runPromise
    )
    assert.match(reply.headers["traceparent"] ?? "", /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/)
    const [sent] = await eventually(
      async () => received.filter(({ path }) => path === "/v1/traces"),
      (found) => found.length > 0
    )
    const spans: ReadonlyArray<{ readonly name: string; readonly traceId: string; readonly parentSpanId?: string }> =
      JSON.parse(sent?.body ?? "{}").resourceSpans[0].scopeSpans[0].spans
    assert.deepStrictEqual(spans.map(({ name }) => name).sort(), ["POST /api/v1/workflows/:id/execute", "inside"])
    assert.isTrue(spans.every(({ traceId }) => traceId === "0af7651916cd43dd8448eb211c80319c"))
    assert.notInclude(sent?.body ?? "", "secret")
    assert.notInclude(sent?.body ?? "", "svk_live")
  })
})
