/** Sends the requests of connectors whose transport is SMTP. Addresses are checked as for any request. */
import { type Effect, Context } from "effect"
import type { EgressFailure, EgressRequest, EgressResponse } from "../Egress.js"

/**
 * `smtp://host:port` or `smtps://host:port`. The method `VERIFY` logs in and quits; `SEND` sends the message that the body
 * describes in JSON (domain/connector/Mail.ts). Headers: `authorization` (Basic), `security` (`starttls`, `tls` or
 * `none`), `message-key`.
 */
export type MailRequest = Pick<EgressRequest, "owner" | "method" | "url" | "headers" | "body" | "timeout">

export class MailEgress extends Context.Tag("svc/MailEgress")<
  MailEgress,
  {
    /**
     * Returns the result as an HTTP answer with a JSON body. 200: `{server}` of VERIFY, `{messageId, accepted, rejected,
     * response}` of SEND. 401: login refused. 4xx of the server's own: refused temporarily. 422: refused permanently. The
     * body of a refusal is `{code, message}` with the server's reply code. A message after which the server does not
     * answer may have been sent.
     */
    readonly send: (request: MailRequest) => Effect.Effect<EgressResponse, EgressFailure>
  }
>() {}
