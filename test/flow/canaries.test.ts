/**
 * No trace, log or metric contains a secret: with a collector at the most verbose level, whatever providers answer, and
 * in every encoding in which they may send the secret back.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import { api, type Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { type Collector, startCollector, assertHidden, findValues, encodingsOf } from "../support/collector.js"
import { openPanelPages } from "../support/panelPages.js"
import { readEveryRow } from "../support/everyRow.js"
import { leakyConnector } from "../support/leakyConnector.js"
import { askWithUrlKeys } from "../support/mcp/urlKeys.js"
import { framesOfEveryMethod } from "../support/rpcFrames.js"
import { startProvider, type Provider } from "../support/provider.js"
import { makeDataDirectory, type Service, startService } from "../support/Service.js"

/** Contains characters that every encoding represents differently. */
const secret = (name: string) => `canary-${name}-${randomBytes(9).toString("base64url")}/+"\\?~x`

const given = {
  clientSecret: secret("clientSecret"),
  apiKey: secret("apiKey"),
  wrongKey: secret("wrongKey"),
  queryKey: secret("queryKey"),
  password: secret("password"),
  pin: secret("pin"),
  signing: secret("signing"),
  accessToken: secret("accessToken"),
  refreshToken: secret("refreshToken"),
  tenantKey: secret("tenantKey"),
  formKey: secret("formKey"),
  inProxy: secret("inProxy"),
  inPath: randomBytes(18).toString("hex"),
  flowToken: secret("flowToken"),
  stored: secret("stored"),
  overwritten: secret("overwritten")
}
/** Every value that must not occur anywhere, by name. Secrets that providers and the service create are added later. */
const canaries = new Map<string, string>(Object.entries(given))

describe("With a collector", () => {
  const place = makeDataDirectory()
  const { dataDir } = place
  let otlp: Collector
  let outside: Provider
  let current: Service
  let client: Api
  /** Answers the token endpoint with an error that repeats the whole request. */
  let refuses = false

  const tokens = () => {
    const n = canaries.size
    const answer = { access_token: secret(`access${n}`), refresh_token: secret(`refresh${n}`), expires_in: 3_600 }
    canaries.set(`access${n}`, answer.access_token)
    canaries.set(`refresh${n}`, answer.refresh_token)
    return answer
  }

  beforeAll(async () => {
    otlp = await startCollector()
    outside = await startProvider((request, response) => {
      const said = `${request.url} ${JSON.stringify(request.headers)} ${request.body}`
      const json = (status: number, body: unknown) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
      const target = request.url.split("?")[0] ?? ""
      if (target === "/token") {
        const form = new URLSearchParams(request.body)
        const verifier = form.get("code_verifier")
        if (verifier !== null) canaries.set(`verifier${canaries.size}`, verifier)
        // A message that is cut may end in the middle of a secret.
        const before = form.get("grant_type") === "refresh_token" ? "x".repeat(224) : ""
        const all = `${before}${[...form.values()].toSorted().join(" ")}`
        if (refuses) json(400, { error: "invalid_grant", error_description: `${all} ${said}`, hint: all })
        else json(200, tokens())
      } else if (target === "/hangup") request.headers.host === undefined || response.destroy()
      else if (target === "/away")
        response.writeHead(302, { location: `http://192.0.2.1/${encodeURIComponent(said)}` }).end()
      else if (target === "/garbage") response.writeHead(200, { "content-type": "application/json" }).end(`{${said}`)
      else if (target.startsWith("/echo")) {
        response.setHeader("x-echo", encodeURIComponent(said).slice(0, 4_000))
        json(Number(target.slice(5)), {
          message: said,
          code: said,
          base64: Buffer.from(said).toString("base64"),
          hex: Buffer.from(said).toString("hex")
        })
      } else json(200, { ok: true, account: "Ada" })
    })
    current = startService({
      dataDir,
      env: {
        SVC_EGRESS_ALLOW: "127.0.0.1/32",
        SVC_OTLP_URL: otlp.url,
        SVC_LOG_LEVEL: "trace",
        SVC_LOG: "json"
      }
    })
    await current.ready
    client = api(dataDir)
    const made = await client.call("POST", "/api/v1/connectors", leakyConnector(given.clientSecret))
    assert.strictEqual(made.status, 201, JSON.stringify(made.body))
    assert.strictEqual((await client.call("POST", "/api/v1/connectors/leaky/publish", {})).status, 200)
  })
  afterAll(async () => {
    current.kill("SIGTERM")
    await current.ended
    await Promise.all([outside.close(), otlp.close()])
    place.remove()
  })

  const connection = (authMethod: string, credential: object | undefined, more: object = {}) =>
    client.call("POST", "/api/v1/connections", {
      connector: "leaky",
      customerId: client.dev.customerId,
      config: { base: outside.url, how: "ok" },
      authMethod,
      ...(credential === undefined ? {} : { credential }),
      ...more
    })
  const connected = async (authMethod: string, credential: object, more: object = {}): Promise<string> => {
    const made = await connection(authMethod, credential, more)
    assert.strictEqual(made.status, 201, JSON.stringify(made.body))
    return made.body.data.id
  }

  /**
   * Acts as a person with a browser: follows a link, fills in the form if there is one, and consents at the provider.
   */
  const follow = async (connectUrl: string, form?: Readonly<Record<string, string>>) => {
    const link = new URL(connectUrl)
    canaries.set(`link${canaries.size}`, link.pathname.split("/").at(-1) ?? "")
    assert.strictEqual(link.origin, client.dev.baseUrl, "a link leads to where the service listens, on any port")
    const page = await fetch(
      connectUrl,
      form === undefined
        ? { redirect: "manual" }
        : { method: "POST", redirect: "manual", body: new URLSearchParams(form) }
    )
    const leads = page.headers.get("location")
    if (leads === null) return [page.status, await page.text()] as const
    const state = new URL(leads).searchParams.get("state") ?? ""
    const callback = new URL(leads).searchParams.get("redirect_uri") ?? ""
    assert.strictEqual(new URL(callback).origin, client.dev.baseUrl)
    const code = secret(`code${canaries.size}`)
    canaries.set(`state${canaries.size}`, state)
    canaries.set(`code${canaries.size}`, code)
    const [cookie = ""] = (page.headers.get("set-cookie") ?? "").split(";")
    const back = await fetch(`${callback}?${new URLSearchParams({ state, code })}`, { headers: { cookie } })
    return [back.status, await back.text()] as const
  }

  const proxy = async (connectionId: string, target: string) => {
    const answer = await fetch(`${client.dev.baseUrl}/api/v1/proxy/${target}`, {
      method: "POST",
      // The answer is the provider's redirect, which is not followed.
      redirect: "manual",
      body: "{}",
      headers: {
        authorization: `Bearer ${client.dev.apiKey}`,
        "content-type": "application/json",
        "x-svc-connector": "leaky",
        "x-svc-connections": connectionId,
        "x-org-id": client.dev.customerId
      }
    })
    return { status: answer.status, text: JSON.stringify([await answer.text(), ...answer.headers]) }
  }

  it("connections are made in every way, with and without failures", async () => {
    for (const [method, credential] of [
      ["key", { apiKey: given.apiKey }],
      ["query", { token: given.queryKey }],
      ["basic", { username: "ada", password: given.password }],
      ["custom", { pin: given.pin }],
      ["signed", { secret: given.signing }],
      ["machine", undefined],
      ["oauth", { accessToken: given.accessToken, refreshToken: given.refreshToken, expiresIn: 1 }]
    ] as const) {
      const made = await connection(method, credential)
      assert.strictEqual(made.status, 201, `${method}: ${JSON.stringify(made.body)}`)
      for (const how of ["echo401", "echo500", "hangup", "away", "garbage"])
        await connection(method, credential ?? { apiKey: given.wrongKey }, { config: { base: outside.url, how } })
    }
    assert.strictEqual((await connection("key", { apiKey: given.wrongKey, [given.pin]: given.pin })).status, 422)
    const yes = await connection("oauth", undefined)
    assert.strictEqual((await follow(yes.body.data.connectUrl))[0], 200)
    refuses = true
    const no = await connection("oauth", undefined)
    const [status, text] = await follow(no.body.data.connectUrl)
    refuses = false
    assert.strictEqual(status, 400, text)
    assertHidden(canaries, new Map([["the page", text]]))
    const form = await connection("key", undefined, { config: { base: outside.url } })
    const filled = { "credential.apiKey": given.formKey, "config.how": "echo401" }
    assert.strictEqual((await follow(form.body.data.connectUrl, filled))[0], 422)
    assert.strictEqual((await follow(form.body.data.connectUrl, { ...filled, "config.how": "ok" }))[0], 200)
    const tenant = await client.call(
      "POST",
      `/api/v1/tenants/${client.dev.customerId}/credentials`,
      {
        connector: "leaky",
        authMethod: "key",
        config: { base: outside.url, how: "ok" },
        credential: { apiKey: given.tenantKey }
      },
      { "x-svc-api-key": client.dev.apiKey, "x-svc-space-id": client.dev.spaceId }
    )
    assert.strictEqual(tenant.status, 201, JSON.stringify(tenant.body))
  })

  it("runs, refreshes, proxied requests and callbacks take place, with and without failures", async () => {
    for (const [name, value] of [
      ["CANARY", given.overwritten],
      ["CANARY", given.stored]
    ])
      assert.oneOf((await client.call("POST", "/api/v1/secrets", { name, type: "text", value })).status, [200, 201])
    const ways = ["echo200", "echo400", "echo500", "hangup", "away", "garbage"]
    const ids: Array<string> = []
    for (const [method, credential] of [
      ["key", { apiKey: given.apiKey }],
      ["query", { token: given.queryKey }],
      ["basic", { username: "ada", password: given.password }],
      ["custom", { pin: given.pin }],
      ["signed", { secret: given.signing }],
      ["oauth", { accessToken: given.accessToken, refreshToken: given.refreshToken }]
    ] as const)
      ids.push(await connected(method, credential, { label: `${method} again` }))
    const code = `export default async (ctx) => {
      const value = await svc.secrets.get("CANARY")
      console.log("it is", value, btoa(value), encodeURIComponent(value), JSON.stringify({ value }),
        Array.from(new TextEncoder().encode(value), (byte) => byte.toString(16).padStart(2, "0")).join(""))
      for (const connection of ctx.input.ids) for (const how of ctx.input.ways)
        try { console.log(await svc.connector.leaky.call({ how }, { connection })) }
        catch (e) { console.error(e.message, e.code, e.body) }
      for (const how of ctx.input.ways)
        try { console.log(await (await fetch(ctx.input.base + "/" + how + "?t=" + encodeURIComponent(value), { method: "POST",
          headers: { authorization: "Bearer " + value }, body: value })).text()) }
        catch (e) { console.error(e.message) }
      if (ctx.input.fails) throw new Error("no: " + value)
      return "done"
    }`
    for (const tier of ["instant", "standard"] as const) {
      const id = await client.workflow(`leaks_${tier}`, tier, code)
      for (const fails of [false, true]) {
        const started = await client.run(
          id,
          { ids, ways, base: outside.url, fails },
          { "x-org-id": client.dev.customerId, "idempotency-key": `${tier}${fails}` }
        )
        assert.oneOf(started.status, [200, 202, 500, 502, 422], JSON.stringify(started.body))
        const execution = started.headers.get("x-svc-execution-id") ?? started.body.executionId
        const { status } = await client.ended(execution)
        assert.strictEqual(status, fails ? "failed" : "completed")
        for (const part of ["", "/logs"]) {
          const shown = JSON.stringify((await client.call("GET", `/api/v1/executions/${execution}${part}`)).body)
          assert.include(shown, part === "" ? execution : "it is")
          assertHidden(canaries, new Map([[`execution${part}`, shown]]))
        }
      }
    }
    const guard = await client.workflow(
      "guard",
      "instant",
      `export default async ({ input: { token } }) => {
        console.log("it is", token, btoa(token))
        const answer = await (await fetch("${outside.url}/echo200?t=" + encodeURIComponent(token))).text()
        return { allow: true, token, answer }
      }`
    )
    for (const type of ["bearer", "workflow"]) {
      const customAuth = type === "bearer" ? { type, secretName: "CANARY" } : { type, workflowId: guard }
      const steps = [
        { name: "told", type: "action", config: { code: "export default async (input, ctx) => ctx.headers" } }
      ]
      const flow = await client.call("POST", "/api/v1/workflows", {
        name: `guarded_by_${type}`,
        form: "steps",
        spec: { steps, customAuth }
      })
      assert.strictEqual(flow.status, 201, JSON.stringify(flow.body))
      await client.call("POST", `/api/v1/workflows/${flow.body.data.id}/publish`, {})
      const answer = await fetch(`${client.dev.baseUrl}/api/v1/guarded_by_${type}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-svc-api-key": client.dev.apiKey,
          "x-svc-space-id": client.dev.spaceId,
          "x-svc-custom-auth": "true",
          authorization: `Bearer ${given.flowToken}`
        },
        body: "{}"
      })
      const text = await answer.text()
      assert.strictEqual(answer.status, type === "bearer" ? 401 : 200, text)
      assertHidden(canaries, new Map([["answer", text]]))
    }
    // Whoever runs a check again uses the token again.
    const checks = (await client.call("GET", `/api/v1/executions?workflow_id=${guard}`)).body.data
    for (const mode of ["fresh", "resume"]) {
      const again = await client.call("POST", `/api/v1/executions/${checks[0].id}/rerun`, { mode })
      assert.strictEqual(again.status, 202, JSON.stringify(again.body))
      assert.strictEqual((await client.ended(again.body.data.id)).status, "completed")
    }
    const told = await client.workflow("told", "standard", "export default async () => 1")
    const secretOf = (await client.call("POST", "/api/v1/callback-secret/rotate", {})).body.data.secret
    canaries.set("callbackSecret", secretOf)
    for (const how of ["ok", "echo410"])
      await client.call("POST", `/api/v1/workflows/${told}/execute`, {
        input: {},
        callback: { url: `${outside.url}/${how}` }
      })
    for (const id of ids)
      for (const how of ways) {
        const answer = await proxy(id, `${how}?mine=${encodeURIComponent(given.inProxy)}`)
        assert.notInclude([401, 403, 404, 422], answer.status, answer.text)
        const seen = new Map([["answer", answer.text]])
        const theirs = new Map([...canaries].filter(([name]) => name !== "inProxy"))
        assertHidden(theirs, seen, how)
      }
    await proxy(ids[0] ?? "", `bot${given.inPath}/send`)
    refuses = true
    for (const id of [ids.at(-1) ?? ""]) {
      const refreshed = await client.call("POST", `/api/v1/connections/${id}/refresh`, {})
      assert.strictEqual(refreshed.status, 409, JSON.stringify(refreshed.body))
      const record = JSON.stringify((await client.call("GET", `/api/v1/connections/${id}`)).body)
      assert.include(record, "invalid_grant")
      assertHidden(canaries, new Map([["record", record]]))
    }
    refuses = false
    const key = await client.call("POST", "/api/v1/api-keys", { name: "one", mode: "live", preset: "full_access" })
    canaries.set("key", key.body.data.key)
    const asKey = { authorization: `Bearer ${key.body.data.key}` }
    const revealed = await client.call("POST", `/api/v1/connections/${ids[0]}/reveal`, {}, asKey)
    assert.strictEqual(revealed.body.data.credential.apiKey, given.apiKey)
    await eventually(
      async () => outside.requests.filter(({ headers }) => headers["x-svc-execution-id"] !== undefined),
      (calls) => calls.length >= 2
    )
  })

  it("the panel's page is opened with the token of its address, which is refreshed and ends", async () => {
    const { pages, secrets } = await openPanelPages(client)
    for (const [name, value] of secrets) canaries.set(name, value)
    assertHidden(canaries, pages)
  })

  it("tool gateways are asked with keys in URLs", async () => {
    for (const [name, key] of await askWithUrlKeys(client)) canaries.set(name, key)
  })

  it("no frame of the typed RPC has one, whatever is asked and fails", async () => {
    const ways = ["echo200", "echo400", "echo500", "hangup", "away", "garbage"]
    const frames = await framesOfEveryMethod({ client, providerUrl: outside.url, ways, workflows: /^leaks_/ })
    for (const part of ["Success", "Failure", "Chunk", "x-echo", "UNAUTHORIZED"]) assert.include(frames, part)
    const secrets = new Map([...canaries, ["own key", client.dev.apiKey]])
    assertHidden(secrets, new Map([["frames", frames]]))
  })

  it("neither the collector nor the log, the metrics or any table has a secret", async () => {
    const metrics = await (await fetch(`${client.dev.baseUrl}/metrics`)).text()
    const rows = await readEveryRow(dataDir)
    current.kill("SIGTERM")
    await current.ended
    const places = new Map([...rows, ["metrics", metrics], ["log", current.output()], ["collector", otlp.received()]])

    // Proves that the search works and that the data contains the events of the tests above.
    for (const [form, text] of encodingsOf(given.apiKey))
      assert.isNotEmpty(findValues(new Map([["a", given.apiKey]]), new Map([["b", `x${text}y`]])), form)
    const sent = new Map([["provider", outside.requests.map((one) => JSON.stringify(one)).join("\n")]])
    for (const name of [
      "apiKey",
      "queryKey",
      "password",
      "pin",
      "refreshToken",
      "clientSecret",
      "stored",
      "flowToken",
      "inPath"
    ])
      assert.isNotEmpty(findValues(new Map([[name, canaries.get(name) ?? ""]]), sent), `${name} was never used`)
    for (const signal of ["traces", "logs", "metrics"]) assert.isNotEmpty(otlp.received(`/v1/${signal}`), signal)
    for (const name of [
      "/oauth/callback",
      "/api/v1/workflows/:id/execute",
      "/connect/:link",
      "/api/v1/proxy/",
      "/embed/iframe",
      "/mcp/admin"
    ])
      assert.include(otlp.received("/v1/traces"), name)
    assert.include(metrics, 'surface="rpc"')
    assert.isAbove(rows.size, 40)

    assertHidden(canaries, places)
  })
})
