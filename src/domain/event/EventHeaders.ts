/** Decides which headers of a request its event keeps, shows, and passes to its runs. Pure. */
import type { WebhookVerification } from "../connector/Webhook.js"
import { isSecretHeader } from "../access/SecretNames.js"
import { workflowHeaders } from "../Tenancy.js"

/** Names of signatures and of tokens, such as `x-hub-signature-256`, `x-shopify-hmac-sha256` and `x-gitlab-token`. */
const proof = /signature|hmac|(?:^|-)token$/

/**
 * The headers without credentials, signatures and the header that the verification reads: what proves who sent a request
 * is not stored. Names are in lower case.
 */
export const eventHeaders = (
  headers: { readonly [name: string]: string },
  verification: Pick<WebhookVerification, "header"> | null = null
): { readonly [name: string]: string } => {
  const verified = verification?.header?.toLowerCase()
  return Object.fromEntries(
    Object.entries(workflowHeaders(headers)).filter(
      ([name]) => name !== verified && !proof.test(name) && !isSecretHeader(name)
    )
  )
}
