/**
 * The port `MailEgress` over nodemailer's SMTP client, which gets an open socket to an address that was checked, like
 * every other connection. One time limit applies to the whole exchange; no credential is sent before TLS, unless the
 * connection disables TLS.
 */
import type { Socket } from "node:net"
import { rootCertificates } from "node:tls"
import { Clock, Duration, Effect, Either } from "effect"
import SMTPConnection from "nodemailer/lib/smtp-connection"
import { EgressBlocked, type EgressFailure, type EgressResponse, EgressTimedOut } from "../../actors/ports/Egress.js"
import { MailEgress, type MailRequest } from "../../actors/ports/delivery/MailEgress.js"
import { type MailMessage, buildMessage } from "../../domain/connector/request/MailMessage.js"
import { headerOf, answerJson } from "../../domain/connector/request/ProviderAnswer.js"
import type { Json } from "../../domain/Json.js"
import { type Connector, type ConnectOptions, guardedConnector } from "./Connect.js"
import type { ConnectionPlaces } from "./ConnectionPlaces.js"
import { busyFailure, NoConnection, withPlace } from "./ConnectionWait.js"
import { smtpAnswer, smtpFailure } from "./SmtpFailure.js"
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
        return Effect.async<EgressResponse, EgressFailure>((resume) => {
          const errand = read.right
          const stop = withPlace(
            places,
            request,
            `${errand.url.protocol}//${errand.url.host}`,
            ({ release }) => visitServer(open, errand, options.ca, Duration.toMillis(request.timeout), resume, release),
            (error) => error instanceof NoConnection && resume(Effect.fail(busyFailure(errand.url.href, error)))
          )
          return Effect.sync(() => stop(new Error("interrupted")))
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

// --- The exchange ---

/** Connects and visits. `release` is called when the visit has ended and no attempt to connect is open. */
const visitServer = (
  open: Connector,
  errand: Errand,
  ca: ReadonlyArray<string> | undefined,
  millis: number,
  resume: (result: Effect.Effect<EgressResponse, EgressFailure>) => void,
  release: () => void
): (() => void) => {
  let uses = 2
  const end = () => --uses === 0 && release()
  const visit = new Visit(errand, ca, millis, resume, end)
  const { host, hostname, port } = errand.url
  open({ hostname, host, port, protocol: "http:" }, (...[error, socket]) => {
    if (error === null) visit.begin(socket)
    else visit.fail(error)
    end()
  })
  return () => visit.giveUp()
}

/** One SMTP connection, up to its one response or failure. */
class Visit {
  private readonly timer: NodeJS.Timeout
  private connection: SMTPConnection | undefined
  private closed = false

  constructor(
    private readonly errand: Errand,
    private readonly ca: ReadonlyArray<string> | undefined,
    private readonly millis: number,
    private readonly resume: (result: Effect.Effect<EgressResponse, EgressFailure>) => void,
    private readonly ended: () => void
  ) {
    this.timer = setTimeout(
      () => this.end(Effect.fail(new EgressTimedOut({ url: this.errand.url.href, afterMillis: this.millis }))),
      Math.min(millis, longestTimer)
    )
  }

  /** `socket` is open, to an address that was checked. */
  begin(socket: Socket): void {
    if (this.closed) return void socket.destroy()
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
    this.end(smtpFailure(this.errand.url.href, error))
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
    this.end(Effect.succeed(smtpAnswer(this.errand.url.href, 200, body)))
  }

  private end(result: Effect.Effect<EgressResponse, EgressFailure>): void {
    if (this.close()) this.resume(result)
  }

  /** Closes the connection; false if it was closed before. */
  private close(): boolean {
    if (this.closed) return false
    this.closed = true
    clearTimeout(this.timer)
    this.connection?.close()
    this.ended()
    return true
  }
}
