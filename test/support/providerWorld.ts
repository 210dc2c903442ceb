/** The service, a provider that a test scripts, a second allowed origin, and a server whose address is not allowed. */
import { assert } from "vitest"
import { start } from "./InProcess.js"
import { answer, startMisbehavingProvider, misbehaviours, type Reply } from "./misbehavingProvider.js"

export const canary = "canary-of-the-connection"
/** The limit of the action `call`. */
export const limitMillis = 1_000

/** An action that requests the path that the connection's config names. */
export const call = {
  name: "call",
  request: { method: "GET", path: "/{{connection.config.how}}" },
  response: { errorWhen: { path: "$.ok", op: "eq", value: false } },
  timeoutMs: limitMillis
}

const definition = (slug: string, more: object) => ({
  svcConnector: 1,
  slug,
  name: slug,
  kind: "crm",
  version: "1.0.0",
  baseUrl: "{{connection.config.base}}",
  connectionConfig: {
    type: "object",
    properties: { base: { type: "string" }, how: { type: "string" } },
    required: ["base"]
  },
  auth: [
    {
      id: "key",
      type: "api_key",
      inject: [{ in: "header", name: "x-acme-key", value: "{{credential.apiKey}}" }]
    }
  ],
  retry: { maxAttempts: 1 },
  ...more
})
export const providerWorld = async () => {
  /** Further answers of the provider, by path. */
  const scripts = new Map<string, Reply>()
  const systems = await startMisbehavingProvider((socket, target, nth) => {
    const path = target.split("?")[0] ?? ""
    const reply = scripts.get(path) ?? misbehaviours[path.slice(1)]
    if (reply === undefined) answer(socket, 200, JSON.stringify({ ok: true, nth }))
    else reply(socket, target, nth)
  })
  const elsewhere = await startMisbehavingProvider((socket) => answer(socket, 200, '{"ok":true}'))
  const inner = await startMisbehavingProvider((socket) => answer(socket, 200, '{"ok":true}'))
  const svc = await start({ SVC_EGRESS_ALLOW: `127.0.0.1:${systems.port},127.0.0.1:${elsewhere.port}` })
  let names = 0

  const ask = (method: string, target: string, body?: unknown) =>
    svc.ask(method, target, { key: svc.first.key, ...(body === undefined ? {} : { body }) })

  const publish = async (slug: string, more: object) => {
    const made = await ask("POST", "/api/v1/connectors", definition(slug, more))
    assert.strictEqual(made.status, 201, made.text)
    const published = await ask("POST", `/api/v1/connectors/${slug}/publish`, {})
    assert.strictEqual(published.status, 200, published.text)
  }
  const connect = (connector: string, config: object, more: object = {}) =>
    ask("POST", "/api/v1/connections", {
      connector,
      customerId: svc.first.customerId,
      config: { base: systems.url, ...config },
      credential: { apiKey: canary },
      ...more
    })
  const connected = async (connector: string, config: object, more: object = {}): Promise<string> => {
    const made = await connect(connector, config, more)
    assert.strictEqual(made.status, 201, made.text)
    return made.body.data.id
  }

  const workflow = async (body: string, tier = "instant"): Promise<string> => {
    const made = await ask("POST", "/api/v1/workflows", {
      name: `providers_${(names += 1)}`,
      form: "code",
      tier,
      code: `export default async (ctx) => { ${body} }`
    })
    assert.strictEqual(made.status, 201, made.text)
    const published = await ask("POST", `/api/v1/workflows/${made.body.data.id}/publish`, {})
    assert.strictEqual(published.status, 200, published.text)
    return made.body.data.id
  }
  const run = (id: string, input: object = {}) =>
    svc.ask("POST", `/api/v1/workflows/${id}/execute`, {
      key: svc.first.key,
      body: { input },
      headers: { "x-org-id": svc.first.customerId }
    })

  /**
   * Creates a workflow that makes the call of its input and returns the result or the error. Arguments are JSON text in
   * the input, since no input may contain NUL.
   */
  const attempt = (slug: string, action = "call") =>
    workflow(`
      try { return { result: await svc.connector.${slug}.${action}(JSON.parse(ctx.input.args ?? "{}"), ctx.input.opts ?? {}) } }
      catch (e) { return { name: e.name, code: e.code ?? null, category: e.category, status: e.status, retryable: e.retryable, message: e.message, body: e.body } }`)

  const close = async () => {
    await svc.stop()
    await Promise.all([systems, elsewhere, inner].map((one) => one.close()))
  }

  return { svc, systems, elsewhere, inner, scripts, ask, publish, connect, connected, workflow, run, attempt, close }
}

export type ProviderWorld = Awaited<ReturnType<typeof providerWorld>>
