/**
 * How endpoints are asked about the records of a side, where the rules of `endpoints.ts` do not say it: by method and path,
 * on surface B as on surface C.
 */
import type { Endpoint } from "./endpoints.js"
import { fieldMapOf, widgetOf } from "./endpointWorld.js"
import { acme, acmeWebhook, acmeWithContacts } from "./oauthProvider.js"

type Uses = NonNullable<Endpoint["uses"]>

const newConnection: Uses = async ({ side, world }) => ({ connection: await world.make.connection(side) })
/** An API key cannot be refreshed. */
const newMachine: Uses = async ({ side, world }) => ({
  connection: await world.make.connection(side, world.unique(), "machine")
})
const newDisabled: Uses = async ({ side, world }) => {
  const connection = await world.make.connection(side)
  await world.svc.ask("POST", `/api/v1/connections/${connection}/disable`, { key: world.svc.first.key })
  return { connection }
}
const newWorkflow: Uses = async ({ side, world }) => ({ workflow: await world.make.workflow(side.customer) })
const newTrigger: Uses = async ({ side, world }) => ({ trigger: await world.make.trigger(side) })
const newRelease: Uses = async ({ side, world }) => ({ release: await world.make.release(side) })
const newApiKey: Uses = async ({ scope, world }) => ({ apiKey: await world.make.apiKey(scope) })
const newConnector: Uses = async ({ world }) => {
  const connector = world.unique()
  await world.svc.ask("POST", "/api/v1/connectors", { key: world.svc.first.key, body: acme({ slug: connector }) })
  return { connector }
}
const failedEvent: Uses = ({ side, world }) => world.failedEvent(side)

/** Of the side's connector alone. */
const newPublishedWidget: Uses = async ({ side, world: { svc, unique } }) => {
  const { key } = svc.first
  const body = { name: unique(), connectors: [side.connector] }
  const made = await svc.ask("POST", "/api/v1/widgets", { key, body })
  const widget = made.body.data.id
  await svc.ask("POST", `/api/v1/widgets/${widget}/publish`, { key, body: {} })
  return { widget }
}

/** The records that a request consumes, by the last parameter of its path: how another one is made. */
export const newRecords: { readonly [parameter: string]: Uses } = {
  cid: async ({ world }) => ({ customer: await world.make.customer() }),
  wid: newWorkflow,
  env: ({ side, world }) => world.spareEnvironment(side),
  trg: newTrigger,
  kid: newApiKey,
  uid: async ({ world }) => ({ person: await world.make.person() }),
  rid: async ({ world }) => ({ role: await world.make.role() }),
  sid: async ({ side, world }) => ({ secret: await world.make.secret(side, world.secretName()) }),
  ctr: newConnector,
  aid: async ({ side, world }) => ({ client: await world.make.client(side.connector) }),
  conn: newConnection,
  inst: async ({ side, world }) => ({ installation: await world.make.installation(side) }),
  ems: ({ side, world }) => world.make.embedSession(side),
  wdg: async ({ side, world }) => ({ widget: await world.make.widget(side) }),
  dlq: failedEvent,
  whe: async ({ world }) => ({ webhookEndpoint: await world.make.webhookEndpoint() }),
  fmp: async ({ side, world }) => ({ fieldMap: await world.make.fieldMap(side, "CDMContact") })
}

/** An action, an auth method and a webhook of both sides' connectors. */
export const partIds = { action: "me", authMethod: "key", webhook: "hook" }

/** A connector with such parts, which may be removed: no other part needs them. */
const newParts: Uses = async ({ world }) => {
  const connector = world.unique()
  const auth = [
    { id: partIds.authMethod, type: "api_key" },
    { id: "user", type: "basic" }
  ]
  const names = [partIds.action, "subscribe"]
  const actions = names.map((name) => ({ name, request: { method: "GET", path: `/${name}` } }))
  const webhooks = [{ ...acmeWebhook, subscribe: { action: "subscribe" } }]
  const body = acme({ slug: connector, test: undefined, auth, actions, webhooks })
  await world.svc.ask("POST", "/api/v1/connectors", { key: world.svc.first.key, body })
  return { connector }
}

/** The number of the draft that another caller has replaced: the workflow's version when it was published. */
export const replacedDraft = "2"

/** The step that is tested. */
export const testedStep = "only"

/** A flow whose step reads the secret that its input names. */
const newFlow: Uses = async ({ side, world }) => {
  const code = `export default async (input, { input: { secret } }) => secret === undefined ? 1 : await svc.secrets.get(secret)`
  const spec = { steps: [{ name: testedStep, type: "action", config: { code } }] }
  const body = { name: world.unique(), form: "steps", spec, customerId: side.customer }
  const made = await world.svc.ask("POST", "/api/v1/workflows", { key: world.svc.first.key, body })
  return { workflow: made.body.data.id }
}

/** A caller reads the replays of callers of its scope. */
const newReplay: Uses = async ({ side, type, world }) => {
  if (type !== "workflow" && type !== "environment") return {}
  const key = await world.credentialOf([{ type, ids: [side[type]] }])
  const body = { filter: { code: "NONE", customerId: side.customer } }
  const started = await world.svc.ask("POST", "/api/v1/dlq/replay", { key, body })
  return { replay: started.body.data.id }
}

const run: Endpoint = {
  body: ({ side }) => ({ environment: side.environment }),
  headers: ({ side }) => ({ "x-end-org-id": side.customer, "x-svc-connections": side.connection })
}
const throughConnection: Endpoint = { headers: ({ side }) => ({ "x-svc-connections": side.connection }) }
const written: Endpoint = {
  ...throughConnection,
  body: () => ({ emailAddresses: [{ emailAddress: "grace@example.com" }] })
}
const passed: Endpoint = { ...throughConnection, alsoAnswers: [404] }
const ofWorkflow: Endpoint = { query: ({ side }) => `workflow_id=${side.workflow}` }
const credential = { apiKey: "canary_key_2" }
/** Of a connector of its own, which no other request changes meanwhile. */
const changedPart: Endpoint = { uses: newParts }

export const endpointTable: { readonly [name: string]: Endpoint } = {
  "POST /api/v1/workflows/:workflowId/execute": run,
  "POST /api/v1/workflows/:workflowId/run": run,
  "GET /api/v1/proxy/:path": passed,
  "POST /api/v1/proxy/:path": passed,
  "PUT /api/v1/proxy/:path": passed,
  "PATCH /api/v1/proxy/:path": passed,
  "DELETE /api/v1/proxy/:path": passed,
  "GET /api/v1/unified/:category/:entity": throughConnection,
  "GET /api/v1/unified/:category/:entity/:recordId": throughConnection,
  "POST /api/v1/unified/:category/:entity": written,
  "PATCH /api/v1/unified/:category/:entity/:recordId": written,
  "DELETE /api/v1/unified/:category/:entity/:recordId": throughConnection,
  // A customer has one override of a map.
  "POST /api/v1/field-maps": {
    uses: async ({ side, world }) => {
      const taken = await world.make.fieldMap(side, "CDMContact")
      await world.svc.ask("DELETE", `/api/v1/field-maps/${taken}`, { key: world.svc.first.key })
      return {}
    },
    body: ({ side }) => fieldMapOf(side, "CDMContact")
  },
  "GET /api/v1/field-maps/effective": {
    query: ({ side }) => `connector=${side.connector}&model=crm.contact&customer_id=${side.customer}`
  },
  "PUT /api/v1/field-maps/:fmp": { body: () => ({ name: "changed" }) },
  "POST /api/v1/field-maps/:fmp/test": {
    body: ({ side }) => ({ live: { connectionId: side.connection, recordId: "ada@example.com" } })
  },

  "POST /api/v1/organizations": { body: ({ world }) => ({ kind: "team", name: world.unique() }) },

  // A key restricted to environments may change drafts, but nothing that all environments share.
  "PUT /api/v1/workflows/:wid": {
    body: ({ scope, side, type }) =>
      type === "environment" && !scope.some(({ ids }) => ids.includes(side.environment))
        ? { timeoutMs: 1_000 }
        : { description: "changed" }
  },
  "POST /api/v1/workflows/:wid/archive": { uses: newWorkflow },
  "POST /api/v1/workflows/:wid/steps/:name/test": {
    body: ({ side }) => ({ customerId: side.customer }),
    headers: ({ side }) => ({ "x-svc-env": side.environment }),
    uses: newFlow,
    reads: newFlow
  },
  "POST /api/v1/workflows/:wid/drafts/:n/restore": {
    body: () => ({}),
    uses: async ({ side, world }) => {
      const workflow = await world.make.workflow(side.customer)
      const body = { code: "export default async () => 2" }
      await world.svc.ask("PUT", `/api/v1/workflows/${workflow}`, { key: await world.credentialOf([]), body })
      return { workflow }
    }
  },
  "POST /api/v1/releases/:rel/rollback": { uses: newRelease },

  "GET /api/v1/executions/stats": ofWorkflow,
  "GET /api/v1/executions/failures": ofWorkflow,
  "POST /api/v1/executions/:eid/cancel": { uses: ({ side, world }) => world.standardRun(side, true) },
  "POST /api/v1/executions/:eid/rerun": { uses: ({ side, world }) => world.standardRun(side, false) },
  "POST /api/v1/executions/:eid/approvals/:apv": { uses: ({ side, world }) => world.openApproval(side) },
  "GET /api/v1/watch": { query: ({ side }) => `topics=executions,connections,execution:${side.execution}` },

  "POST /api/v1/api-keys": {
    body: ({ scope, world }) => ({ name: world.unique(), mode: "live", preset: "viewer", resourceScope: scope })
  },
  // A key cannot change a key with wider permissions or scope.
  "PUT /api/v1/api-keys/:kid": { uses: newApiKey },
  "POST /api/v1/api-keys/:kid/rotate": { uses: newApiKey },
  "POST /api/v1/api-keys/:kid/identity-secret": { uses: newApiKey },
  "GET /api/v1/me": { isOfCaller: true },
  "DELETE /api/v1/sessions/:ses": { alsoAnswers: [404] },
  "PUT /api/v1/users/:uid": { body: ({ world }) => ({ name: world.unique() }) },
  "POST /api/v1/secrets": {
    body: ({ side }) => ({
      name: side.secretName,
      value: "another",
      customerId: side.customer,
      environment: side.environment
    })
  },
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

  "POST /api/v1/connectors": { body: ({ world }) => acme({ slug: world.unique() }) },
  "POST /api/v1/connectors/discover": {
    body: ({ side, type }) =>
      type === "connection" ? { connectionId: side.connection } : { connector: side.connector }
  },
  "PUT /api/v1/connectors/:ctr": { body: ({ side }) => ({ ...acmeWithContacts(side.connector), version: "1.0.1" }) },
  "POST /api/v1/connectors/:ctr/publish": { uses: newConnector },
  "PATCH /api/v1/connectors/:ctr": changedPart,
  "POST /api/v1/connectors/:ctr/actions": changedPart,
  "PATCH /api/v1/connectors/:ctr/actions/:act": changedPart,
  "DELETE /api/v1/connectors/:ctr/actions/:act": changedPart,
  "POST /api/v1/connectors/:ctr/actions/:act/versions": {
    uses: newParts,
    body: () => ({ name: partIds.action, request: { method: "GET", path: "/v2/me" } })
  },
  "POST /api/v1/connectors/:ctr/auth-methods": { uses: newParts, body: () => ({ id: "token", type: "basic" }) },
  "PATCH /api/v1/connectors/:ctr/auth-methods/:mtd": changedPart,
  "DELETE /api/v1/connectors/:ctr/auth-methods/:mtd": changedPart,
  "POST /api/v1/connectors/:ctr/auth-methods/:mtd/default": changedPart,
  "PUT /api/v1/connectors/:ctr/webhooks": changedPart,
  "DELETE /api/v1/connectors/:ctr/webhooks/:whk": changedPart,
  "POST /api/v1/connectors/:ctr/actions/:act/test": { body: ({ side }) => ({ connectionId: side.connection }) },
  "POST /api/v1/connectors/:ctr/webhooks/:whk/execute": {
    body: ({ side }) => ({ snippet: "subscribe", connectionId: side.connection })
  },
  "PUT /api/v1/connectors/:ctr/auth-providers": {
    body: ({ world }) => ({ name: world.unique(), methodId: "oauth", clientId: "client" })
  },
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
  "PUT /api/v1/connections/:conn": { uses: newConnection },
  "POST /api/v1/connections/:conn/reconnect": { body: () => ({}), uses: newConnection },
  "POST /api/v1/connections/:conn/refresh": { uses: newMachine },
  "POST /api/v1/connections/:conn/enable": { uses: newDisabled },
  "POST /api/v1/connections/:conn/disable": { uses: newConnection },
  "POST /api/v1/installations": {
    body: ({ side, world }) => ({
      customerId: side.customer,
      integration: world.unique(),
      workflowIds: [side.workflow],
      connections: { [side.connector]: side.connection }
    })
  },
  "PUT /api/v1/installations/:inst": { body: () => ({ config: { changed: true } }) },

  "POST /api/v1/embed/token": {
    isForChosen: true,
    // A person opens no session.
    alsoAnswers: [403],
    uses: newPublishedWidget,
    body: ({ side }) => ({ endOrgId: side.customer, widgetId: side.widget, connectors: [side.connector] })
  },
  "POST /api/v1/embed/token/refresh": {
    uses: ({ side, world }) => world.make.embedSession(side),
    body: ({ side }) => ({ token: side.embedToken })
  },
  "POST /api/v1/widgets": { body: ({ side, world }) => widgetOf(side, world.unique()) },
  "PUT /api/v1/widgets/:wdg": { body: ({ side, world }) => widgetOf(side, world.unique()) },
  // A widget offers workflows that all customers may run.
  "POST /api/v1/widgets/:wdg/publish": {
    uses: async ({ side, world }) => {
      const workflow = await world.make.workflow(null)
      return { workflow, widget: await world.make.widget({ ...side, workflow }) }
    }
  },

  "POST /api/v1/events": { body: ({ side }) => ({ type: side.eventType, customerId: side.customer }) },
  "POST /api/v1/dlq/replay": { body: () => ({ filter: { code: "NONE" } }) },
  "GET /api/v1/dlq-replays/:rpl": { uses: newReplay },
  "POST /api/v1/dlq/:dlq/replay": { uses: failedEvent },
  "POST /api/v1/triggers": {
    body: ({ side, world }) => ({
      type: "webhook",
      name: world.unique(),
      customerId: side.customer,
      routes: [{ workflowId: side.workflow, environment: side.environment }]
    })
  },
  "POST /api/v1/triggers/:trg/disable": { uses: newTrigger },
  "GET /api/v1/triggers/:trg/subscriptions": { uses: ({ side, world }) => world.failedSubscription(side) },
  "POST /api/v1/triggers/:trg/retry-subscription": { uses: ({ side, world }) => world.failedSubscription(side) },
  "POST /api/v1/webhook-endpoints": {
    body: ({ world }) => ({ url: `${world.provider.url}/events`, events: ["connection.*"] })
  },
  "GET /api/v1/quota/usage": { query: ({ side }) => `customer_id=${side.customer}` },
  "POST /api/v1/notifications/mark-read": { body: ({ side }) => ({ ids: [side.notification] }) },

  "POST /api/v1/tenants/:tid/credentials": {
    body: ({ side, world }) => ({
      connector: side.connector,
      authMethod: "key",
      label: side.credentialLabel,
      config: { base: world.provider.url },
      credential
    })
  },
  "PUT /api/v1/tenants/:tid/credentials/:cred": { body: () => ({ credential }) }
}
