/** The admin gateway's tools on the webhooks and events of a connector's draft. Contract: tool gateways, admin tools. */
import { operationOf } from "../../operations/Surfaces.js"
import type { OperationTool } from "../OperationTool.js"
import { choice, connectionId, connector, object, optional, text } from "./ToolArguments.js"

const ofConnector = { connector: { path: "ctr" } } as const
const ofConfig = { ...ofConnector, configId: { path: "whk" } } as const
const configId = text("The id of the webhook in the definition's `webhooks`.")

export const webhookTools: ReadonlyArray<OperationTool> = [
  {
    name: "svc_webhook_config_list",
    title: "List webhooks",
    description: "Lists the webhooks of a connector's draft: how they are subscribed, verified and read.",
    arguments: { connector },
    uses: [{ operation: operationOf("webhookConfigs.list"), places: ofConnector }]
  },
  {
    name: "svc_webhook_config_get",
    title: "Read a webhook",
    description: "Reads a webhook of a connector's draft.",
    arguments: { connector, configId },
    uses: [{ operation: operationOf("webhookConfigs.get"), places: ofConfig }]
  },
  {
    name: "svc_webhook_config_upsert",
    title: "Store a webhook",
    description: "Adds a webhook to the draft of a connector, or replaces the one with its id.",
    arguments: {
      connector,
      config: object("The webhook: id, type (app or per_event), eventKey, subscribe, unsubscribe, renew and verify.")
    },
    uses: [{ operation: operationOf("webhookConfigs.upsert"), places: { ...ofConnector, config: "wholeBody" } }]
  },
  {
    name: "svc_webhook_config_delete",
    title: "Remove a webhook",
    description: "Removes a webhook from the draft of a connector.",
    arguments: { connector, configId },
    uses: [{ operation: operationOf("webhookConfigs.delete"), places: ofConfig }],
    isDestructive: true
  },
  {
    name: "svc_webhook_event_list",
    title: "List events",
    description: "Lists the events of a connector's draft with the schemas of their payloads.",
    arguments: { connector },
    uses: [{ operation: operationOf("webhookConfigs.events"), places: ofConnector }]
  },
  {
    name: "svc_webhook_config_execute",
    title: "Execute a webhook's snippet",
    description:
      "Calls the provider with the action by which a webhook of the draft is subscribed, unsubscribed or renewed, with a connection of this connector.",
    arguments: {
      connector,
      configId,
      snippet: choice(["subscribe", "unsubscribe", "renew"], "Which of them."),
      connectionId,
      input: optional(object("What the templates read: args, event, webhook and subscription."))
    },
    uses: [
      {
        operation: operationOf("webhookTests.run"),
        places: {
          ...ofConfig,
          snippet: { body: "snippet" },
          connectionId: { body: "connectionId" },
          input: { body: "input" }
        }
      }
    ],
    isOpenWorld: true
  }
]
