/** Sends a mail over the operator's server. Attempts with the same `key` have the same Message-ID. */
import { type Effect, Redacted } from "effect"
import { deliveryTimeout } from "../domain/delivery/Delivery.js"
import type { ShareOwner } from "../domain/share/ShareOwner.js"
import type { EgressFailure, EgressResponse } from "./ports/Egress.js"
import type { MailEgress } from "./ports/delivery/MailEgress.js"
import type { OperatorMailServer } from "./ports/delivery/MailServer.js"

export interface ServiceMail {
  readonly owner: ShareOwner
  readonly key: string
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Sends the mail, and returns the answer of the mail server. */
export const sendMail = (
  mail: MailEgress["Type"],
  { from, login, security, url }: OperatorMailServer,
  { key, owner, subject, text, to }: ServiceMail
): Effect.Effect<EgressResponse, EgressFailure> =>
  mail.send({
    owner,
    method: "SEND",
    url,
    headers: [
      ["security", security],
      ["message-key", key],
      ...(login === null ? [] : [["authorization", `Basic ${Redacted.value(login)}`] as const])
    ],
    body: JSON.stringify({ from, to, subject, text }),
    timeout: deliveryTimeout
  })
