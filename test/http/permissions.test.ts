import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { allPermissions, isPermission, type Preset, presetPermissions } from "../../src/domain/Permission.js"
import { ExecutionApi, RunApi } from "../../src/http/execution/Api.js"
import { ResourceApi } from "../../src/http/resource/Api.js"
import { type Route, routesOf } from "../../src/http/pipeline/Routes.js"
import { TenantApi } from "../../src/http/tenant/Api.js"
import { type Running, start } from "../support/InProcess.js"

const routes = [...routesOf(ExecutionApi), ...routesOf(RunApi), ...routesOf(ResourceApi), ...routesOf(TenantApi)]
const presets: ReadonlyArray<Exclude<Preset, "custom">> = ["full_access", "developer", "operator", "viewer", "end_user"]

let svc: Running
const keys = new Map<string, string>()

beforeAll(async () => {
  svc = await start()
  for (const preset of presets) {
    const made = await svc.ask("POST", "/api/v1/api-keys", {
      key: svc.first.key,
      body: { name: preset, mode: "live", preset }
    })
    assert.strictEqual(made.status, 201)
    keys.set(preset, made.body.data.key)
  }
})
afterAll(() => svc.stop())

/** A well-formed id of no record. */
const unknown: { readonly [parameter: string]: string } = {
  cid: "cus_00000000000000000000000000",
  wid: "wf_000000000000",
  workflowId: "wf_000000000000",
  eid: "exec_00000000000000000000000000",
  kid: "key_00000000000000000000000000",
  conn: "conn_00000000000000000000000000",
  ctr: "ctr_00000000000000000000000000",
  aid: "aup_00000000000000000000000000",
  sid: "sec_00000000000000000000000000",
  tid: "cus_00000000000000000000000000",
  cred: "cred_00000000000000000000000000",
  inst: "inst_00000000000000000000000000",
  trg: "trg_00000000000000000000000000",
  evt: "evt_00000000000000000000000000",
  dlq: "dlq_00000000000000000000000000",
  rpl: "rpl_00000000000000000000000000",
  whe: "whe_00000000000000000000000000",
  att: "att_00000000000000000000000000",
  ntf: "ntf_00000000000000000000000000",
  oid: "org_00000000000000000000000000",
  spid: "spc_00000000000000000000000000",
  id: "blob_00000000000000000000000000",
  a: "1",
  b: "1",
  path: "v1/orders"
}

const at = (route: Route, ids: { readonly [parameter: string]: string }) =>
  route.path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? assert.fail(`no id for :${name} of ${route.path}`))

/** Surface B has its own header for the key, and one for the workspace. */
const as = (route: Route, key: string) =>
  route.path.startsWith("/api/v1/tenants/")
    ? { headers: { "x-svc-api-key": key, "x-svc-space-id": svc.first.spaceId } }
    : { key }

const needs = (route: Route): ReadonlyArray<string> =>
  typeof route.permit === "string" ? (route.permit === "anyKey" ? [] : [route.permit]) : (route.permit ?? [])

describe.each(presets)("a key of the preset %s", (preset) => {
  const held: ReadonlySet<string> = presetPermissions(preset)

  it.each(routes)("$method $path", async (route) => {
    const { body, status } = await svc.ask(route.method, at(route, unknown), {
      ...as(route, keys.get(preset) ?? ""),
      ...(route.method === "GET" || route.method === "DELETE" ? {} : { body: {} })
    })
    const wanted = needs(route)
    if (wanted.length > 0 && !wanted.some((one) => held.has(one))) {
      assert.deepStrictEqual([status, body.code, body.details[0].code], [403, "FORBIDDEN", wanted[0]])
    } else {
      assert.notStrictEqual(status, 403, JSON.stringify(body))
      assert.isBelow(status, 500)
    }
  })
})

describe("a key with all permissions except one", () => {
  it.each([...new Set(routes.flatMap((route) => needs(route)))])("lacks exactly %s", async (lacking) => {
    const permissions: { [group: string]: Array<string> } = {}
    for (const [group, name] of allPermissions.filter((one) => one !== lacking).map((one) => one.split(":"))) {
      ;(permissions[group ?? ""] ??= []).push(name ?? "")
    }
    const made = await svc.ask("POST", "/api/v1/api-keys", {
      key: svc.first.key,
      body: { name: `not ${lacking}`, mode: "live", preset: "custom", permissions }
    })
    assert.strictEqual(made.status, 201, made.text)
    for (const route of routes) {
      const { body, status } = await svc.ask(route.method, at(route, unknown), {
        ...as(route, made.body.data.key),
        ...(route.method === "GET" || route.method === "DELETE" ? {} : { body: {} })
      })
      const wanted = needs(route)
      const refused = status === 403 && isPermission(body.details[0]?.code ?? "") && body.details[0].code === lacking
      const alsoNeeded = route.group === "proxy" && lacking === "connections:read"
      assert.strictEqual(
        refused,
        alsoNeeded || (wanted.length === 1 && wanted[0] === lacking),
        `${route.method} ${route.path}: ${JSON.stringify(body)}`
      )
    }
  })
})

describe("ids of another organisation are answered like unknown ids", () => {
  let theirs: { readonly [parameter: string]: string }
  /** What makes each request valid except for the id. */
  const bodies: { readonly [endpoint: string]: unknown } = {
    "customers.update": { name: "Taken" },
    "workflows.update": { description: "mine now" },
    "apiKeys.update": { name: "Taken" },
    "credentials.store": { connector: "theirs", authMethod: "oauth", credential: { accessToken: "mine" } },
    "credentials.rotate": { credential: { accessToken: "mine" } },
    "authProviders.upsert": { name: "theirs", methodId: "oauth", clientId: "mine" }
  }

  beforeAll(async () => {
    const other = await svc.organisation("Other")
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
    const trigger = await svc.ask("POST", "/api/v1/triggers", {
      key: other.key,
      body: { type: "webhook", name: "theirs", routes: [{ workflowId: other.workflowId }] }
    })
    assert.strictEqual(trigger.status, 201, trigger.text)
    const endpoint = await svc.ask("POST", "/api/v1/webhook-endpoints", {
      key: other.key,
      body: { url: "https://theirs.example/events", events: ["*"] }
    })
    const notification = await svc.ask("POST", "/api/v1/notifications", { key: other.key, body: { title: "theirs" } })
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
      trg: trigger.body.data.id,
      whe: endpoint.body.data.id,
      ntf: notification.body.data.id,
      ctr: connector.body.data.id,
      aid: provider.body.data.id,
      oid: other.organisationId,
      spid: other.spaceId,
      eid: run.headers["x-svc-execution-id"] ?? ""
    }
    for (const route of routes.filter(
      (one) => one.method === "GET" && /:(cid|wid|kid|sid|eid|ctr|conn|inst|trg|whe|ntf|oid|spid)$/.test(one.path)
    )) {
      assert.strictEqual(
        (await svc.ask("GET", at(route, theirs), { key: other.key })).status,
        200,
        `${route.path} is theirs`
      )
    }
  })

  // The proxy's path is the provider's, and its headers name a connection; they have tests of their own.
  it.each(routes.filter(({ group, path }) => path.includes(":") && group !== "proxy"))(
    "$method $path",
    async (route) => {
      const ask = async (ids: typeof unknown) => {
        const { body, status } = await svc.ask(route.method, at(route, ids), {
          ...as(route, svc.first.key),
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
