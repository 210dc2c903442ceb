/**
 * No secret of an event's way in or out is stored, shown, logged, traced, measured or sent on in plain form: credentials of
 * connections, access keys, secrets of verifications, subscriptions and endpoints, and headers that prove who sends.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { createHmac, randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { api, type Answer, type Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { assertHidden, type Collector, findValues, startCollector } from "../support/collector.js"
import { readEveryRow } from "../support/everyRow.js"
import { announce } from "../support/LogExpectations.js"
import { type NatsServer, startNats } from "../support/natsServer.js"
import { promised } from "../support/promises.js"
import { startProvider, type Provider } from "../support/provider.js"
import { makeDataDirectory, type Service, startService } from "../support/Service.js"
import { everyItem, makeWebhook, sendWebhook } from "../support/webhooks.js"

const canaries = new Map<string, string>()
/** Makes a secret with characters that every encoding represents differently. */
const secret = (name: string): string => {
  const value = `canary-${name}-${randomBytes(9).toString("base64url")}/+~x`
  canaries.set(name, value)
  return value
}
const hide = (name: string, value: unknown): string => {
  assert.isString(value, name)
  canaries.set(name, String(value))
  return String(value)
}

const place = makeDataDirectory()
const scope = Effect.runSync(Scope.make())
let nats: NatsServer
let otlp: Collector
let outside: Provider
let service: Service
let client: Api
let echo = ""

/** Answers 4xx and 5xx with the whole request, as careless providers do. */
const answerTo = (target: string, said: string, body: string): { readonly status: number; readonly body: unknown } => {
  const { pathname } = new URL(target, "http://crm")
  if (pathname === "/hooks") {
    const asked = JSON.parse(body)
    hide(`subscriptionSecret${canaries.size}`, asked.secret)
    return { status: 200, body: { id: "h1", url: asked.url } }
  }
  return pathname === "/ok"
    ? { status: 200, body: [] }
    : { status: Number(pathname.slice(1, 4)), body: { message: said } }
}

beforeAll(async () => {
  announce(/"background\.failed"/)
  nats = await Effect.runPromise(Scope.extend(startNats(), scope))
  otlp = await startCollector()
  outside = await startProvider(({ body, headers, url }, response) => {
    const answer = answerTo(url, `${url} ${JSON.stringify(headers)} ${body}`, body)
    response.writeHead(answer.status, { "content-type": "application/json" }).end(JSON.stringify(answer.body))
  })
  service = startService({
    dataDir: place.dataDir,
    env: {
      SVC_NATS_URL: nats.url,
      SVC_EGRESS_ALLOW: "127.0.0.1/32",
      SVC_OTLP_URL: otlp.url,
      SVC_LOG_LEVEL: "trace",
      SVC_LOG: "json"
    }
  })
  await service.ready
  client = api(place.dataDir)
  hide("apiKey", client.dev.apiKey)
  echo = await client.workflow("echo", "instant", "export default async (ctx) => ctx.headers")
})
afterAll(async () => {
  service.kill("SIGTERM")
  await service.ended
  await Promise.all([outside.close(), otlp.close()])
  await Effect.runPromise(Scope.close(scope, Exit.void))
  place.remove()
})

const created = async (target: string, body: object): Promise<Answer["body"]> => {
  const answer = await client.call("POST", target, body)
  assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.data
}

/** Headers that prove who sends, by names that services use. */
const proofs = (way: string): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${secret(`${way} bearer`)}`,
  cookie: `session=${secret(`${way} cookie`)}`,
  "x-api-key": secret(`${way} x-api-key`),
  "x-shop-access-token": secret(`${way} x-shop-access-token`),
  "x-gitlab-token": secret(`${way} x-gitlab-token`),
  "stripe-signature": secret(`${way} stripe-signature`),
  "x-hub-signature-256": secret(`${way} x-hub-signature-256`),
  "x-shopify-hmac-sha256": secret(`${way} x-shopify-hmac-sha256`)
})

const action = (name: string, route: string, body?: object) => ({
  name,
  version: 1,
  request: { method: "POST", path: route, ...(body === undefined ? {} : { body }) }
})
const connector = (slug: string) => ({
  svcConnector: 1,
  slug,
  name: slug,
  kind: "crm",
  version: "1.0.0",
  baseUrl: "{{connection.config.base}}",
  connectionConfig: { type: "object", properties: { base: { type: "string" } }, required: ["base"] },
  auth: [
    {
      id: "key",
      type: "api_key",
      default: true,
      inject: [{ in: "header", name: "x-crm-key", value: "{{credential.apiKey}}" }]
    }
  ],
  retry: { maxAttempts: 1 },
  actions: [
    action("refused", "/400", { secret: "{{args.secret}}", url: "{{args.url}}" }),
    action("broken", "/500"),
    action("subscribe", "/hooks", { secret: "{{args.secret}}", url: "{{args.url}}" })
  ],
  events: [
    { id: "refused", delivery: "webhook", webhook: "refused" },
    { id: "subscribed", delivery: "webhook", webhook: "subscribed" },
    { id: "polled", delivery: "poll", poll: { action: "broken", key: "$.id", intervalSeconds: 30 } }
  ],
  webhooks: ["refused", "subscribed"].map((id) => ({
    id,
    type: "per_event",
    subscribe: {
      action: id === "refused" ? "refused" : "subscribe",
      args: { url: "{{webhook.url}}", secret: "{{webhook.secret}}" },
      ...(id === "refused" ? {} : { idFrom: "$.id" })
    },
    verify: { scheme: "token", subscriptionSecret: true, header: "x-crm-proof", idHeader: "x-crm-delivery" }
  }))
})

const send = async (target: string, body: string, headers: Readonly<Record<string, string>>, status: number) => {
  const sent = await sendWebhook(client, target, body, headers)
  assert.strictEqual(sent.status, status, sent.text)
  answers.push(sent.text)
  return sent.body
}
/** What the service answered. */
const answers: Array<string> = []

describe("secrets on the way of events", () => {
  it("of senders: access keys, bearer tokens, cookies, signatures, tokens, payload members", async () => {
    const keyed = await makeWebhook(client, [{ workflowId: echo }], { auth: "access_key" })
    const accessKey = hide("access key", keyed.accessKey)
    const payload = (way: string) => JSON.stringify({ password: secret(`${way} member`), order: 1 })
    await send(keyed.path, payload("keyed"), { ...proofs("keyed"), "x-svc-access-key": accessKey }, 202)
    await send(keyed.path, payload("wrong"), { ...proofs("wrong"), "x-svc-access-key": secret("wrong key") }, 401)

    for (const [name, verify] of [
      ["SIGNING", { preset: "github", secretName: "SIGNING" }],
      ["TOKEN", { scheme: "token", header: "X-Acme-Proof", secretName: "TOKEN" }]
    ] as const) {
      const value = secret(name)
      await created("/api/v1/secrets", { name, type: "text", value })
      const { path: target } = await makeWebhook(client, [{ workflowId: echo }], { verify })
      for (const status of [202, 401]) {
        const body = payload(`${name} ${status}`)
        const proof =
          name === "TOKEN"
            ? value
            : `sha256=${hide(`signature ${status}`, createHmac("sha256", value).update(body).digest("hex"))}`
        await send(
          target,
          body,
          {
            ...proofs(name),
            [name === "TOKEN" ? "x-acme-proof" : "x-hub-signature-256"]:
              status === 202 ? proof : secret(`${name} wrong`)
          },
          status
        )
      }
    }
    const { authorization: _bearer, ...others } = proofs("injected")
    const injected = await client.call("POST", "/api/v1/events", { type: "order.paid", payload: {} }, others)
    assert.strictEqual(injected.status, 202, JSON.stringify(injected.body))
    const manual = await created("/api/v1/triggers", {
      type: "manual",
      name: "by hand",
      routes: [{ workflowId: echo }]
    })
    const { authorization: _token, ...more } = proofs("fired")
    assert.strictEqual((await client.call("POST", `/api/v1/triggers/${manual.id}/fire`, {}, more)).status, 202)
  })

  it("of providers: credentials and subscriptions' secrets, which a failing provider repeats", async () => {
    await created("/api/v1/webhook-endpoints", {
      url: `${outside.url}/200/told`,
      events: ["trigger.*", "connection.*"]
    })
    await created("/api/v1/connectors", connector("crm"))
    assert.strictEqual((await client.call("POST", "/api/v1/connectors/crm/publish", {})).status, 200)
    await created("/api/v1/connections", {
      connector: "crm",
      customerId: client.dev.customerId,
      config: { base: outside.url },
      authMethod: "key",
      credential: { apiKey: secret("credential") }
    })
    const triggerOn = async (event: string): Promise<string> => {
      const settings = { type: "app_event", name: event, routes: [{ workflowId: echo }] }
      return (await created("/api/v1/triggers", { ...settings, appEvent: { connector: "crm", event } })).id
    }
    const [, , subscribed] = [await triggerOn("polled"), await triggerOn("refused"), await triggerOn("subscribed")]
    const made = await eventually(
      async () => outside.requests.find(({ url }) => url === "/hooks"),
      (found) => found !== undefined
    )
    await eventually(
      async () => outside.requests.map(({ url }) => url),
      (urls) => ["/400", "/500", "/200/told"].every((url) => urls.includes(url))
    )
    for (const { body, url } of outside.requests)
      if (url === "/400") hide(`refused secret ${canaries.size}`, JSON.parse(body).secret)
    await eventually(
      async () => (await client.call("GET", `/api/v1/triggers/${subscribed}`)).body.data.appEvent.subscription,
      (state) => state === "subscribed"
    )
    const hook = JSON.parse(made?.body ?? "{}")
    const target = new URL(hook.url).pathname
    await send(target, "{}", { ...proofs("subscription"), "x-crm-proof": hook.secret, "x-crm-delivery": "1" }, 202)
    await send(target, "{}", { ...proofs("forged"), "x-crm-proof": secret("forged") }, 401)
  })

  it("of workflows and endpoints: a secret in the error of a run that is a dead letter, and signing secrets", async () => {
    const stored = secret("stored")
    await created("/api/v1/secrets", { name: "STORED", type: "text", value: stored })
    const failing = await client.workflow(
      "failing",
      "instant",
      `export default async () => { throw new Error("no: " + await svc.secrets.get("STORED")) }`
    )
    for (const way of ["/500/failing", "/200/told"]) {
      const endpoint = await created("/api/v1/webhook-endpoints", {
        url: `${outside.url}${way}`,
        events: ["execution.*", "dlq.*"]
      })
      hide(`endpoint's secret ${way}`, endpoint.secret)
    }
    hide("callback secret", (await client.call("POST", "/api/v1/callback-secret/rotate", {})).body.data.secret)
    const { path: target } = await makeWebhook(client, [{ workflowId: failing }])
    await send(target, JSON.stringify({ apiKey: secret("in a dead letter") }), proofs("failing"), 202)
    const [letter] = await eventually(
      () => everyItem(client, "/api/v1/dlq"),
      (all) => all.length > 0
    )
    assert.strictEqual((await client.call("POST", `/api/v1/dlq/${letter.id}/replay`, {})).status, 202)
    await eventually(
      () => everyItem(client, "/api/v1/dlq"),
      (all) => all.length > 1
    )
    await eventually(
      async () =>
        outside.requests.filter(({ body, url }) => url.startsWith("/200/") && body.includes("execution.failed")),
      (found) => found.length > 1
    )
  })

  it("are in no record, answer, log, span, metric, message of the broker, file or body of an endpoint", async () => {
    const shown: Array<readonly [string, string]> = answers.map((text, at) => [`answer ${at}`, text])
    for (const list of ["events", "dlq", "executions", "triggers", "webhook-endpoints", "notifications", "audit"]) {
      const items = await eventually(
        () => everyItem(client, `/api/v1/${list}`),
        (found) => found.length > 0
      )
      shown.push([list, JSON.stringify(items)])
      for (const { id } of list === "notifications" || list === "audit" ? [] : items)
        shown.push([
          `${list}/${id}`,
          JSON.stringify(
            (await client.call("GET", `/api/v1/${list}/${id}${list === "executions" ? "/logs" : ""}`)).body
          )
        ])
      if (list === "executions")
        for (const { id } of items) shown.push([`run ${id}`, JSON.stringify(await client.execution(id))])
      if (list === "webhook-endpoints")
        for (const { id } of items)
          shown.push([`attempts ${id}`, JSON.stringify(await everyItem(client, `/api/v1/${list}/${id}/attempts`))])
    }
    const metrics = await (await fetch(`${client.dev.baseUrl}/metrics`)).text()
    const rows = await readEveryRow(place.dataDir)
    service.kill("SIGTERM")
    await service.ended
    const told = outside.requests.filter(({ url }) => url.startsWith("/200/")).map(({ body }) => body)
    const places = new Map([
      ...shown,
      ...rows,
      ["metrics", metrics],
      // Beside the log, the first start prints a command with the API key.
      [
        "log",
        service
          .output()
          .split("\n")
          .filter((line) => line.startsWith("{"))
          .join("\n")
      ],
      ["collector", otlp.received()],
      ["endpoints", told.join("\n")]
    ])

    // Proves that the search covers what the tests above did.
    for (const [table, word] of [
      ["event_records", "rejected"],
      ["event_records", "x-crm-delivery"],
      ["dead_letters", "pending"],
      ["deliveries", "execution.failed"],
      ["polls", "500"],
      ["subscriptions", "400"]
    ] as const)
      assert.include(
        rows.get(`svc.${table}`) ?? [...rows].filter(([name]) => name.startsWith(`svc.${table}`)).join(),
        word
      )
    for (const signal of ["traces", "logs", "metrics"]) assert.isNotEmpty(otlp.received(`/v1/${signal}`), signal)
    assert.isAbove(canaries.size, 60)
    assert.isNotEmpty(
      findValues(canaries, new Map([["sent", outside.requests.map((one) => JSON.stringify(one)).join()]]))
    )

    assertHidden(canaries, places)
    // Beside what a row contains, a database's files contain what it contained before.
    const inFiles = [...plainInFiles(nats.store, []), ...plainInFiles(place.dataDir, ["dev.json"])]
    promised("a secret is in the clear in a file", () => assert.deepStrictEqual(inFiles, []))
  })
})

/** The files under a directory that contain a secret as it is. */
const plainInFiles = (directory: string, except: ReadonlyArray<string>): ReadonlyArray<string> => {
  const files = fs.readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  assert.isNotEmpty(files, directory)
  return files
    .filter(({ name }) => !except.includes(name))
    .flatMap(({ name, parentPath }) => {
      const content = fs.readFileSync(path.join(parentPath, name))
      return [...canaries].flatMap(([canary, value]) =>
        content.includes(value) ? [`${canary} in ${path.join(parentPath, name)}`] : []
      )
    })
}
