/**
 * The port `MailEgress` over nodemailer's SMTP client, which gets an open socket to an address that was checked, like
 * every other connection. One time limit applies to the whole exchange; no credential is sent before TLS, unless the
 * connection disables TLS.
 */
import type { Socket } from "node:net"
import { rootCertificates } from "node:tls"
import { Clock, Duration, Effect, Either } from "effect"
import SMTPConnection from "nodemailer/lib/smtp-connection"
import {
  EgressBlocked,
  type EgressFailure,
  type EgressResponse,
  EgressTimedOut,
  EgressUnreachable
} from "../../actors/ports/Egress.js"
import { MailEgress, type MailRequest } from "../../actors/ports/MailEgress.js"
import { type MailMessage, buildMessage } from "../../domain/connector/MailMessage.js"
import { headerOf, answerJson } from "../../domain/connector/ProviderAnswer.js"
import type { Json } from "../../domain/Json.js"
import { BlockedAddress, type ConnectOptions, guardedConnector } from "./Connect.js"
import { networkReasonOf } from "./NetworkReason.js"
import { tellable } from "./RequestForm.js"
import { parseUrl } from "../../domain/Url.js"
import { mail } from "../../domain/Limits.js"

export const makeMailEgress = (options: ConnectOptions): typeof MailEgress.Service => {
  const open = guardedConnector(options)
  return MailEgress.of({
    send: (request) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const read = readRequest(request, now)
        if (typeof read === "string")
          return Effect.fail(new EgressBlocked({ url: tellable(request.url), reason: read }))
        if (Either.isLeft(read)) return Effect.succeed(read.left)
        return Effect.async<EgressResponse, EgressFailure>((resume) => {
          const visit = new Visit(read.right, options.ca, Duration.toMillis(request.timeout), resume)
          const { host, hostname, port } = read.right.url
          open({ hostname, host, port, protocol: "http:" }, (...[error, socket]) =>
            error === null ? visit.begin(socket) : visit.fail(error)
          )
          return Effect.sync(() => visit.giveUp())
        })
      })
  })
}

/** Largest reply of a server, in bytes. */
const replyBytes = 64 * 1024
const longestTimer = 2 ** 31 - 1

// --- Reading the request ---

type Security = "starttls" | "tls" | "none"

interface Errand {
  readonly url: URL
  readonly security: Security
  readonly login: { readonly user: string; readonly pass: string } | undefined
  /** Absent: only log in. */
  readonly message: MailMessage | undefined
}

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
    return Either.left(answered(request.url, 422, { code: "INVALID_MESSAGE", message: `${path} ${what}` }))
  }
  return message.right.content.length > mail.messageBytes
    ? Either.left(
        answered(request.url, 413, { code: "TOO_LARGE", message: `it has more than ${mail.messageBytes} bytes` })
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

const answered = (url: string, status: number, body: Json): EgressResponse => ({
  status,
  headers: [["content-type", "application/json"]],
  body: Buffer.from(JSON.stringify(body)),
  url
})

// --- The exchange ---

/** One SMTP connection, up to its one response or failure. */
class Visit {
  private readonly timer: NodeJS.Timeout
  private connection: SMTPConnection | undefined
  private ended = false

  constructor(
    private readonly errand: Errand,
    private readonly ca: ReadonlyArray<string> | undefined,
    private readonly millis: number,
    private readonly resume: (result: Effect.Effect<EgressResponse, EgressFailure>) => void
  ) {
    this.timer = setTimeout(
      () => this.end(Effect.fail(new EgressTimedOut({ url: this.errand.url.href, afterMillis: this.millis }))),
      Math.min(millis, longestTimer)
    )
  }

  /** `socket` is open, to an address that was checked. */
  begin(socket: Socket): void {
    if (this.ended) return void socket.destroy()
    const { security, url } = this.errand
    const connection = new SMTPConnection({
      connection: socket,
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: Number(url.port),
      // The EHLO name: a server wants a name or an address, and this machine's own are not disclosed.
      name: "[127.0.0.1]",
      secure: security === "tls",
      requireTLS: security === "starttls",
      ignoreTLS: security === "none",
      // The time limit of the exchange applies, not nodemailer's.
      connectionTimeout: this.millis,
      greetingTimeout: this.millis,
      socketTimeout: this.millis,
      socketCloseTimeout: 1_000,
      maxResponseSize: replyBytes,
      ...(this.ca === undefined ? {} : { tls: { ca: [...rootCertificates, ...this.ca] } })
    })
    this.connection = connection
    connection.on("error", (error: Error) => this.fail(error))
    connection.on("end", () => this.fail(new Error("the server closed the connection")))
    connection.connect((error?: Error | null) => (error ? this.fail(error) : this.login(connection)))
  }

  /** The caller was interrupted. */
  giveUp(): void {
    this.close()
  }

  fail(error: Error): void {
    this.end(failureOf(this.errand.url.href, error))
  }

  private login(connection: SMTPConnection): void {
    const { login } = this.errand
    if (login === undefined) return this.hand(connection)
    connection.login({ user: login.user, pass: login.pass }, (error) =>
      error ? this.fail(error) : this.hand(connection)
    )
  }

  private hand(connection: SMTPConnection): void {
    const { message, url } = this.errand
    if (message === undefined) return this.succeed({ server: url.hostname })
    const { content, from, messageId, recipients } = message
    connection.send({ from, to: [...recipients], size: content.length }, content, (error, info) => {
      if (error || info === undefined) return this.fail(error ?? new Error("the server said nothing"))
      const { accepted, rejected, response } = info
      this.succeed({ messageId, accepted, rejected, response })
    })
  }

  private succeed(body: Json): void {
    // QUIT is sent before the connection closes, without waiting for the reply.
    this.connection?.quit()
    this.end(Effect.succeed(answered(this.errand.url.href, 200, body)))
  }

  private end(result: Effect.Effect<EgressResponse, EgressFailure>): void {
    if (this.close()) this.resume(result)
  }

  /** Closes the connection; false if it was closed before. */
  private close(): boolean {
    if (this.ended) return false
    this.ended = true
    clearTimeout(this.timer)
    this.connection?.close()
    return true
  }
}

// --- Failures ---

/** The fields of nodemailer's errors. */
interface SmtpError extends Error {
  readonly code?: string
  readonly originalCode?: string
  readonly response?: string
  readonly responseCode?: number
}

/** Replies that mean that the login, or its absence, is refused. */
const loginReplies: ReadonlySet<number> = new Set([530, 534, 535, 538])

const failureOf = (url: string, error: SmtpError): Effect.Effect<EgressResponse, EgressFailure> => {
  if (error instanceof BlockedAddress)
    return Effect.fail(new EgressBlocked({ url, reason: `leads to ${error.message}` }))
  const { code, response = "", responseCode } = error
  if (code === "ETLS" || responseCode === undefined || response === "") return withoutReply(url, error)
  const message = response.replace(/\s+/g, " ").trim().slice(0, 2_000)
  const refusal = { code: String(responseCode), message }
  if (loginReplies.has(responseCode) || (code === "EAUTH" && responseCode >= 500))
    return Effect.succeed(answered(url, 401, refusal))
  // A 5xx of SMTP is a permanent refusal; as an HTTP status it would look like a failing server.
  return Effect.succeed(answered(url, responseCode < 500 ? responseCode : 422, refusal))
}

const withoutReply = (url: string, error: SmtpError): Effect.Effect<EgressResponse, EgressFailure> => {
  const { code, message, originalCode, response } = error
  if (code === "EAUTH")
    return Effect.succeed(answered(url, 401, { code: "NO_LOGIN", message: "the server and the login do not fit" }))
  if (code === "EMESSAGE") return Effect.succeed(answered(url, 413, { code: "TOO_LARGE", message }))
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
