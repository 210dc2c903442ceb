/** The use cases of embed sessions and of the backends that open them, as one layer. */
import { Layer } from "effect"
import { connectionUseCases } from "../connection/UseCases.js"
import { ConnectorRecords } from "../connector/ConnectorRecords.js"
import { EmbeddedConnections } from "./EmbeddedConnections.js"
import { EmbeddedConnectors } from "./EmbeddedConnectors.js"
import { EmbeddedExecutions } from "./EmbeddedExecutions.js"
import { EmbeddedInstallations } from "./EmbeddedInstallations.js"
import { EmbeddedWorkflows } from "./EmbeddedWorkflows.js"
import { EmbedSessionControl } from "./EmbedSessionControl.js"
import { EmbedTokens } from "./EmbedTokens.js"
import { OfferedStarts } from "./OfferedStarts.js"

export const embedUseCases = Layer.mergeAll(
  EmbeddedConnections.Default,
  EmbeddedConnectors.Default,
  EmbeddedExecutions.Default,
  EmbeddedInstallations.Default,
  EmbeddedWorkflows.Default,
  EmbedSessionControl.Default,
  EmbedTokens.Default,
  OfferedStarts.Default
).pipe(Layer.provide(Layer.merge(connectionUseCases, ConnectorRecords.Default)))
