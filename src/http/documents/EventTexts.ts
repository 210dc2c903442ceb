/** Texts of surface C's operations on events and dead letters. */
import type { ResourceApi } from "../resource/Api.js"
import type { OperationId, TextsOf } from "./OperationText.js"

type EventOperation = Extract<OperationId<typeof ResourceApi>, `events.${string}` | `deadLetters.${string}`>

/** Texts by operation id. */
export const eventTexts: Pick<TextsOf<typeof ResourceApi>, EventOperation> = {
  "events.list": {
    summary: "List events",
    description:
      "Lists the events of the workspace without their payloads, newest first. An event is `received` until its runs are started, or `held` until its cause is gone; then it is `delivered`, `ignored`, `dead`, `duplicate` or `rejected`.",
    answers: {
      200: "A page of events. With a filter it may have fewer than asked for, or none, while `hasMore` is true."
    }
  },
  "events.inject": {
    summary: "Inject an event",
    description:
      "Accepts an event of your own, which triggers of the type `event` match by its type. The answer comes after its commit.",
    answers: { 202: "The event is committed, or repeats an earlier one." },
    example: {
      type: "order.created",
      payload: { orderId: "S-1024", total: 99.5 },
      deduplicationKey: "order-S-1024"
    }
  },
  "events.reconciliation": {
    summary: "Reconcile events",
    description:
      "Counts what became of the events that were accepted in a period, by default the last day. `accepted` is the sum of the other counts; an event that nothing accounts for is named in `unaccounted`. Accepted events are counted by trigger and minute, too: `missing` says where more were counted than have a row; `triggerId` is `null` for events that name no trigger. A key of customers sees no counts. If the period has more events than can be counted in 20 seconds, `complete` is false and `to` says how far the answer goes: ask again from there.",
    answers: { 200: "The counts." }
  },
  "events.get": {
    summary: "Read an event",
    description:
      "Returns an event with its payload, its headers and the runs that it started. Secret members are redacted.",
    answers: { 200: "The event." }
  },
  "events.replay": {
    summary: "Replay an event",
    description:
      "Accepts the event again, under a new id, with its exact payload. It is not taken for a repetition. `mode: same` runs the versions that ran before.",
    answers: { 202: "The new event is committed." },
    example: { mode: "latest" }
  },
  "deadLetters.list": {
    summary: "List dead letters",
    description:
      "Lists events that could not be routed, runs of events that failed, and deliveries that were given up, newest first.",
    answers: {
      200: "A page of dead letters. With a filter it may have fewer than asked for, or none, while `hasMore` is true."
    }
  },
  "deadLetters.replayMany": {
    summary: "Replay many dead letters",
    description:
      "Replays the pending dead letters that match the filter, oldest first, at a rate. It goes on in the background, also after a restart.",
    answers: { 202: "The replay has begun." },
    example: { filter: { code: "WORKFLOW_NOT_DEPLOYED" }, limit: 500, ratePerSecond: 20 }
  },
  "deadLetters.getReplay": {
    summary: "Read a replay",
    description: "Returns how far a replay of many dead letters has come.",
    answers: { 200: "The replay." }
  },
  "deadLetters.get": {
    summary: "Read a dead letter",
    description: "Returns a dead letter with its payload and error. Secret members are redacted.",
    answers: { 200: "The dead letter." }
  },
  "deadLetters.replay": {
    summary: "Replay a dead letter",
    description:
      "Replays it once: its event under a new id, for the route that failed, or its delivery as it was. A second request is refused.",
    answers: { 202: "The new event is committed, or the delivery is sent again." },
    example: { mode: "latest" }
  },
  "deadLetters.discard": {
    summary: "Discard a dead letter",
    description: "Marks a dead letter as discarded: no replay takes it.",
    answers: { 204: "The dead letter is discarded." }
  }
}
