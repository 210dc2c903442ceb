/** The way out for e-mail: requests of connectors whose transport is smtp. Addresses are judged as for any request. */
import type { Effect } from "effect"
import { Context } from "effect"
import type { EgressFailure, EgressRequest, EgressResponse } from "./Egress.js"

/**
 * `smtp://host:port` or `smtps://host:port`. The method `VERIFY` logs in and leaves again; `SEND` hands over the message
 * that the body describes in JSON (domain/connector/Mail.ts). Headers: `authorization` (Basic), `security` (`starttls`,
 * `tls` or `none`), `message-key`.
 */
export type MailRequest = Pick<EgressRequest, "method" | "url" | "headers" | "body" | "timeout">

export class MailEgress extends Context.Tag("svc/MailEgress")<
  MailEgress,
  {
    /**
     * Answers in the form of an HTTP answer, JSON inside. 200: `{server}` of VERIFY, `{messageId, accepted, rejected,
     * response}` of SEND. 401: the login was refused. 4xx of the server's own: it refuses for now, and has nothing. 422:
     * it refuses for good. The body of refusals: `{code, message}`, the code being the server's reply. A message whose
     * server falls silent after it was handed over may have gone.
     */
    readonly send: (request: MailRequest) => Effect.Effect<EgressResponse, EgressFailure>
  }
>() {}
