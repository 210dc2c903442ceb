/** The connectors that come with the service. Shared code knows them by nothing but what they declare. */
import type { ConnectorDefinition } from "../connector/Definition.js"
import { github } from "./github/GitHub.js"
import { quickbooks } from "./quickbooks/QuickBooks.js"
import { shopify } from "./shopify/Shopify.js"
import { slack } from "./slack/Slack.js"
import { stripe } from "./stripe/Stripe.js"
import { xero } from "./xero/Xero.js"

export const catalogue: ReadonlyArray<ConnectorDefinition> = [shopify, stripe, quickbooks, xero, github, slack]
