/** The operations that call a provider with parts of a draft. Specification: Surface C; contract: connector definition. */
import { ActionTests } from "../../../actors/management/connector/ActionTests.js"
import type { TestedCall } from "../../../actors/management/connector/DraftCalls.js"
import { ActionTest, ExecuteWebhook, TestAction, WebhookTest } from "../../../domain/connector/request/ActionTest.js"
import { auditAction } from "../../operation/Contract.js"
import { operationsOf } from "../../operation/Operation.js"
import { record } from "../../operation/Output.js"
import { strictPayload } from "../../PayloadSchema.js"
import type { Exchange } from "../../pipeline/Exchange.js"

const noteCall =
  (exchange: Exchange) =>
  ({ called, connectionId, connector, connectorId, origin }: TestedCall) => {
    exchange.subject = { type: "connector", id: connectorId, name: connector }
    exchange.changes = [
      { path: "called", before: null, after: called },
      { path: "connectionId", before: null, after: connectionId },
      ...(origin === null ? [] : [{ path: "credentialSentTo", before: null, after: origin }])
    ]
  }

const ofActionTests = operationsOf({
  with: ActionTests,
  resource: "connector",
  sharing: "customers",
  scoped: { connector: "record", connection: "record" }
})

/** The operation of the group `actionTests`. */
export const actionTestsOperations = [
  ofActionTests({
    name: "actionTests.run",
    summary: "Test an action of a draft",
    description:
      "Calls an action of the draft, or of the newest version without one, once, with the credential of a connection to the connector. Only the action is the draft's: the connection signs in as the version does that it uses. A request to an origin that this version does not call also needs `connections:decrypt`. With `mock` the action's mocks answer, and nothing is called.",
    answers: { 200: "The outcome, also if the provider refused the call." },
    parameters: { act: "The name of the action." },
    example: { mock: true, args: { limit: 10 } },
    route: "POST /api/v1/connectors/:ctr/actions/:act/test",
    body: strictPayload(TestAction),
    output: record(ActionTest),
    form: { idempotency: "lease" },
    permit: "connections:update",
    audit: auditAction("connector.test_action"),
    use: (tests, { context, path, body }) => tests.run(context, path.ctr, path.act, body, noteCall(context))
  })
] as const

/** The operation of the group `webhookTests`. */
export const webhookTestsOperations = [
  ofActionTests({
    name: "webhookTests.run",
    summary: "Execute a call of a draft's webhook",
    description:
      "Calls the action with which a webhook of the draft subscribes, renews or unsubscribes, as a test of an action does. Its templates read `input` in place of a trigger's subscription; nothing is stored, and no trigger changes.",
    answers: { 200: "The outcome, also if the provider refused the call." },
    parameters: { whk: "The id of the webhook in the definition." },
    example: {
      snippet: "subscribe",
      connectionId: "conn_01k0000000000000000000000a",
      input: { webhook: { url: "https://app.example.com/received", secret: "a made-up secret" } }
    },
    route: "POST /api/v1/connectors/:ctr/webhooks/:whk/execute",
    body: strictPayload(ExecuteWebhook),
    output: record(WebhookTest),
    form: { idempotency: "lease" },
    permit: { all: ["connectors:write", "connections:update"] },
    audit: auditAction("connector.execute_webhook"),
    use: (tests, { context, path, body }) => tests.runWebhook(context, path.ctr, path.whk, body, noteCall(context))
  })
] as const
