/** What an SMTP server refused, as an answer of HTTP or a failure of egress. */
import { Effect } from "effect"
import { EgressBlocked, type EgressFailure, type EgressResponse, EgressUnreachable } from "../../actors/ports/Egress.js"
import type { Json } from "../../domain/Json.js"
import { BlockedAddress } from "./Connect.js"
import { networkReasonOf } from "./NetworkReason.js"

export const smtpAnswer = (url: string, status: number, body: Json): EgressResponse => ({
  status,
  headers: [["content-type", "application/json"]],
  body: Buffer.from(JSON.stringify(body)),
  url
})

/** The fields of nodemailer's errors. */
interface SmtpError extends Error {
  readonly code?: string
  readonly originalCode?: string
  readonly response?: string
  readonly responseCode?: number
}

/** Replies that mean that the login, or its absence, is refused. */
const loginReplies: ReadonlySet<number> = new Set([530, 534, 535, 538])

export const smtpFailure = (url: string, error: SmtpError): Effect.Effect<EgressResponse, EgressFailure> => {
  if (error instanceof BlockedAddress)
    return Effect.fail(new EgressBlocked({ url, reason: `leads to ${error.message}` }))
  const { code, response = "", responseCode } = error
  if (code === "ETLS" || responseCode === undefined || response === "") return withoutReply(url, error)
  const message = response.replace(/\s+/g, " ").trim().slice(0, 2_000)
  const refusal = { code: String(responseCode), message }
  if (loginReplies.has(responseCode) || (code === "EAUTH" && responseCode >= 500))
    return Effect.succeed(smtpAnswer(url, 401, refusal))
  // A 5xx of SMTP is a permanent refusal; as an HTTP status it would look like a failing server.
  return Effect.succeed(smtpAnswer(url, responseCode < 500 ? responseCode : 422, refusal))
}

const withoutReply = (url: string, error: SmtpError): Effect.Effect<EgressResponse, EgressFailure> => {
  const { code, message, originalCode, response } = error
  if (code === "EAUTH")
    return Effect.succeed(smtpAnswer(url, 401, { code: "NO_LOGIN", message: "the server and the login do not fit" }))
  if (code === "EMESSAGE") return Effect.succeed(smtpAnswer(url, 413, { code: "TOO_LARGE", message }))
  const reason =
    code === "ETLS" && response !== undefined
      ? `the server does not offer TLS, which the connection asks for: ${response.slice(0, 200)}`
      : originalCode === undefined
        ? networkReasonOf(Object.assign(new Error(message), isOwn(code) ? {} : { code }))
        : networkReasonOf(Object.assign(new Error(message), { code: originalCode }))
  return Effect.fail(new EgressUnreachable({ url, reason }))
}

/** Whether a code is nodemailer's own: such codes say less than the message. */
const isOwn = (code: string | undefined) =>
  code === undefined || ["ESOCKET", "ECONNECTION", "EPROTOCOL", "ETIMEDOUT", "ETLS", "EENVELOPE"].includes(code)
