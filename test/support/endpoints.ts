/** The requests of all endpoints about the records of one side of the world, by method and path. */
import type { Route } from "../../src/http/pipeline/Routes.js"
import type { ScopeType } from "../../src/domain/access/ResourceScope.js"
import type { Scope, Side, World } from "./endpointWorld.js"
import type { Answer } from "./InProcess.js"
import { runEndpoints } from "./runEndpoints.js"
import { draftEndpoints, replacedDraft, testedStep } from "./draftEndpoints.js"
import { peopleEndpoints } from "./peopleEndpoints.js"
import { releaseEndpoints } from "./releaseEndpoints.js"
import { changedWorkflow, tenantEndpoints } from "./tenantEndpoints.js"
import { acme } from "./oauthProvider.js"
import { recordParts, unifiedEndpoints } from "./unified/unifiedEndpoints.js"
import { surfaceA, surfaceAStart, surfaceB, surfaceC, surfaceCStart } from "../../src/http/operations/Surfaces.js"

export const routes: ReadonlyArray<Route> = [...surfaceAStart, ...surfaceA, ...surfaceCStart, ...surfaceC, ...surfaceB]

export const nameOf = ({ method, path }: Pick<Route, "method" | "path">): string => `${method} ${path}`

/** The side that a request is about, and the API key that sends it. */
export interface EndpointRequest {
  readonly world: World
  readonly side: Side
  /** The scope of the key. */
  readonly scope: Scope
  /** The type of resource to which the key is restricted, if the test is about that. */
  readonly type?: ScopeType | undefined
}

export interface Endpoint {
  readonly body?: (asked: EndpointRequest) => unknown
  readonly query?: (asked: EndpointRequest) => string
  readonly headers?: (asked: EndpointRequest) => Answer["headers"]
  /** Creates records that the request consumes. */
  readonly uses?: (asked: EndpointRequest) => Promise<Partial<Side>>
  /** Creates the records with which its run reads a secret, where those of the side do not. */
  readonly reads?: (asked: EndpointRequest) => Promise<Partial<Side>>
  /** It tells of the caller, so that no two callers get the same. */
  readonly isOfCaller?: true
  /** Statuses of 400 and above that also show that the request reached the record. */
  readonly alsoAnswers?: ReadonlyArray<number>
}

const plain: Endpoint = {}
const empty: Endpoint = { body: () => ({}) }

const newConnection: Endpoint["uses"] = async ({ side, world }) => ({ connection: await world.make.connection(side) })
/** An API key cannot be refreshed. */
const newMachine: Endpoint["uses"] = async ({ side, world }) => ({
  connection: await world.make.connection(side, world.unique(), "machine")
})
const newDisabled: Endpoint["uses"] = async ({ side, world }) => {
  const connection = await world.make.connection(side)
  await world.svc.ask("POST", `/api/v1/connections/${connection}/disable`, { key: world.svc.first.key })
  return { connection }
}
const newWorkflow: Endpoint["uses"] = async ({ side, world }) => ({
  workflow: await world.make.workflow(side.customer)
})
const newClient: Endpoint["uses"] = async ({ side, world }) => ({ client: await world.make.client(side.connector) })
const newInstallation: Endpoint["uses"] = async ({ side, world }) => ({
  installation: await world.make.installation(side)
})
const newTrigger: Endpoint["uses"] = async ({ side, world }) => ({ trigger: await world.make.trigger(side) })
/** A caller reads the replays of callers of its scope. */
const newReplay: Endpoint["uses"] = async ({ side, type, world }) => {
  if (type !== "workflow" && type !== "environment") return {}
  const key = await world.credentialOf([{ type, ids: [side[type]] }])
  const body = { filter: { code: "NONE", customerId: side.customer } }
  const started = await world.svc.ask("POST", "/api/v1/dlq/replay", { key, body })
  return { replay: started.body.data.id }
}
/** A key cannot change a key with wider permissions or scope. */
const newKey: Endpoint["uses"] = async ({ scope, world }) => ({ apiKey: await world.make.apiKey(scope) })
const newConnector: Endpoint["uses"] = async ({ world }) => {
  const connector = world.unique()
  await world.svc.ask("POST", "/api/v1/connectors", { key: world.svc.first.key, body: acme({ slug: connector }) })
  return { connector }
}

const run: Endpoint = {
  body: ({ side }) => ({ environment: side.environment }),
  headers: ({ side }) => ({ "x-end-org-id": side.customer, "x-svc-connections": side.connection })
}
const passed: Endpoint = { headers: ({ side }) => ({ "x-svc-connections": side.connection }), alsoAnswers: [404] }
const credential = { apiKey: "canary_key_2" }

export const endpoints: { readonly [name: string]: Endpoint } = {
  "POST /api/v1/workflows/:workflowId/execute": run,
  "POST /api/v1/workflows/:workflowId/run": run,
  "GET /api/v1/proxy/:path": passed,
  "POST /api/v1/proxy/:path": { ...passed, ...empty },
  "PUT /api/v1/proxy/:path": { ...passed, ...empty },
  "PATCH /api/v1/proxy/:path": { ...passed, ...empty },
  "DELETE /api/v1/proxy/:path": passed,

  ...unifiedEndpoints,
  "GET /api/v1/organizations": plain,
  "POST /api/v1/organizations": { body: ({ world }) => ({ kind: "team", name: world.unique() }) },
  "GET /api/v1/organizations/:oid": plain,
  "PUT /api/v1/organizations/:oid": { body: () => ({ timezone: "Europe/Berlin" }) },
  "GET /api/v1/workspaces": plain,
  "POST /api/v1/workspaces": { body: ({ world }) => ({ name: world.unique() }) },
  "GET /api/v1/workspaces/:spid": plain,
  "PUT /api/v1/workspaces/:spid": { body: ({ world }) => ({ name: world.unique() }) },

  "GET /api/v1/customers": plain,
  "POST /api/v1/customers": { body: ({ world }) => ({ name: world.unique() }) },
  "GET /api/v1/customers/:cid": plain,
  "PUT /api/v1/customers/:cid": { body: ({ world }) => ({ name: world.unique() }) },
  "DELETE /api/v1/customers/:cid": { uses: async ({ world }) => ({ customer: await world.make.customer() }) },

  "GET /api/v1/workflows": plain,
  "POST /api/v1/workflows": {
    body: ({ side, world }) => ({
      name: world.unique(),
      form: "code",
      code: "export default async () => 1",
      customerId: side.customer
    })
  },
  "GET /api/v1/workflows/:wid": plain,
  "PUT /api/v1/workflows/:wid": changedWorkflow,
  "DELETE /api/v1/workflows/:wid": { uses: newWorkflow },
  "POST /api/v1/workflows/:wid/publish": empty,
  "POST /api/v1/workflows/:wid/archive": { uses: newWorkflow },
  "GET /api/v1/workflows/:wid/versions": plain,
  "GET /api/v1/workflows/:wid/versions/:a/diff/:b": plain,
  "GET /api/v1/workflows/:wid/diagram.svg": plain,
  "GET /api/v1/workflows/:wid/export": plain,

  ...draftEndpoints,
  ...releaseEndpoints,
  ...tenantEndpoints,

  ...runEndpoints,

  "GET /api/v1/api-keys": plain,
  "POST /api/v1/api-keys": {
    body: ({ scope, world }) => ({ name: world.unique(), mode: "live", preset: "viewer", resourceScope: scope })
  },
  "GET /api/v1/api-keys/:kid": plain,
  "PUT /api/v1/api-keys/:kid": { body: ({ world }) => ({ name: world.unique() }), uses: newKey },
  "DELETE /api/v1/api-keys/:kid": { uses: newKey },
  "POST /api/v1/api-keys/:kid/rotate": { ...empty, uses: newKey },
  "POST /api/v1/api-keys/:kid/identity-secret": { uses: newKey },

  ...peopleEndpoints,

  "GET /api/v1/secrets": plain,
  "POST /api/v1/secrets": {
    body: ({ side }) => ({
      name: side.secretName,
      value: "another",
      customerId: side.customer,
      environment: side.environment
    })
  },
  "GET /api/v1/secrets/:sid/value": plain,
  "DELETE /api/v1/secrets/:sid": {
    uses: async ({ side, world }) => ({ secret: await world.make.secret(side, world.secretName()) })
  },

  "POST /api/v1/callback-secret": plain,
  "POST /api/v1/callback-secret/rotate": plain,

  "GET /api/v1/config": {
    query: ({ side }) => `workflow_id=${side.workflow}&environment=${side.environment}&customer_id=${side.customer}`
  },
  "PUT /api/v1/config": {
    body: ({ side }) => ({
      level: "flow",
      scopeId: side.workflow,
      environment: side.environment,
      key: "limit",
      value: 1
    })
  },

  "GET /api/v1/connectors": plain,
  "POST /api/v1/connectors": { body: ({ world }) => acme({ slug: world.unique() }) },
  "POST /api/v1/connectors/discover": {
    body: ({ side, type }) =>
      type === "connection" ? { connectionId: side.connection } : { connector: side.connector }
  },
  "GET /api/v1/connectors/:ctr": plain,
  "PUT /api/v1/connectors/:ctr": { body: ({ side }) => acme({ slug: side.connector, version: "1.0.1" }) },
  "DELETE /api/v1/connectors/:ctr": { uses: newConnector },
  "POST /api/v1/connectors/:ctr/publish": { ...empty, uses: newConnector },
  "GET /api/v1/connectors/:ctr/export": plain,
  "GET /api/v1/connectors/:ctr/auth-providers": plain,
  "PUT /api/v1/connectors/:ctr/auth-providers": {
    body: ({ world }) => ({ name: world.unique(), methodId: "oauth", clientId: "client" })
  },
  "DELETE /api/v1/connectors/:ctr/auth-providers/:aid": { uses: newClient },

  "GET /api/v1/connections": plain,
  "POST /api/v1/connections": {
    body: ({ side, world }) => ({
      connector: side.connector,
      customerId: side.customer,
      label: world.unique(),
      config: { base: world.provider.url },
      authMethod: "key",
      credential
    })
  },
  "GET /api/v1/connections/:conn": plain,
  "PUT /api/v1/connections/:conn": { body: ({ world }) => ({ label: world.unique() }), uses: newConnection },
  "DELETE /api/v1/connections/:conn": { uses: newConnection },
  "POST /api/v1/connections/:conn/test": plain,
  "POST /api/v1/connections/:conn/reconnect": { ...empty, uses: newConnection },
  "POST /api/v1/connections/:conn/refresh": { uses: newMachine },
  "POST /api/v1/connections/:conn/enable": { uses: newDisabled },
  "POST /api/v1/connections/:conn/disable": { uses: newConnection },
  "POST /api/v1/connections/:conn/reveal": plain,

  "GET /api/v1/installations": plain,
  "POST /api/v1/installations": {
    body: ({ side, world }) => ({
      customerId: side.customer,
      integration: world.unique(),
      workflowIds: [side.workflow],
      connections: { [side.connector]: side.connection }
    })
  },
  "GET /api/v1/installations/:inst": plain,
  "PUT /api/v1/installations/:inst": { body: () => ({ config: { changed: true } }) },
  "DELETE /api/v1/installations/:inst": { uses: newInstallation },

  "GET /api/v1/events": plain,
  "POST /api/v1/events": { body: ({ side }) => ({ type: side.eventType, customerId: side.customer }) },
  "GET /api/v1/events/reconciliation": plain,
  "GET /api/v1/events/:evt": plain,
  "POST /api/v1/events/:evt/replay": empty,
  "GET /api/v1/dlq": plain,
  "POST /api/v1/dlq/replay": { body: () => ({ filter: { code: "NONE" } }) },
  "GET /api/v1/dlq-replays/:rpl": { uses: newReplay },
  "GET /api/v1/dlq/:dlq": plain,
  "POST /api/v1/dlq/:dlq/replay": { ...empty, uses: ({ side, world }) => world.failedEvent(side) },
  "DELETE /api/v1/dlq/:dlq": { uses: ({ side, world }) => world.failedEvent(side) },

  "GET /api/v1/triggers": plain,
  "POST /api/v1/triggers": {
    body: ({ side, world }) => ({
      type: "webhook",
      name: world.unique(),
      customerId: side.customer,
      routes: [{ workflowId: side.workflow, environment: side.environment }]
    })
  },
  "GET /api/v1/triggers/:trg": plain,
  "GET /api/v1/triggers/:trg/fires": plain,
  "PUT /api/v1/triggers/:trg": { body: () => ({ description: "changed" }) },
  "DELETE /api/v1/triggers/:trg": { uses: newTrigger },
  "POST /api/v1/triggers/:trg/enable": plain,
  "POST /api/v1/triggers/:trg/disable": { uses: newTrigger },
  "POST /api/v1/triggers/:trg/fire": empty,
  "GET /api/v1/triggers/:trg/subscriptions": { uses: ({ side, world }) => world.failedSubscription(side) },
  "POST /api/v1/triggers/:trg/retry-subscription": { uses: ({ side, world }) => world.failedSubscription(side) },
  "POST /api/v1/triggers/:trg/rotate-key": plain,
  "GET /api/v1/webhook-endpoints": plain,
  "POST /api/v1/webhook-endpoints": {
    body: ({ world }) => ({ url: `${world.provider.url}/events`, events: ["connection.*"] })
  },
  "GET /api/v1/webhook-endpoints/:whe": plain,
  "PUT /api/v1/webhook-endpoints/:whe": { body: () => ({ description: "changed" }) },
  "DELETE /api/v1/webhook-endpoints/:whe": {
    uses: async ({ world }) => ({ webhookEndpoint: await world.make.webhookEndpoint() })
  },
  "POST /api/v1/webhook-endpoints/:whe/rotate-secret": plain,
  "POST /api/v1/webhook-endpoints/:whe/test": plain,
  "GET /api/v1/webhook-endpoints/:whe/attempts": plain,
  "POST /api/v1/webhook-endpoints/:whe/attempts/:att/resend": plain,
  "POST /api/v1/webhook-endpoints/:whe/resend": empty,

  "GET /api/v1/quota/usage": { query: ({ side }) => `customer_id=${side.customer}` },
  "GET /api/v1/quota/summary": plain,
  "GET /api/v1/quota/daily": plain,

  "GET /api/v1/cluster": plain,

  "GET /api/v1/notifications": plain,
  "POST /api/v1/notifications": { body: ({ side, world }) => ({ title: world.unique(), customerId: side.customer }) },
  "GET /api/v1/notifications/:ntf": plain,
  "POST /api/v1/notifications/mark-read": { body: ({ side }) => ({ ids: [side.notification] }) },

  "GET /api/v1/audit": plain,
  "GET /api/v1/audit/verify": plain,

  "POST /api/v1/tenants/:tid/credentials": {
    body: ({ side, world }) => ({
      connector: side.connector,
      authMethod: "key",
      label: side.credentialLabel,
      config: { base: world.provider.url },
      credential
    })
  },
  "GET /api/v1/tenants/:tid/credentials": plain,
  "PUT /api/v1/tenants/:tid/credentials/:cred": { body: () => ({ credential }) },
  "GET /api/v1/tenants/:tid/events": plain,
  "GET /api/v1/tenants/:tid/events/reconciliation": plain,
  "GET /api/v1/tenants/:tid/events/:evt": plain,
  "POST /api/v1/tenants/:tid/events/:evt/replay": empty,
  "GET /api/v1/tenants/:tid/dlq": plain,
  "POST /api/v1/tenants/:tid/dlq/replay": { body: () => ({ filter: { code: "NONE" } }) },
  "GET /api/v1/tenants/:tid/dlq-replays/:rpl": { uses: newReplay },
  "GET /api/v1/tenants/:tid/dlq/:dlq": plain,
  "POST /api/v1/tenants/:tid/dlq/:dlq/replay": { ...empty, uses: ({ side, world }) => world.failedEvent(side) },
  "DELETE /api/v1/tenants/:tid/dlq/:dlq": { uses: ({ side, world }) => world.failedEvent(side) }
}

/** The values of path parameters, by name. */
const partsOf = ({ side, world }: EndpointRequest): { readonly [name: string]: string } => ({
  cid: side.customer,
  tid: side.customer,
  wid: side.workflow,
  workflowId: side.workflow,
  eid: side.execution,
  id: side.blob,
  kid: side.apiKey,
  uid: side.person,
  rid: side.role,
  sid: side.secret,
  ctr: side.connector,
  aid: side.client,
  conn: side.connection,
  env: side.ownEnvironment,
  rel: side.release,
  inst: side.installation,
  trg: side.trigger,
  evt: side.event,
  dlq: side.deadLetter,
  rpl: side.replay,
  cred: side.credential,
  whe: side.webhookEndpoint,
  att: side.attempt,
  ntf: side.notification,
  apv: side.approval,
  // No key has one.
  ses: "ses_01jd0000000000000000000000",
  oid: world.svc.first.organisationId,
  spid: world.svc.first.spaceId,
  n: replacedDraft,
  name: testedStep,
  a: "1",
  b: "1",
  path: "me",
  ...recordParts(side)
})

export const endpointOf = (route: Route): Endpoint => {
  const found = endpoints[nameOf(route)]
  if (found === undefined) throw new Error(`test/support/endpoints.ts does not say how ${nameOf(route)} is asked`)
  return found
}

export interface Prepared {
  readonly target: string
  readonly body: unknown
  readonly headers: Answer["headers"]
}

/** The request of an endpoint about the side. */
export const prepareRequest = (route: Route, asked: EndpointRequest): Prepared => {
  const { body, headers, query } = endpointOf(route)
  const parts = partsOf(asked)
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => {
    const part = parts[name]
    if (part === undefined) throw new Error(`no side has a ${name}, which ${nameOf(route)} names`)
    return part
  })
  const asks = query?.(asked)
  return {
    target: asks === undefined ? path : `${path}?${asks}`,
    body: body?.(asked),
    headers: headers?.(asked) ?? {}
  }
}

/** Sends the request with the key in the header of its surface. */
export const sendRequest = (
  { svc }: World,
  { method }: Pick<Route, "method">,
  { body, headers, target }: Prepared,
  key: string
): Promise<Answer> => {
  const isTenants = target.startsWith("/api/v1/tenants/")
  return svc.ask(method, target, {
    ...(isTenants ? {} : { key }),
    headers: isTenants ? { "x-svc-api-key": key, "x-svc-space-id": svc.first.spaceId, ...headers } : headers,
    ...(body === undefined ? {} : { body })
  })
}

/** The status and the code of a refusal. On surface B the code is that of the first detail. */
export const refusalOf = ({ body, status }: Answer): readonly [number, string | undefined] => {
  const finer = body?.details?.[0]?.code
  return [status, body?.isCustomAuthError === undefined ? body?.code : (finer ?? body.code)]
}
