import { addApproval } from "../support/approvals.js"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { routes } from "../support/endpoints.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import {
  lackingMatrix,
  neededPermissions,
  pathWith,
  presetMatrix,
  sentAs,
  unknownIds as unknown
} from "../support/matrices/PermissionMatrix.js"
import { keyCallers } from "../support/matrices/TestCaller.js"

let svc: Running
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

presetMatrix(() => svc, keyCallers, ["full_access", "developer", "operator", "viewer", "end_user"])
lackingMatrix(() => svc, keyCallers, neededPermissions)

/** Groups whose paths name no record of an organisation. */
const ofProviders: ReadonlySet<string> = new Set(["proxy", "unified", "models"])

describe("ids of another organisation are answered like unknown ids", () => {
  let theirs: { readonly [parameter: string]: string }
  let theirKey = ""
  /** What makes each request valid except for the id. */
  const bodies: { readonly [endpoint: string]: unknown } = {
    "customers.update": { name: "Taken" },
    "workflows.update": { description: "mine now" },
    "approvals.decide": { decision: "approve", actor: "ada@example.com" },
    "apiKeys.update": { name: "Taken" },
    "credentials.store": { connector: "theirs", authMethod: "oauth", credential: { accessToken: "mine" } },
    "credentials.rotate": { credential: { accessToken: "mine" } },
    "tenantWorkflows.create": { name: "taken", form: "code", code: "export default async () => 1" },
    "tenantEnvironments.create": { name: "Taken", slug: "taken" },
    ...Object.fromEntries(
      ["releases", "tenantReleases"].flatMap((group) =>
        ["deploy", "rollBack"].map((name) => [`${group}.${name}`, { environment: "live" }])
      )
    ),
    "authProviders.upsert": { name: "theirs", methodId: "oauth", clientId: "mine" }
  }

  const webhookIn = (space: string, trigger: string) =>
    `/api/v1/clients/${space}/webhooks/${trigger.replace(/^trg_/, "whk_")}`

  /** Sends two events whose runs fail; one of them, its trigger and its dead letter. */
  const failedEvents = async (key: string) => {
    const ask = async (target: string, body: object) => {
      const { body: answer, status, text } = await svc.ask("POST", `/api/v1/${target}`, { key, body })
      assert.isBelow(status, 300, text)
      return answer.data
    }
    const code = "export default async () => { throw new Error('no') }"
    const { id: workflowId } = await ask("workflows", { name: "failing", form: "code", code })
    await ask(`workflows/${workflowId}/publish`, {})
    const trigger = await ask("triggers", {
      type: "webhook",
      name: "theirs",
      webhook: { auth: "public" },
      routes: [{ workflowId }]
    })
    for (const n of [1, 2]) await svc.ask("POST", new URL(trigger.webhook.url).pathname, { body: { n } })
    const letters = await eventually(
      () => svc.ask("GET", `/api/v1/dlq?trigger_id=${trigger.id}`, { key }),
      ({ body }) => body.data.length === 2
    )
    const [{ eventId, id }] = letters.body.data
    return { trigger: String(trigger.id), event: String(eventId), letter: String(id) }
  }

  beforeAll(async () => {
    const other = await svc.organisation("Other")
    theirKey = other.key
    const run = await svc.ask("POST", `/api/v1/workflows/${other.workflowId}/execute`, {
      key: other.key,
      body: { input: {} }
    })
    const secret = await svc.ask("POST", "/api/v1/secrets", {
      key: other.key,
      body: { name: "THEIRS", value: "theirs" }
    })
    const key = await svc.ask("POST", "/api/v1/api-keys", {
      key: other.key,
      body: { name: "theirs", hmac: { enabled: true } }
    })
    const connector = await svc.ask("POST", "/api/v1/connectors", {
      key: other.key,
      body: {
        svcConnector: 1,
        slug: "theirs",
        name: "Theirs",
        kind: "crm",
        version: "1.0.0",
        baseUrl: "https://theirs.example",
        auth: [{ id: "oauth", type: "oauth2", authorizationUrl: "https://a.example", tokenUrl: "https://t.example" }],
        actions: [{ name: "get", request: { method: "GET", path: "/" } }]
      }
    })
    const provider = await svc.ask("PUT", "/api/v1/connectors/theirs/auth-providers", {
      key: other.key,
      body: { name: "theirs", methodId: "oauth", clientId: "theirs" }
    })
    await svc.ask("POST", "/api/v1/connectors/theirs/publish", { key: other.key, body: {} })
    const connection = await svc.ask("POST", "/api/v1/connections", {
      key: other.key,
      body: { connector: "theirs", customerId: other.customerId, credential: { accessToken: "theirs" } }
    })
    const installation = await svc.ask("POST", "/api/v1/installations", {
      key: other.key,
      body: { customerId: other.customerId, integration: "theirs" }
    })
    assert.strictEqual(installation.status, 201, installation.text)
    const endpoint = await svc.ask("POST", "/api/v1/webhook-endpoints", {
      key: other.key,
      body: { url: "https://theirs.example/events", events: ["*"] }
    })
    const environment = await svc.ask("POST", "/api/v1/environments", {
      key: other.key,
      body: { name: "Theirs", slug: "theirs" }
    })
    const release = await svc.ask("POST", "/api/v1/releases", { key: other.key, body: {} })
    const notification = await svc.ask("POST", "/api/v1/notifications", { key: other.key, body: { title: "theirs" } })
    const failed = await failedEvents(other.key)
    const replay = await svc.ask("POST", "/api/v1/dlq/replay", { key: other.key, body: { filter: { code: "NONE" } } })
    await svc.ask("POST", `/api/v1/webhook-endpoints/${endpoint.body.data.id}/test`, { key: other.key })
    const attempts = await eventually(
      () => svc.ask("GET", `/api/v1/webhook-endpoints/${endpoint.body.data.id}/attempts`, { key: other.key }),
      ({ body }) => body.data.length > 0
    )
    assert.deepStrictEqual(
      [run.status, secret.status, key.status, connector.status, provider.status, connection.status],
      [200, 201, 201, 201, 200, 201]
    )
    theirs = {
      ...unknown,
      cid: other.customerId,
      wid: other.workflowId,
      workflowId: other.workflowId,
      sid: secret.body.data.id,
      kid: key.body.data.id,
      conn: connection.body.data.id,
      tid: other.customerId,
      inst: installation.body.data.id,
      env: environment.body.data.id,
      rel: release.body.data.id,
      trg: failed.trigger,
      whe: endpoint.body.data.id,
      ntf: notification.body.data.id,
      apv: await addApproval(svc.sql, { ...other, executionId: run.headers["x-svc-execution-id"] ?? "" }),
      evt: failed.event,
      dlq: failed.letter,
      rpl: replay.body.data.id,
      att: attempts.body.data[0].id,
      ctr: connector.body.data.id,
      aid: provider.body.data.id,
      oid: other.organisationId,
      spid: other.spaceId,
      eid: run.headers["x-svc-execution-id"] ?? ""
    }
    for (const route of routes.filter(
      (one) =>
        one.method === "GET" &&
        /:(cid|wid|kid|sid|eid|ctr|conn|inst|env|rel|trg|evt|dlq|rpl|whe|ntf|oid|spid)$/.test(one.path) &&
        // A tenant reads only what is its own.
        !one.path.startsWith("/api/v1/tenants/")
    )) {
      assert.strictEqual(
        (await svc.ask("GET", pathWith(route, theirs), { key: other.key })).status,
        200,
        `${route.path} is theirs`
      )
    }
  })

  /** The answer to a request with these ids, without what differs between any two requests. */
  const asked = async (request: (ids: typeof unknown) => readonly [string, string, unknown?], ids: typeof unknown) => {
    const [method, target, body] = request(ids)
    const { status, text } = await svc.ask(method, target, {
      key: svc.first.key,
      ...(body === undefined ? {} : { body })
    })
    // Records that the request makes, and the request itself, have new ids and times.
    const settled = text.replace(/"((?:req|rpl|ntf|trg|rte)_[0-9a-z]+|\d{4}-\d\d-\d\dT[^"]+)"/g, '"new"')
    return { status, text: Object.values(ids).reduce((all, id) => all.replaceAll(id, "ID"), settled) }
  }

  it.each<[string, (ids: typeof unknown) => readonly [string, string, unknown?]]>([
    ["events of a trigger", ({ trg }) => ["GET", `/api/v1/events?trigger_id=${trg}`]],
    ["events of a customer", ({ cid }) => ["GET", `/api/v1/events?customer_id=${cid}`]],
    ["dead letters of a trigger", ({ trg }) => ["GET", `/api/v1/dlq?trigger_id=${trg}`]],
    ["dead letters of a customer", ({ cid }) => ["GET", `/api/v1/dlq?customer_id=${cid}`]],
    ["notifications of a customer", ({ cid }) => ["GET", `/api/v1/notifications?customer_id=${cid}`]],
    ["approvals of an execution", ({ eid }) => ["GET", `/api/v1/approvals?execution_id=${eid}`]],
    ["executions of a workflow", ({ wid }) => ["GET", `/api/v1/executions?workflow_id=${wid}`]],
    ["triggers of a workflow", ({ wid }) => ["GET", `/api/v1/triggers?workflow_id=${wid}`]],
    ["triggers of a customer", ({ cid }) => ["GET", `/api/v1/triggers?customer_id=${cid}`]],
    ["the use of a customer's quotas", ({ cid }) => ["GET", `/api/v1/quota/usage?customer_id=${cid}`]],
    ["a replay of a trigger's letters", ({ trg }) => ["POST", "/api/v1/dlq/replay", { filter: { triggerId: trg } }]],
    ["a notification to a customer", ({ cid }) => ["POST", "/api/v1/notifications", { title: "t", customerId: cid }]],
    ["notifications that are read", ({ ntf }) => ["POST", "/api/v1/notifications/mark-read", { ids: [ntf] }]],
    [
      "a trigger on a workflow",
      ({ wid }) => ["POST", "/api/v1/triggers", { type: "webhook", name: "t", routes: [{ workflowId: wid }] }]
    ],
    [
      "a trigger on a connection",
      ({ conn }) => [
        "POST",
        "/api/v1/triggers",
        {
          type: "app_event",
          name: "t",
          routes: [{ workflowId: svc.first.workflowId }],
          appEvent: { connector: "github", connectionId: conn, event: "issue.opened" }
        }
      ]
    ],
    ["an event for a customer", ({ cid }) => ["POST", "/api/v1/events", { type: "a.b", payload: {}, customerId: cid }]],
    ["their webhook in my workspace", ({ trg = "" }) => ["POST", webhookIn(svc.first.spaceId, trg), {}]],
    ["their webhook's challenge", ({ trg = "" }) => ["GET", `${webhookIn(svc.first.spaceId, trg)}?challenge=1`]]
  ])("%s", async (_name, request) => {
    const [foreign, nothing] = [await asked(request, theirs), await asked(request, unknown)]
    assert.deepStrictEqual(foreign, nothing)
  })

  it("and a cursor of theirs shows nothing of theirs", async () => {
    for (const list of ["events", "dlq", "executions", "notifications", "triggers"]) {
      const page = await svc.ask("GET", `/api/v1/${list}?page_size=1`, { key: theirKey })
      const { nextCursor } = page.body.page
      if (list === "events" || list === "dlq") assert.isString(nextCursor, list)
      if (nextCursor === null) continue
      const whole = await svc.ask("GET", `/api/v1/${list}?page_size=200`, { key: theirKey })
      const mine = await svc.ask("GET", `/api/v1/${list}?page_size=200&cursor=${nextCursor}`, { key: svc.first.key })
      for (const { id } of whole.body.data) assert.notInclude(mine.text, id)
    }
  })

  // The proxy's path is the provider's, and its headers name a connection; they have tests of their own.
  it.each(routes.filter(({ group, path }) => path.includes(":") && !ofProviders.has(group)))(
    "$method $path",
    async (route) => {
      const ask = async (ids: typeof unknown) => {
        const { body, status } = await svc.ask(route.method, pathWith(route, ids), {
          ...sentAs(svc, route, svc.first.key),
          ...(route.method === "GET" || route.method === "DELETE"
            ? {}
            : { body: bodies[`${route.group}.${route.name}`] ?? {} })
        })
        return { status, code: body.code, message: body.message, details: body.details, members: Object.keys(body) }
      }
      const [foreign, nothing] = [await ask(theirs), await ask(unknown)]
      assert.deepStrictEqual(foreign, nothing)
      assert.deepStrictEqual([foreign.status, foreign.code], [404, "NOT_FOUND"])
    }
  )
})
