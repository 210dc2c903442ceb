/** The operator's mail server, which sends notifications; none if it is not configured. */
import { Context, Option, type Redacted } from "effect"

/** The server through which the service sends mail, as the operator configures it. */
export interface OperatorMailServer {
  /** `smtp://host:port` or `smtps://host:port`. */
  readonly url: string
  /** `user:password` in base64; `null`: without a login. */
  readonly login: Redacted.Redacted | null
  /** The sender's address. */
  readonly from: string
  /** `none`: no TLS, which the operator has asked for. */
  readonly security: "starttls" | "tls" | "none"
}

export class MailServer extends Context.Reference<MailServer>()("svc/MailServer", {
  defaultValue: (): Option.Option<OperatorMailServer> => Option.none()
}) {}
