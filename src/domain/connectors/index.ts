/** The connectors that come with the service. Shared code knows them by nothing but what they declare. */
import type { ConnectorDefinition } from "../connector/Definition.js"
import { github } from "./github/GitHub.js"
import { shopify } from "./shopify/Shopify.js"
import { stripe } from "./stripe/Stripe.js"

export const catalogue: ReadonlyArray<ConnectorDefinition> = [shopify, stripe, github]
