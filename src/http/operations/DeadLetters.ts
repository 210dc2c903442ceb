/** The operations on the dead letter queue. Contract: dead letters. */
import { forTenants } from "../operation/ForTenants.js"
import { ReplayCustomerDeadLetters, ReplayDeadLetters, ReplayEvent } from "../../domain/event/EventBodies.js"
import { DeadLetterDetail, DeadLetterSummary, ReplayView } from "../../domain/event/EventView.js"
import { auditAction } from "../operation/Contract.js"
import { operationsOf } from "../operation/Operation.js"
import { ReplayedLetter } from "../../actors/ports/event/Replays.js"
import { listedByRun, reachingRuns, recordOfRun } from "../ClosedScope.js"
import { strictPayload } from "../PayloadSchema.js"
import { DeadLetterQueue, DeadLetterList } from "../../actors/management/event/DeadLetterQueue.js"
import { record, acceptedRecord, page, empty } from "../operation/Output.js"

const ofDeadLetterQueue = operationsOf({
  parameters: { dlq: "The id of the dead letter." },
  with: DeadLetterQueue,
  resource: "dead_letter",
  sharing: "customers",
  scoped: recordOfRun
})

/** The operations of the group `deadLetters`, in the order of the documents. */
export const deadLettersOperations = [
  ofDeadLetterQueue({
    name: "deadLetters.list",
    summary: "List dead letters",
    description:
      "Lists events that could not be routed, runs of events that failed, and deliveries that were given up, newest first.",
    answers: {
      200: "A page of dead letters. With a filter it may have fewer than asked for, or none, while `hasMore` is true."
    },
    parameters: { code: "Only dead letters whose error has this code." },
    route: "GET /api/v1/dlq",
    query: DeadLetterList,
    output: page(DeadLetterSummary),
    permit: "events:read",
    scoped: listedByRun,
    use: (letters, { context, query }) => letters.list(context, query)
  }),
  ofDeadLetterQueue({
    name: "deadLetters.replayMany",
    summary: "Replay many dead letters",
    description:
      "Replays the pending dead letters that match the filter, oldest first, at a rate. It goes on in the background, also after a restart.",
    answers: { 202: "The replay has begun." },
    example: { filter: { code: "WORKFLOW_NOT_DEPLOYED" }, limit: 500, ratePerSecond: 20 },
    route: "POST /api/v1/dlq/replay",
    body: strictPayload(ReplayDeadLetters),
    output: acceptedRecord(ReplayView),
    permit: "events:replay",
    audit: auditAction("dead_letter.replay"),
    scoped: reachingRuns,
    use: (letters, { context, body }) => letters.replayMany(context, body)
  }),
  ofDeadLetterQueue({
    name: "deadLetters.getReplay",
    summary: "Read a replay",
    description: "Returns how far a replay of many dead letters has come.",
    answers: { 200: "The replay." },
    parameters: { rpl: "The id of the replay." },
    route: "GET /api/v1/dlq-replays/:rpl",
    output: record(ReplayView),
    permit: "events:read",
    sharing: "hidden",
    use: (letters, { context, path }) => letters.getReplay(context, path.rpl)
  }),
  ofDeadLetterQueue({
    name: "deadLetters.get",
    summary: "Read a dead letter",
    description: "Returns a dead letter with its payload and error. Secret members are redacted.",
    answers: { 200: "The dead letter." },
    route: "GET /api/v1/dlq/:dlq",
    output: record(DeadLetterDetail),
    permit: "events:read",
    use: (letters, { context, path }) => letters.get(context, path.dlq)
  }),
  ofDeadLetterQueue({
    name: "deadLetters.replay",
    summary: "Replay a dead letter",
    description:
      "Replays it once: its event under a new id, for the route that failed, or its delivery as it was. A second request is refused.",
    answers: { 202: "The new event is committed, or the delivery is sent again." },
    example: { mode: "latest" },
    route: "POST /api/v1/dlq/:dlq/replay",
    body: strictPayload(ReplayEvent),
    output: acceptedRecord(ReplayedLetter),
    permit: "events:replay",
    use: (letters, { context, path, body }) => letters.replay(context, path.dlq, body)
  }),
  ofDeadLetterQueue({
    name: "deadLetters.discard",
    summary: "Discard a dead letter",
    description: "Marks a dead letter as discarded: no replay takes it.",
    answers: { 204: "The dead letter is discarded." },
    route: "DELETE /api/v1/dlq/:dlq",
    output: empty,
    permit: "events:delete",
    use: (letters, { context, path }) => letters.discard(context, path.dlq)
  })
] as const

/** The operations of the group `tenantDeadLetters`: those of one customer, on surface B. */
export const tenantDeadLetterOperations = forTenants("tenantDeadLetters", deadLettersOperations, {
  list: {
    summary: "List a tenant's dead letters",
    description:
      "Lists the tenant's events that could not be routed, runs of events that failed, and deliveries that were given up, newest first.",
    query: DeadLetterList.omit("customer_id")
  },
  replayMany: {
    summary: "Replay many dead letters of a tenant",
    description:
      "Replays the tenant's pending dead letters that match the filter, oldest first, at a rate. It goes on in the background, also after a restart.",
    body: strictPayload(ReplayCustomerDeadLetters)
  },
  getReplay: {
    summary: "Read a tenant's replay",
    description: "Returns how far a replay of many dead letters of the tenant has come.",
    sharing: "customers"
  },
  get: {
    summary: "Read a tenant's dead letter"
  },
  replay: {
    summary: "Replay a tenant's dead letter"
  },
  discard: {
    summary: "Discard a tenant's dead letter"
  }
})
