/** One conversation with an SMTP server, by nodemailer's client over a socket to an address that was checked. */
import type { Socket } from "node:net"
import { rootCertificates } from "node:tls"
import { Effect } from "effect"
import SMTPConnection from "nodemailer/lib/smtp-connection"
import { type EgressFailure, type EgressResponse, EgressTimedOut } from "../../actors/ports/Egress.js"
import type { MailMessage } from "../../domain/connector/request/MailMessage.js"
import type { Json } from "../../domain/Json.js"
import type { Connector } from "./Connect.js"
import { smtpAnswer, smtpFailure } from "./SmtpFailure.js"

/** Largest reply of a server, in bytes. */
const replyBytes = 64 * 1024
const longestTimer = 2 ** 31 - 1

export type Security = "starttls" | "tls" | "none"

/** What is asked of the server. */
export interface Errand {
  readonly url: URL
  readonly security: Security
  readonly login: { readonly user: string; readonly pass: string } | undefined
  /** Absent: only log in. */
  readonly message: MailMessage | undefined
}

/** Connects and visits. `release` is called when the visit has ended and no attempt to connect is open. */
export const visitServer = (
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
