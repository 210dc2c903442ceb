/** A service, a connection to a connector of the organisation, and functions that save drafts of that and test them. */
import { assert } from "@effect/vitest"
import { connect, definition, publishConnector, startSharedCalls, stopCalls, svc, systems } from "./calls.js"
import { makeKey } from "./keys.js"

/** The credential of the connection: long enough to be removed from answers wherever it stands. */
export const customerSecret = "canary_key_of_the_customer"
export const testedConnector = "svc-tested"

export let connection: string
/** A key without `connections:decrypt`. */
export let tester: string
let versions = 0

export const startDraftTests = async () => {
  await startSharedCalls()
  await publishConnector(testedConnector)
  connection = (await connect(testedConnector, customerSecret)).id
  const permissions = { connections: ["read", "update"], connectors: ["read", "write"] }
  tester = (await makeKey(svc, { preset: "custom", permissions })).key
}
export const stopDraftTests = stopCalls

export const ask = (method: string, target: string, body?: unknown, key = svc.first.key) =>
  svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })

/** Saves the next draft of the connector: its published form with other members. */
export const saveDraft = async (more: object) => {
  const body = definition(testedConnector, `9.${(versions += 1)}.0`, more)
  const saved = await ask("PUT", `/connectors/${testedConnector}`, body)
  assert.strictEqual(saved.status, 200, saved.text)
}

export const actionOf = (name: string, path: string, more: object = {}, method = "GET") => ({
  name,
  version: 1,
  request: { method, path },
  ...more
})

export const webhookOf = (more: object) => ({
  id: "hook",
  type: "per_event",
  verify: { scheme: "hmac", subscriptionSecret: true, header: "x-signature" },
  ...more
})

export const testAction = (name: string, body: object, key = tester, connector = testedConnector) =>
  ask("POST", `/connectors/${connector}/actions/${name}/test`, body, key)

export const executeWebhook = (webhook: string, body: object, key = tester) =>
  ask("POST", `/connectors/${testedConnector}/webhooks/${webhook}/execute`, body, key)

/** A connection to the built-in connector of any HTTP API, with the credential as a bearer token. */
export const connectHttp = async (label: string): Promise<string> => {
  const made = await ask("POST", "/connections", {
    connector: "http",
    customerId: svc.first.customerId,
    label,
    authMethod: "bearer",
    config: { baseUrl: systems.url },
    credential: { token: customerSecret }
  })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}
