/** The built-in connectors. Shared code depends on their definitions only, never on a slug. */
import type { BundledConnector, ConnectorDefinition } from "../connector/Definition.js"
import { cin7 } from "./cin7/Cin7.js"
import { confluence } from "./confluence/Confluence.js"
import { googleDrive } from "./google-drive/GoogleDrive.js"
import { github } from "./github/GitHub.js"
import { email } from "./Email.js"
import { http } from "./Http.js"
import { hubspot } from "./hubspot/HubSpot.js"
import { jira } from "./jira/Jira.js"
import { openai } from "./OpenAi.js"
import { pipedrive } from "./pipedrive/Pipedrive.js"
import { quickbooks } from "./quickbooks/QuickBooks.js"
import { salesforce } from "./salesforce/Salesforce.js"
import { shipstation } from "./shipstation/ShipStation.js"
import { shopify } from "./shopify/Shopify.js"
import { slack } from "./slack/Slack.js"
import { stripe } from "./stripe/Stripe.js"
import { xero } from "./xero/Xero.js"

export const builtInConnectors: ReadonlyArray<BundledConnector> = [
  shopify,
  stripe,
  quickbooks,
  xero,
  cin7,
  shipstation,
  github,
  googleDrive,
  confluence,
  jira,
  slack,
  email,
  http,
  openai,
  hubspot,
  salesforce,
  pipedrive
]

/** Their slugs, to suggest one for a mistyped name. */
export const builtInSlugs: ReadonlyArray<string> = builtInConnectors.map(({ slug }) => slug)

/**
 * The latest definitions of all built-in connectors.
 * @internal Used by tests and benches.
 */
export const catalogue = (): ReadonlyArray<ConnectorDefinition> =>
  builtInConnectors.map(({ definition }) => definition())

/** The definition of a built-in connector by slug. */
export const builtInOf = (slug: string): ConnectorDefinition | undefined => builtInFor(slug)?.definition()

/** A built-in connector by slug, with earlier versions of its actions. */
export const builtInFor = (slug: string): BundledConnector | undefined =>
  builtInConnectors.find((one) => one.slug === slug)
