/**
 * The port `MailEgress` over nodemailer's SMTP client, which gets an open socket to an address that was checked, like
 * every other connection. One time limit applies to the whole exchange; no credential is sent before TLS, unless the
 * connection disables TLS.
 */
import { Clock, Duration, Effect, Either } from "effect"
import { EgressBlocked, type EgressFailure, type EgressResponse } from "../../actors/ports/Egress.js"
import { MailEgress, type MailRequest } from "../../actors/ports/delivery/MailEgress.js"
import { buildMessage } from "../../domain/connector/request/MailMessage.js"
import { headerOf, answerJson } from "../../domain/connector/request/ProviderAnswer.js"
import { type ConnectOptions, guardedConnector } from "./Connect.js"
import type { ConnectionPlaces } from "./ConnectionPlaces.js"
import { busyFailure, NoConnection, withPlace } from "./ConnectionWait.js"
import { smtpAnswer } from "./SmtpFailure.js"
import type { Errand, Security } from "./SmtpVisit.js"
import { tellable } from "./RequestForm.js"
import { parseUrl } from "../../domain/Url.js"
import { mail } from "../../domain/Limits.js"

export const makeMailEgress = (options: ConnectOptions, places: ConnectionPlaces): typeof MailEgress.Service => {
  const open = guardedConnector(options)
  return MailEgress.of({
    send: (request) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const read = readRequest(request, now)
        if (typeof read === "string")
          return Effect.fail(new EgressBlocked({ url: tellable(request.url), reason: read }))
        if (Either.isLeft(read)) return Effect.succeed(read.left)
        const errand = read.right
        const server = `${errand.url.protocol}//${errand.url.host}`
        const millis = Duration.toMillis(request.timeout)
        // The client is loaded with the first mail.
        return Effect.flatMap(
          Effect.promise(() => import("./SmtpVisit.js")),
          ({ visitServer }) =>
            Effect.async<EgressResponse, EgressFailure>((resume) => {
              const stop = withPlace(
                places,
                request,
                server,
                ({ release }) => visitServer(open, errand, options.ca, millis, resume, release),
                (error) => error instanceof NoConnection && resume(Effect.fail(busyFailure(errand.url.href, error)))
              )
              return Effect.sync(() => stop(new Error("interrupted")))
            })
        )
      })
  })
}

// --- Reading the request ---

/** A text says why it cannot be sent. Left: a response without contacting the server. */
const readRequest = (request: MailRequest, now: number): Either.Either<Errand, EgressResponse> | string => {
  const url = parseUrl(request.url)
  if (url === undefined || !/^smtps?:$/.test(url.protocol)) return "is no URL of an SMTP server"
  if (url.hostname === "" || url.username !== "" || url.password !== "") return "is no plain host of an SMTP server"
  if (url.port === "") url.port = url.protocol === "smtps:" ? "465" : "587"
  const errand = { url, security: securityOf(url, request), login: loginOf(request), message: undefined }
  if (request.method === "VERIFY") return Either.right(errand)
  if (request.method !== "SEND") return `has the method ${request.method}, which SMTP does not have`
  const body = answerJson({ status: 200, headers: [], body: Buffer.from(request.body ?? "") })
  const message = buildMessage(body ?? null, headerOf(request.headers, "message-key") ?? "", now)
  if (Either.isLeft(message)) {
    const { message: what, path } = message.left
    return Either.left(smtpAnswer(request.url, 422, { code: "INVALID_MESSAGE", message: `${path} ${what}` }))
  }
  return message.right.content.length > mail.messageBytes
    ? Either.left(
        smtpAnswer(request.url, 413, { code: "TOO_LARGE", message: `it has more than ${mail.messageBytes} bytes` })
      )
    : Either.right({ ...errand, message: message.right })
}

const securityOf = (url: URL, request: MailRequest): Security => {
  const said = headerOf(request.headers, "security")
  if (url.protocol === "smtps:" || said === "tls") return "tls"
  if (said === undefined || said === "") return url.port === "465" ? "tls" : "starttls"
  return said === "none" ? "none" : "starttls"
}

const loginOf = (request: MailRequest): Errand["login"] => {
  const encoded = /^basic (.*)$/i.exec(headerOf(request.headers, "authorization") ?? "")?.[1]
  if (encoded === undefined) return undefined
  const both = Buffer.from(encoded, "base64").toString("utf8")
  const colon = both.indexOf(":")
  return { user: both.slice(0, colon), pass: both.slice(colon + 1) }
}
