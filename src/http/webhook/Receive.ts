/**
 * The receiver of webhooks, `POST /api/v1/clients/{space_id}/webhooks/{webhook_id}`. The webhook is found by the head of the
 * request, before its body is read; the answer comes after the event's commit. Specification: Surface B; contract: webhooks.
 */
import { Cause, Clock, Effect, Option } from "effect"
import type { Webhook, WebhookOutcome } from "../../actors/management/event/WebhookDelivery.js"
import { WebhookIntake } from "../../actors/management/event/WebhookIntake.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { type Failure, TimedOut } from "../../domain/Failure.js"
import type { RequestId } from "../../domain/Ids.js"
import { queryFields, queryChallenge } from "../../domain/event/WebhookPayload.js"
import { defectRow, isFailure, methodRow } from "../ErrorRows.js"
import { endedReply, flowAnswer, runHeaders } from "../execution/RunReply.js"
import { largeBody, pauseForOthers } from "../pipeline/EventLoop.js"
import { tenantErrorReply, tenantFailureReply, webhookFailureReply } from "../tenant/ErrorRows.js"
import { jsonReply, type RawReply, type RequestHead } from "../Wire.js"
import { readPayload } from "./Payload.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
import { ShareOwners } from "../../actors/ports/organisation/ShareOwners.js"

/** The place of a webhook: the parts of its path, as sent. */
export interface WebhookAddress {
  /** A workspace; of an app's webhook, the organisation. */
  readonly client: string
  readonly webhook: string
}

/** What follows from the head of a request. */
export type WebhookAdmission =
  /** Answered without its body. */
  | { readonly _tag: "Answered"; readonly reply: RawReply }
  | {
      readonly _tag: "Admitted"
      /** Largest body in bytes, sent and inflated. */
      readonly limit: number
      /** Whose share of the memory for bodies this one takes. */
      readonly holder: ShareOwner
      readonly handle: (body: Uint8Array) => Effect.Effect<RawReply>
      /** The reply to a body that was refused. */
      readonly refused: (failure: Failure) => RawReply
    }

/** The challenge in the query of a request; `undefined` if there is none. */
const challengeIn = (target: string): string | undefined => {
  const start = target.indexOf("?")
  return start < 0 ? undefined : queryChallenge(queryFields(target.slice(start + 1)))
}

/** Echoes a challenge as text, which no browser takes for a page. */
const challengeReply = (challenge: string, requestId: RequestId): RawReply => ({
  status: 200,
  headers: { "content-type": "text/plain; charset=utf-8", "x-request-id": requestId },
  body: challenge
})

const outcomeReply = (outcome: WebhookOutcome, requestId: RequestId, now: number): RawReply => {
  const headers = { "x-request-id": requestId }
  switch (outcome._tag) {
    case "Accepted":
      return jsonReply(202, { eventId: outcome.eventId, status: "accepted" }, headers)
    case "Held":
      return jsonReply(202, { eventId: outcome.eventId, status: "held" }, headers)
    case "Ignored":
      return jsonReply(202, { eventId: outcome.eventId, status: "ignored" }, headers)
    case "Unmatched":
      return jsonReply(202, { eventId: null, status: "ignored" }, headers)
    case "Duplicate":
      return jsonReply(200, { eventId: outcome.first, status: "duplicate" }, headers)
    case "Challenged":
      return jsonReply(200, { challenge: outcome.challenge }, headers)
    case "Ended": {
      const { end, eventId } = outcome
      const { id, status } = end
      const headers = { "x-svc-event-id": eventId }
      const reply =
        flowAnswer(end, { ...runHeaders(end, requestId), ...headers }) ?? endedReply(end, requestId, now, headers)
      if (status !== "timed_out") return reply
      // With the error's body of this surface.
      return { ...tenantFailureReply(new TimedOut({ executionId: id }), requestId, now), headers: reply.headers }
    }
  }
}

export const make = Effect.gen(function* () {
  const webhooks = yield* WebhookIntake
  const shareOwners = yield* ShareOwners
  const identifiers = yield* Identifiers

  const failureReply = (cause: Cause.Cause<Failure>, requestId: RequestId): Effect.Effect<RawReply> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const failure = Option.getOrUndefined(Option.filter(Cause.failureOption(cause), isFailure))
      if (failure !== undefined) return Effect.succeed(webhookFailureReply(failure, requestId, now))
      return Effect.logError("webhook.failed", cause).pipe(
        Effect.annotateLogs({ requestId }),
        Effect.as(tenantErrorReply(defectRow, requestId))
      )
    })

  const handle =
    (webhook: Webhook, head: RequestHead, requestId: RequestId) =>
    (body: Uint8Array): Effect.Effect<RawReply> => {
      const receiving = Effect.suspend(() =>
        webhook.receive({
          headers: head.headers,
          body,
          parse: (asked) => readPayload({ ...head, body }, webhook.limitBytes, asked)
        })
      )
      const work = body.byteLength > largeBody ? Effect.zipRight(pauseForOthers, receiving) : receiving
      return Effect.matchCauseEffect(work, {
        onSuccess: (outcome) => Effect.map(Clock.currentTimeMillis, (now) => outcomeReply(outcome, requestId, now)),
        onFailure: (cause) => failureReply(cause, requestId)
      })
    }

  const answered = (reply: RawReply): WebhookAdmission => ({ _tag: "Answered", reply })

  /** Finds the webhook of a request and decides how its body is received. */
  const admit = (head: RequestHead, { client, webhook }: WebhookAddress): Effect.Effect<WebhookAdmission> =>
    Effect.suspend(() => {
      const requestId = identifiers.next("req")
      const { method, target } = head
      if (method !== "POST" && method !== "GET") {
        const reply = tenantErrorReply(methodRow(["GET", "POST"]), requestId)
        return Effect.succeed(answered({ ...reply, headers: { ...reply.headers, allow: "GET, POST" } }))
      }
      return Effect.matchCauseEffect(webhooks.find(client, webhook), {
        onFailure: (cause) => Effect.map(failureReply(cause, requestId), answered),
        onSuccess: (found): Effect.Effect<WebhookAdmission> => {
          const challenge = challengeIn(target)
          if (challenge !== undefined) return Effect.succeed(answered(challengeReply(challenge, requestId)))
          if (method === "GET") {
            const reply = tenantErrorReply(methodRow(["POST"]), requestId)
            return Effect.succeed(answered({ ...reply, headers: { ...reply.headers, allow: "POST" } }))
          }
          return Effect.map(shareOwners.of(found.organisationId), (holder) => ({
            _tag: "Admitted",
            limit: found.limitBytes,
            holder,
            handle: handle(found, head, requestId),
            refused: (failure) => webhookFailureReply(failure, requestId, 0)
          }))
        }
      })
    })

  return { admit }
})
