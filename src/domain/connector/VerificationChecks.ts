/** Finds mistakes in how webhooks are verified. */
import { Either } from "effect"
import { mistakeAt, type Mistakes, mistakeUnless } from "../expression/Checks.js"
import { ruleOf } from "../event/InboundWebhook.js"
import { encodeHeader } from "./request/ValueEncoding.js"
import type { WebhookVerification } from "./Webhook.js"

/** The mistakes in how a webhook is verified. */
export const verificationMistakes = (verify: WebhookVerification, path: string): Mistakes => {
  const sources = [verify.secretName, verify.clientSecret, verify.subscriptionSecret].filter(
    (source) => source !== undefined && source !== false
  )
  return [
    ...mistakeUnless(
      verify.preset === undefined || verify.scheme === undefined,
      `${path}.scheme`,
      "NOT_ALLOWED",
      `must be absent: the preset ${verify.preset} determines the scheme`
    ),
    ...mistakeUnless(
      verify.preset !== undefined || verify.header !== undefined || !needsHeader(verify),
      `${path}.header`,
      "REQUIRED",
      `is required by the scheme ${verify.scheme}`
    ),
    ...mistakeUnless(
      verify.payload === undefined || verify.payload.includes("{body}"),
      `${path}.payload`,
      "INVALID_VALUE",
      "must contain {body}: a signature that does not cover the body proves nothing"
    ),
    ...mistakeUnless(
      !hasTime(verify) || (ruleOf(verify).payload ?? "").includes("{timestamp}"),
      `${path}.payload`,
      "INVALID_VALUE",
      "must contain {timestamp} if the request has a time: anyone could change a time that is not signed"
    ),
    ...mistakeUnless(
      sources.length <= 1,
      path,
      "DUPLICATE",
      "names more than one secret: secretName, clientSecret and subscriptionSecret exclude each other"
    ),
    ...(["header", "timestampHeader", "idHeader"] as const).flatMap((name) => {
      const value = verify[name]
      return value === undefined ? [] : headerMistakes(value, `${path}.${name}`)
    })
  ]
}

/** Whether requests have a time beside their signature. */
const hasTime = (verify: WebhookVerification): boolean => {
  const { scheme, timestampHeader } = ruleOf(verify)
  return scheme === "stripe" || (scheme === "hmac" && timestampHeader !== undefined)
}

const needsHeader = ({ scheme }: WebhookVerification): boolean => scheme === "hmac" || scheme === "token"

/** The mistake in a header's name. */
export const headerMistakes = (name: string, path: string): Mistakes =>
  Either.match(encodeHeader(name, "", path), {
    onLeft: ({ message }) => mistakeAt(path, "INVALID_HEADER", `"${name}" ${message}`),
    onRight: () => []
  })
