/** The use cases of embed sessions and of the backends that open them, as one layer. */
import { Layer } from "effect"
import { connectionUseCases } from "../connection/UseCases.js"
import { ConnectorRecords } from "../connector/ConnectorRecords.js"
import { EmbeddedConnections } from "./EmbeddedConnections.js"
import { EmbeddedConnectors } from "./EmbeddedConnectors.js"
import { EmbedSessionControl } from "./EmbedSessionControl.js"
import { EmbedTokens } from "./EmbedTokens.js"

export const embedUseCases = Layer.mergeAll(
  EmbeddedConnections.Default,
  EmbeddedConnectors.Default,
  EmbedSessionControl.Default,
  EmbedTokens.Default
).pipe(Layer.provide(Layer.merge(connectionUseCases, ConnectorRecords.Default)))
