/** A service, a provider that a test scripts path by path, and functions that connect customers and run workflows. */
import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Connections } from "../../src/actors/ports/connection/Connections.js"
import type { CustomerId, OrganisationId } from "../../src/domain/Ids.js"
import { type Answer, type Running, start } from "./InProcess.js"
import { startShared } from "./SharedService.js"
import { startProvider, type Provider, type Request } from "./provider.js"

export let svc: Running
export let systems: Provider
let names = 0
/** The answers of the provider, by path. A `body` that is a function writes the rest of its answer itself. */
export const scripts = new Map<
  string,
  (request: Request, nth: number) => { status?: number; headers?: object; body: unknown }
>()

/** Starts a service of the file's own. */
export const startCalls = (env: Readonly<Record<string, string>> = {}) =>
  startWith(() => start({ SVC_EGRESS_ALLOW: "127.0.0.1/32", ...env }))

/** Takes the service that the files of a worker share. */
export const startSharedCalls = () => startWith(startShared)

const startWith = async (service: () => Promise<Running>) => {
  systems = await startProvider((request, response) => {
    const path = request.url.split("?")[0] ?? ""
    const nth = systems.requests.filter(({ url }) => url.split("?")[0] === path).length
    const { body, headers = {}, status = 200 } = scripts.get(path)?.(request, nth) ?? { body: { path, nth } }
    response.writeHead(status, { "content-type": "application/json", ...headers })
    if (typeof body === "function") return void body(response)
    response.end(typeof body === "string" ? body : JSON.stringify(body))
  })
  svc = await service()
}
export const stopCalls = async () => {
  scripts.clear()
  await svc.stop()
  await systems.close()
}

export const definition = (slug: string, version: string, more: object = {}) => ({
  svcConnector: 1,
  slug,
  name: slug,
  kind: "crm",
  version,
  baseUrl: "{{connection.config.base}}",
  connectionConfig: { type: "object", properties: { base: { type: "string" } }, required: ["base"] },
  auth: [
    {
      id: "key",
      type: "api_key",
      default: true,
      fields: [{ name: "apiKey", secret: true }],
      inject: [{ in: "header", name: "x-acme-key", value: "{{credential.apiKey}}" }]
    }
  ],
  retry: { initialMs: 10, maxAttempts: 3 },
  actions: [
    {
      name: "create",
      version: 1,
      request: { method: "POST", path: `/${slug}/create`, body: { name: "{{args.name}}" } },
      idempotency: { header: "Idempotency-Key" }
    },
    { name: "get", version: 1, request: { method: "GET", path: `/${slug}/get/{{args.id}}` } },
    {
      name: "list",
      version: 1,
      request: { method: "GET", path: `/${slug}/list`, query: { after: "{{args.cursor}}" } },
      response: { map: "$.results" },
      pagination: { type: "cursor", next: "$.next", param: "cursor", items: "$.results" }
    }
  ],
  ...more
})

export const publishConnector = async (slug: string, version = "1.0.0", more: object = {}) => {
  const key = svc.first.key
  const body = definition(slug, version, more)
  const known = await svc.ask("GET", `/api/v1/connectors/${slug}`, { key })
  const made =
    known.status === 200
      ? await svc.ask("PUT", `/api/v1/connectors/${slug}`, { key, body })
      : await svc.ask("POST", "/api/v1/connectors", { key, body })
  assert.oneOf(made.status, [200, 201], made.text)
  const published = await svc.ask("POST", `/api/v1/connectors/${slug}/publish`, { key, body: {} })
  assert.strictEqual(published.status, 200, published.text)
}

export const connect = (
  connector: string,
  apiKey: string,
  customerId: CustomerId = svc.first.customerId,
  label: string | null = null
) =>
  svc.run(
    Effect.flatMap(Connections, (connections) =>
      connections.connect({
        organisationId: svc.first.organisationId as OrganisationId,
        connector,
        customerId,
        userId: null,
        authMethod: null,
        authProvider: null,
        label,
        config: { base: systems.url },
        tags: {},
        metadata: {},
        credential: { apiKey: Redacted.make(apiKey) },
        redirectUrl: null,
        by: {
          actor: { type: "system", id: "test", name: "test", ip: null, userAgent: null, onBehalfOf: null },
          requestId: null
        }
      })
    )
  )

export const workflow = async (body: string, tier = "instant", more: object = {}) => {
  const key = svc.first.key
  const made = await svc.ask("POST", "/api/v1/workflows", {
    key,
    body: {
      name: `calls_${(names += 1)}`,
      form: "code",
      tier,
      code: `export default async (ctx) => { ${body} }`,
      ...more
    }
  })
  assert.strictEqual(made.status, 201, made.text)
  await svc.ask("POST", `/api/v1/workflows/${made.body.data.id}/publish`, { key, body: {} })
  return String(made.body.data.id)
}
/** Saves steps as a workflow; the answer of the save. */
export const saveSteps = (steps: ReadonlyArray<object>, more: object = {}) =>
  svc.ask("POST", "/api/v1/workflows", {
    key: svc.first.key,
    body: { name: `steps_${(names += 1)}`, form: "steps", spec: { steps, ...more } }
  })

/** Asks for `/api/v1/workflows` and what is below it. */
export const askWorkflows = (
  method: string,
  target: string,
  body?: unknown,
  headers: Answer["headers"] = {},
  key = svc.first.key
) => svc.ask(method, `/api/v1/workflows${target}`, { key, headers, ...(body === undefined ? {} : { body }) })

/** The data of an answer that must succeed. */
export const doneWorkflows = async (...args: Parameters<typeof askWorkflows>) => {
  const answer = await askWorkflows(...args)
  assert.oneOf(answer.status, [200, 201], answer.text)
  return answer.body.data
}

/** Publishes the workflow that was saved. Returns its id. */
export const publishSaved = async (saved: Answer): Promise<string> => {
  assert.oneOf(saved.status, [200, 201], saved.text)
  const { id } = saved.body.data
  const published = await svc.ask("POST", `/api/v1/workflows/${id}/publish`, { key: svc.first.key, body: {} })
  assert.strictEqual(published.status, 200, published.text)
  return id
}

/** A step that reads a record of the connector. */
export const getStep =
  (connector: string) =>
  (name: string, id: string, more: object = {}) => ({
    name,
    type: "action",
    connector,
    action: "get",
    input: { id },
    ...more
  })

export const run = (id: string, input: unknown = {}, customer: string | null = svc.first.customerId) =>
  svc.ask("POST", `/api/v1/workflows/${id}/execute`, {
    key: svc.first.key,
    body: { input },
    headers: { authorization: `Bearer ${svc.first.key}`, ...(customer === null ? {} : { "x-org-id": customer }) }
  })
export const execution = async (id: string | undefined) =>
  (await svc.ask("GET", `/api/v1/executions/${id}`, { key: svc.first.key })).body.data
export const requestsTo = (path: string) => systems.requests.filter(({ url }) => url.startsWith(path))
