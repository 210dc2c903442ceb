/** The use cases of connectors, as one layer. */
import { Layer } from "effect"
import { ActionTests } from "./ActionTests.js"
import { ConnectorAuthoring } from "./ConnectorAuthoring.js"
import { ConnectorCatalogue } from "./ConnectorCatalogue.js"
import { ConnectorDiscovery } from "./ConnectorDiscovery.js"
import { ConnectorPartReads } from "./ConnectorPartReads.js"
import { ConnectorParts } from "./ConnectorParts.js"
import { ConnectorImport } from "./ConnectorImport.js"
import { ConnectorRecords } from "./ConnectorRecords.js"

export const connectorUseCases = Layer.mergeAll(
  ActionTests.Default,
  ConnectorAuthoring.Default,
  ConnectorCatalogue.Default,
  ConnectorDiscovery.Default,
  ConnectorParts.Default,
  ConnectorPartReads.Default
).pipe(Layer.provide(Layer.merge(ConnectorImport.Default, ConnectorRecords.Default)))
