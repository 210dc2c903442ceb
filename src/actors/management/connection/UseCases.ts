/** The use cases of connections, and of the clients and credentials that they use, as one layer. */
import { Layer } from "effect"
import { AuthProviders } from "./AuthProviders.js"
import { CustomerConnections } from "./CustomerConnections.js"
import { CustomerCredentials } from "./CustomerCredentials.js"
import { ConnectorRecords } from "../connector/ConnectorRecords.js"

export const connectionUseCases = Layer.mergeAll(
  AuthProviders.Default,
  CustomerConnections.Default,
  CustomerCredentials.Default
).pipe(Layer.provide(ConnectorRecords.Default))
