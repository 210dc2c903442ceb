/**
 * Signs one delivery and sends it: with its endpoint's secrets, else with those of its workspace. E-mails go to the
 * operator's mail server.
 */
import { Clock, Effect, Option, Redacted } from "effect"
import {
  type AttemptResult,
  type Delivery,
  type DeliveryEndpoint,
  deliveryTimeout
} from "../../domain/delivery/Delivery.js"
import { NotFound, Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { signWebhook } from "../../domain/delivery/Signature.js"
import { endpointSecretPlace } from "../../domain/delivery/WebhookEndpoint.js"
import { CallbackSecrets } from "../ports/delivery/CallbackSecrets.js"
import { Digests } from "../ports/Digests.js"
import { Egress, type EgressFailure, type EgressResponse } from "../ports/Egress.js"
import { type AnswerHolding, holdAnswers, HeldBytes } from "../ports/HeldBytes.js"
import { MailEgress } from "../ports/delivery/MailEgress.js"
import { MailServer } from "../ports/delivery/MailServer.js"
import { Vault, vaultClosed } from "../ports/Vault.js"
import { sendMail } from "../ServiceMail.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
import { ShareOwners } from "../ports/organisation/ShareOwners.js"

/** Bytes of an answer that are read; its body is not used. */
const maxAnswerBytes = 1024 * 1024

/** Makes one attempt. Fails if its secret cannot be read; the delivery is then claimed again when its lease expires. */
export type Sender = (delivery: Delivery) => Effect.Effect<AttemptResult, Unavailable>

const mailScheme = "mailto:"

export const makeSender = Effect.gen(function* () {
  const secrets = yield* CallbackSecrets
  const vault = yield* Vault
  const digests = yield* Digests
  const egress = yield* Egress
  const ledger = yield* HeldBytes
  const shareOwners = yield* ShareOwners
  const mailEgress = yield* MailEgress
  const mailServer = yield* MailServer
  const endpointSecrets = (organisationId: OrganisationId, { id, secret, secretBefore }: DeliveryEndpoint) => {
    const place = (column: "secret" | "secret_before") => endpointSecretPlace({ id, organisationId }, column)
    return Effect.all([
      vault.open(place("secret"), secret),
      ...(secretBefore === null ? [] : [vault.open(place("secret_before"), secretBefore)])
    ]).pipe(Effect.mapError(vaultClosed))
  }

  const secretsOf = ({ endpoint, organisationId, spaceId }: Delivery) => {
    if (endpoint !== null) return endpointSecrets(organisationId, endpoint)
    return spaceId === null ? new NotFound({ what: "workspace" }) : secrets.valid(organisationId, spaceId)
  }

  const signHeaders = Effect.fnUntraced(function* (delivery: Delivery) {
    const { executionId, id, payload } = delivery
    const valid = yield* secretsOf(delivery)
    const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const headers = signWebhook(digests, valid.map(Redacted.value), { id, timestamp, body: payload })
    // The stored value is not a signing secret.
    if (Option.isNone(headers)) return yield* new Unavailable({ reason: "no usable secret", retryAfterSeconds: 60 })
    return [
      ["content-type", "application/json"] as const,
      ...Object.entries(headers.value),
      ...(executionId === null ? [] : [["x-svc-execution-id", executionId] as const])
    ]
  })

  const post = (delivery: Delivery, owner: ShareOwner): Effect.Effect<AttemptResult, Unavailable, AnswerHolding> =>
    Effect.flatMap(signHeaders(delivery), (headers) =>
      egress
        .send({
          owner,
          method: "POST",
          url: delivery.url,
          headers,
          body: delivery.payload,
          timeout: deliveryTimeout,
          maxBytes: maxAnswerBytes,
          redirects: 0
        })
        .pipe(Effect.match({ onFailure: failedResult, onSuccess: answeredResult }))
    ).pipe(
      Effect.catchTag("NotFound", () =>
        Effect.succeed<AttemptResult>({ _tag: "Refused", reason: "the workspace is gone" })
      )
    )

  /** Sends the payload, a subject and a text, to the address of the URL. Attempts have the same Message-ID. */
  const sendByMail = ({ id, payload, url }: Delivery, owner: ShareOwner): Effect.Effect<AttemptResult> => {
    if (Option.isNone(mailServer))
      return Effect.succeed({ _tag: "Refused", reason: "no mail server is configured: the operator sets SVC_SMTP_URL" })
    // The service wrote the payload.
    const content: { readonly subject: string; readonly text: string } = JSON.parse(payload)
    const message = { owner, key: id, to: url.slice(mailScheme.length), ...content }
    return sendMail(mailEgress, mailServer.value, message).pipe(
      Effect.match({ onFailure: failedResult, onSuccess: answeredResult })
    )
  }

  const send: Sender = (delivery) =>
    Effect.flatMap(shareOwners.of(delivery.organisationId), (owner) =>
      delivery.url.startsWith(mailScheme)
        ? sendByMail(delivery, owner)
        : holdAnswers(ledger, owner, post(delivery, owner))
    )
  return send
})

// --- Answers ---

const answeredResult = ({ headers, status }: EgressResponse): AttemptResult => ({
  _tag: "Answered",
  status,
  retryAfter: headers.find(([name]) => name.toLowerCase() === "retry-after")?.[1]
})

const failedResult = (failure: EgressFailure): AttemptResult => {
  switch (failure._tag) {
    case "EgressNoMemory":
      return { _tag: "Unanswered", reason: "the service had no memory for the endpoint's answer" }
    case "EgressBlocked":
      return { _tag: "Refused", reason: `the URL ${failure.reason}` }
    case "EgressUnreachable":
      return { _tag: "Unanswered", reason: failure.reason }
    case "EgressTimedOut":
      return { _tag: "Unanswered", reason: `the endpoint did not answer within ${failure.afterMillis / 1000} s` }
    case "EgressTooLarge":
      return { _tag: "Unanswered", reason: `the endpoint's answer is larger than ${failure.limitBytes} bytes` }
    case "EgressBusy":
      return { _tag: "Unanswered", reason: `the endpoint was not called: ${failure.reason}` }
  }
}
