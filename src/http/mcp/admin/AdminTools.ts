/** The tools of the admin gateway, in the order in which they are listed. Contract: tool gateways, admin tools. */
import type { OperationTool } from "../OperationTool.js"
import { actionTools } from "./ActionTools.js"
import { authTools } from "./AuthTools.js"
import { connectionTools } from "./ConnectionTools.js"
import { connectorTools } from "./ConnectorTools.js"
import { webhookTools } from "./WebhookTools.js"

export const adminTools: ReadonlyArray<OperationTool> = [
  ...connectorTools,
  ...actionTools,
  ...authTools,
  ...webhookTools,
  ...connectionTools
]
