/** A service with two sides that share no records. Each side has one record of every kind that a request can name. */
import { assert } from "@effect/vitest"
import type { ScopeType } from "../../src/domain/access/ResourceScope.js"
import { addReport } from "./reports.js"
import { openPanel } from "./embed.js"
import { addApproval } from "./approvals.js"
import { eventually } from "./eventually.js"
import { type Answer, type Running, start } from "./InProcess.js"
import { keyCallers, type TestCallers } from "./matrices/TestCaller.js"
import { acme, acmeWithContacts, type OAuthProvider, startOAuthProvider } from "./oauthProvider.js"

/** The records of one side, all of one customer. */
export interface Side {
  readonly customer: string
  readonly connector: string
  readonly client: string
  readonly connection: string
  readonly credential: string
  readonly credentialLabel: string
  readonly workflow: string
  readonly secret: string
  readonly secretName: string
  readonly environment: "live" | "test"
  /** An environment of the side's customer, and the slug of another one, which requests may consume. */
  readonly ownEnvironment: string
  readonly ownEnvironmentSlug: string
  readonly spareEnvironmentSlug: string
  /** A release of the workflow for the side's customer, deployed to the side's environment. */
  readonly release: string
  /** A run of the workflow in the side's environment, with its connection. */
  readonly execution: string
  readonly blob: string
  /** Of the run. */
  readonly approval: string
  readonly report: string
  readonly installation: string
  readonly trigger: string
  /** An event of the side's customer whose run failed, its dead letter, and a replay of many. */
  readonly event: string
  readonly deadLetter: string
  readonly replay: string
  /** The type of events that a trigger of the side takes. */
  readonly eventType: string
  readonly apiKey: string
  /** A person who is invited, and a role of the organisation that nobody has. */
  readonly person: string
  readonly role: string
  /** Of the side's customer. */
  readonly notification: string
  readonly webhookEndpoint: string
  /** An attempt to deliver a test event to the webhook endpoint. */
  readonly attempt: string
  /** An override of the connector's map for the side's customer. */
  readonly fieldMap: string
  /** A widget that names the side's connector and workflow. */
  readonly widget: string
  /** An embed session of the widget for the side's customer, and its token. */
  readonly embedSession: string
  readonly embedToken: string
  /** A connect session of the connection. */
  readonly connectSession: string
}

export type Scope = ReadonlyArray<{ readonly type: ScopeType; readonly ids: ReadonlyArray<string> }>

/** A workflow that, by its input, reads a secret, returns much data, waits for minutes, or returns at once. */
const code = `export default async (ctx) => {
  if (ctx.input.secret !== undefined) return await svc.secrets.get(ctx.input.secret)
  if (ctx.input.wait === true) await new Promise((resolve) => setTimeout(resolve, 600_000))
  return ctx.input.large === true ? "x".repeat(400_000) : 1
}`

/** An override of the connector's map, for the side's customer. */
export const fieldMapOf = ({ connector, customer }: Pick<Side, "connector" | "customer">, model: string) => ({
  connector,
  entity: "person",
  model,
  customerId: customer,
  fields: [{ from: "target", to: "customFields.target" }]
})

/** A widget of the side's connector and workflow. */
export const widgetOf = ({ connector, workflow }: Pick<Side, "connector" | "workflow">, name: string) => ({
  name,
  connectors: [connector],
  features: { actions: [{ id: "run", title: "Run", workflowId: workflow }] }
})

/** Starts the world. `callers`: those of the kind that the test is about. */
export const startWorld = async (callers: TestCallers = keyCallers) => {
  const provider: OAuthProvider = await startOAuthProvider()
  const svc: Running = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" }, callers.readers)
  let names = 0
  const unique = () => `n${(names += 1)}`

  const ask = (method: string, target: string, body?: unknown, headers: Answer["headers"] = {}) =>
    svc.ask(method, `/api/v1${target}`, { key: svc.first.key, headers, ...(body === undefined ? {} : { body }) })

  const done = async (method: string, target: string, body?: unknown, headers: Answer["headers"] = {}) => {
    const answer = await ask(method, target, body, headers)
    assert.isBelow(answer.status, 300, `${method} ${target}: ${answer.text}`)
    return answer
  }
  const made = async (target: string, body: unknown): Promise<string> => (await done("POST", target, body)).body.data.id

  /** Creates one record of a kind. A test that consumes a record creates another. */
  const make = {
    customer: () => made("/customers", { name: unique() }),
    connector: () => made("/connectors", acme({ slug: unique() })),
    client: async (connector: string): Promise<string> => {
      const body = { name: unique(), methodId: "oauth", clientId: "client" }
      return (await done("PUT", `/connectors/${connector}/auth-providers`, body)).body.data.id
    },
    connection: (
      { connector, customer }: Pick<Side, "connector" | "customer">,
      label = unique(),
      authMethod: "key" | "machine" = "key"
    ) =>
      made("/connections", {
        connector,
        customerId: customer,
        label,
        config: { base: provider.url },
        authMethod,
        ...(authMethod === "key" ? { credential: { apiKey: "canary_key_1" } } : {})
      }),
    /** The override of the side's customer for a model, which is there once. */
    fieldMap: async ({ connector, customer }: Pick<Side, "connector" | "customer">, model: string): Promise<string> => {
      const body = fieldMapOf({ connector, customer }, model)
      const { status, text, body: answer } = await ask("POST", "/field-maps", body)
      if (status === 201) return answer.data.id
      assert.strictEqual(status, 409, text)
      const all = await done("GET", `/field-maps?connector=${connector}&customer_id=${customer}&model=${model}`)
      return all.body.data[0].id
    },
    /** `customer`: whose it is; `null`: the organisation's. */
    workflow: async (customer: string | null, tier: "instant" | "standard" = "instant") => {
      const id = await made("/workflows", { name: unique(), form: "code", tier, code, customerId: customer })
      await done("POST", `/workflows/${id}/publish`, {})
      return id
    },
    secret: ({ customer, environment }: Pick<Side, "customer" | "environment">, name: string) =>
      made("/secrets", { name, value: `value of ${name}`, customerId: customer, environment }),
    trigger: ({ customer, environment, workflow }: Pick<Side, "customer" | "environment" | "workflow">) =>
      made("/triggers", {
        type: "webhook",
        name: unique(),
        customerId: customer,
        routes: [{ workflowId: workflow, environment }]
      }),
    installation: ({
      connection,
      connector,
      customer,
      workflow
    }: Pick<Side, "connection" | "connector" | "customer" | "workflow">) =>
      made("/installations", {
        customerId: customer,
        integration: unique(),
        workflowIds: [workflow],
        connections: { [connector]: connection }
      }),
    widget: ({ connector, workflow }: Pick<Side, "connector" | "workflow">) =>
      made("/widgets", widgetOf({ connector, workflow }, unique())),
    embedSession: async ({ customer, widget }: Pick<Side, "customer" | "widget">) => {
      const { sessionId, token } = await openPanel(svc, customer)
      // The widget is a draft, since its workflow is not for all customers.
      await svc.sql(`UPDATE embed_sessions SET widget_id = '${widget}' WHERE id = '${sessionId}'`)
      return { embedSession: sessionId, embedToken: token }
    },
    environment: (customer: string, slug: string) => made("/environments", { name: slug, slug, customerId: customer }),
    release: ({ customer, environment, workflow }: Pick<Side, "customer" | "environment" | "workflow">) =>
      made("/releases", { customerId: customer, workflows: [{ workflowId: workflow, version: 1 }], environment }),
    notification: (customer: string) => made("/notifications", { title: unique(), customerId: customer }),
    webhookEndpoint: () => made("/webhook-endpoints", { url: `${provider.url}/${unique()}`, events: ["key.expiring"] }),
    person: async (): Promise<string> => {
      const { body } = await done("POST", "/users/invite", { email: `${unique()}@example.com`, role: "viewer" })
      return body.data.userId
    },
    role: () => made("/roles", { name: unique(), parent: "viewer", permissions: { workflows: ["read"] } }),
    /** The key expires before the keys that change it. */
    apiKey: (resourceScope: Scope) =>
      made("/api-keys", {
        name: unique(),
        mode: "live",
        preset: "full_access",
        hmac: { enabled: true },
        expires: "30d",
        resourceScope
      })
  }

  const started = async (
    side: Pick<Side, "connection" | "customer" | "environment" | "workflow">,
    input: object
  ): Promise<string> => {
    const headers = { "x-end-org-id": side.customer, "x-svc-connections": side.connection }
    const body = { environment: side.environment, input }
    const ran = await done("POST", `/workflows/${side.workflow}/execute`, body, headers)
    return String(ran.headers["x-svc-execution-id"])
  }

  const reached = (execution: string, status: string) =>
    eventually(
      () => ask("GET", `/executions/${execution}`),
      ({ body }) => body.data?.status === status
    )

  /** A run of the side's second workflow, whose tier can be resumed: it waits, or has ended. */
  const standardRun = async (side: Side, waits: boolean): Promise<Pick<Side, "execution" | "workflow">> => {
    const workflow = await make.workflow(side.customer, "standard")
    const execution = await started({ ...side, workflow }, { wait: waits })
    await reached(execution, waits ? "running" : "completed")
    return { workflow, execution }
  }

  const approvalOf = ({
    customer,
    environment,
    execution,
    workflow
  }: Pick<Side, "customer" | "environment" | "execution" | "workflow">) =>
    addApproval(svc.sql, {
      ...svc.first,
      customerId: customer,
      environment,
      executionId: execution,
      workflowId: workflow
    })

  /** An approval of a run that has not ended. */
  const openApproval = async (side: Side): Promise<Pick<Side, "approval" | "execution" | "workflow">> => {
    const run = await standardRun(side, true)
    return { ...run, approval: await approvalOf({ ...side, ...run }) }
  }

  const attemptedEndpoint = async (): Promise<Pick<Side, "attempt" | "webhookEndpoint">> => {
    const webhookEndpoint = await make.webhookEndpoint()
    await done("POST", `/webhook-endpoints/${webhookEndpoint}/test`)
    const { body } = await eventually(
      () => ask("GET", `/webhook-endpoints/${webhookEndpoint}/attempts`),
      ({ body }) => body.data?.length > 0
    )
    return { webhookEndpoint, attempt: String(body.data[0].id) }
  }

  /** An event of a webhook of the side. Its run fails, so that it leaves a dead letter. */
  const failedEvent = async (
    side: Pick<Side, "customer" | "environment" | "workflow">
  ): Promise<Pick<Side, "deadLetter" | "event">> => {
    const { customer, environment, workflow } = side
    const trigger = await done("POST", "/triggers", {
      type: "webhook",
      name: unique(),
      customerId: customer,
      webhook: { auth: "public" },
      // Other endpoints may have taken the workflow out of service: a start that fails is not tried again.
      delivery: { maxAttempts: 1 },
      routes: [{ workflowId: workflow, environment }]
    })
    const { id, webhook } = trigger.body.data
    const sent = await svc.ask("POST", new URL(webhook.url).pathname, { body: { secret: "NO_SUCH_SECRET" } })
    assert.strictEqual(sent.status, 202, sent.text)
    const { body } = await eventually(
      () => ask("GET", `/dlq?trigger_id=${id}`),
      ({ body }) => body.data?.length > 0
    )
    return { event: sent.body.eventId, deadLetter: body.data[0].id }
  }

  /** A trigger of events, and their type. */
  const eventTypeOf = async (side: Pick<Side, "customer" | "environment" | "workflow">): Promise<string> => {
    const type = unique()
    const { customer, environment, workflow } = side
    await made("/triggers", {
      type: "event",
      name: type,
      customerId: customer,
      event: { type },
      routes: [{ workflowId: workflow, environment }]
    })
    return type
  }

  /** A trigger with a subscription that has failed. Its lease keeps the sweep of subscriptions away. */
  const failedSubscription = async (side: Side): Promise<Pick<Side, "trigger">> => {
    const trigger = await make.trigger(side)
    const insert = `INSERT INTO subscriptions (trigger_id, connection_id, org, state, next_at, leased_until)
      VALUES ('${trigger}', '${side.connection}', '${svc.first.organisationId}', 'failed', NULL, now() + interval '1 day')`
    await svc.sql(insert)
    return { trigger }
  }

  const secretName = () => `SECRET_${unique().toUpperCase()}`

  const ranWith = async (side: Pick<Side, "connection" | "customer" | "environment" | "workflow">) => {
    const execution = await started(side, { large: true })
    const { body } = await reached(execution, "completed")
    return { execution, blob: String(body.data.output.$blob) }
  }

  const sideIn = async (environment: Side["environment"]): Promise<Side> => {
    const customer = await make.customer()
    const connector = unique()
    await made("/connectors", acmeWithContacts(connector))
    await done("POST", `/connectors/${connector}/publish`, {})
    const workflow = await make.workflow(customer)
    const credentialLabel = unique()
    const connection = await make.connection({ connector, customer }, credentialLabel)
    const credentials = await svc.ask("GET", `/api/v1/tenants/${customer}/credentials`, {
      headers: { "x-svc-api-key": svc.first.key, "x-svc-space-id": svc.first.spaceId }
    })
    const name = secretName()
    const ownEnvironmentSlug = unique()
    const side = {
      customer,
      connector,
      client: await make.client(connector),
      connection,
      credential: String(credentials.body.data[0].id),
      credentialLabel,
      workflow,
      secret: await make.secret({ customer, environment }, name),
      secretName: name,
      environment,
      ownEnvironment: await make.environment(customer, ownEnvironmentSlug),
      ownEnvironmentSlug,
      spareEnvironmentSlug: unique(),
      release: await make.release({ customer, environment, workflow }),
      ...(await ranWith({ connection, customer, environment, workflow })),
      apiKey: await make.apiKey([]),
      person: await make.person(),
      role: await make.role()
    }
    const widget = await make.widget(side)
    const reconnects = await done("POST", `/connections/${connection}/reconnect`, {})
    return {
      ...side,
      widget,
      ...(await make.embedSession({ customer, widget })),
      connectSession: String(reconnects.body.data.connectSessionId),
      installation: await make.installation(side),
      fieldMap: await make.fieldMap(side, "crm.contact"),
      notification: await make.notification(customer),
      approval: await approvalOf(side),
      report: await addReport(svc.sql, { ...svc.first, ...side }),
      trigger: await make.trigger(side),
      ...(await attemptedEndpoint()),
      ...(await failedEvent(side)),
      eventType: await eventTypeOf(side),
      replay: await made("/dlq/replay", { filter: { code: "NONE", customerId: customer } })
    }
  }

  /** The side's spare environment, which is there until a request deletes it. */
  const spareEnvironment = async (side: Side): Promise<Pick<Side, "ownEnvironment">> => {
    const { customer, spareEnvironmentSlug: slug } = side
    const { body } = await done("GET", `/environments?customer_id=${customer}&q=${slug}`)
    const found = body.data.find((one: { readonly slug: string }) => one.slug === slug)
    return { ownEnvironment: found?.id ?? (await make.environment(customer, slug)) }
  }

  const credentials = new Map<string, Promise<string>>()
  // The first side uses `live`, to which publishing deploys; the second side uses `test`.
  const sides = { inside: await sideIn("live"), outside: await sideIn("test") }
  const chosen = [sides.inside.customer, sides.outside.customer]

  /** The credential of a caller with this scope and all permissions. `isForChosen`: it reaches the sides' customers only. */
  const credentialOf = (scope: Scope, isForChosen = false): Promise<string> => {
    const name = JSON.stringify([scope, isForChosen])
    const known = credentials.get(name)
    if (known !== undefined) return known
    const rights = isForChosen ? { scope, customers: chosen } : { scope }
    const issued = callers.make(svc, rights).then(({ credential }) => credential)
    credentials.set(name, issued)
    return issued
  }

  return {
    svc,
    provider,
    unique,
    secretName,
    make,
    standardRun,
    openApproval,
    failedEvent,
    failedSubscription,
    spareEnvironment,
    credentialOf,
    sides,
    stop: async () => {
      await svc.stop()
      await provider.close()
    }
  }
}

export type World = Awaited<ReturnType<typeof startWorld>>
