/** A request to a webhook of any kind, and what its sender is answered. Contract: webhook receiver. */
import type { Effect, Either } from "effect"
import type { AskedText } from "../../../domain/AskedTexts.js"
import { webhookKeyBytes } from "../../../domain/delivery/Signature.js"
import type { DeliveryProblem } from "../../../domain/event/InboundWebhook.js"
import { type Failure, Forbidden, InvalidRequest, NotFound, Unauthorized } from "../../../domain/Failure.js"
import type { ExecutionId, OrganisationId } from "../../../domain/Ids.js"
import type { Json } from "../../../domain/Json.js"
import type { RoundedIntegers } from "../../../domain/LargeIntegers.js"
import { bodyBytes, largeWebhookBytes } from "../../../domain/Limits.js"
import { plans } from "../../../domain/organisation/Plan.js"
import type { Reception } from "../../ports/event/Events.js"
import type { KnownOrganisation } from "../../ports/organisation/OrganisationReads.js"
import type { FinishedRun } from "../../ports/run/Journal.js"

/** A webhook that takes requests. */
export interface Webhook {
  readonly organisationId: OrganisationId
  /** Largest body, in bytes. */
  readonly limitBytes: number
  /** Answers after the commit of the delivery's events. */
  readonly receive: (delivery: WebhookDelivery) => Effect.Effect<WebhookOutcome, Failure>
}

/** A request to a webhook. */
export interface WebhookDelivery {
  /** Names in lower case. */
  readonly headers: { readonly [name: string]: string }
  /** The raw body, which signatures cover. */
  readonly body: Uint8Array
  /** Parses the body, or says why it is refused; called only for a verified request. `asked`: where large integers are asked for as text. */
  readonly parse: (asked?: AskedText) => Either.Either<WebhookPayload, Failure>
}

/** The parsed body of a webhook's request. */
export interface WebhookPayload {
  readonly payload: Json
  /** Its integers that are not those that were sent. */
  readonly rounded: RoundedIntegers | undefined
}

/** The end of a run, as a sender that waited for it is told. */
export interface WebhookEnd extends Pick<FinishedRun, "status" | "statusReason" | "output" | "error"> {
  readonly id: ExecutionId
  readonly version: number | null
  /** The status of the answer that a flow says. */
  readonly answerStatus: number | undefined
}

/** The same, of a run that this node drove. */
export const endOf = ({ answerStatus, error, output, run, status, statusReason }: FinishedRun): WebhookEnd => ({
  id: run.id,
  status,
  statusReason,
  answerStatus,
  version: run.record.workflowVersion,
  output,
  error
})

/** What the sender is answered. */
export type WebhookOutcome =
  | Reception
  /** The run of the event has ended while its sender waited. */
  | { readonly _tag: "Ended"; readonly eventId: string; readonly end: WebhookEnd }
  /** No event of the delivery is one that its receiver is for; nothing was recorded. */
  | { readonly _tag: "Unmatched" }
  /** The provider checks the URL. */
  | { readonly _tag: "Challenged"; readonly challenge: string }

/** No webhook has this address. */
export const webhookNotFound = (): NotFound => new NotFound({ what: "webhook" })

const problemMessage: { readonly [Problem in DeliveryProblem]: string } = {
  stale: "the request's time is more than five minutes away, or it has none",
  unsigned: "the request is not signed: configure the trigger's secret at the sender",
  malformed: "the signature cannot be read",
  mismatch: "the signature is of another secret or of another body",
  no_secret: "the trigger has no usable secret to verify with: store it, or remove verify from the trigger",
  secret_form: `the secret of verify (secretName or clientSecret) is too short or of another form: Standard Webhooks needs whsec_ and ${webhookKeyBytes.least} to ${webhookKeyBytes.most} bytes in base64`
}

/** The refusal of a delivery that is not verified. */
export const refusalOf = (problem: DeliveryProblem): Failure =>
  problem === "stale"
    ? new InvalidRequest({ code: "STALE_TIMESTAMP", message: problemMessage.stale })
    : new Unauthorized({ code: "INVALID_SIGNATURE", message: problemMessage[problem] })

/** The refusal of deliveries to an organisation that is suspended. */
export const organisationRefusal = ({ status }: Pick<KnownOrganisation, "status">): Forbidden | undefined =>
  status === "active"
    ? undefined
    : new Forbidden({ code: "FORBIDDEN", message: "the organisation of this webhook is suspended" })

/** The largest body of an organisation's webhooks, in bytes. */
export const webhookBytes = ({ plan }: Pick<KnownOrganisation, "plan">): number =>
  plans[plan].eventsPerDay === null ? largeWebhookBytes : bodyBytes.webhook
