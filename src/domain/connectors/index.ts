/** The connectors that come with the service. Shared code knows them by nothing but what they declare. */
import type { ConnectorDefinition } from "../connector/Definition.js"
import { shopify } from "./shopify/Shopify.js"

export const catalogue: ReadonlyArray<ConnectorDefinition> = [shopify]
