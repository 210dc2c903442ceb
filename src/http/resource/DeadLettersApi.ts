/** The endpoints of the dead letter queue. Contract: dead letters. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { ReplayDeadLetters, ReplayEvent } from "../../domain/EventBodies.js"
import { DeadLetterDetail, DeadLetterStatus, DeadLetterSummary, ReplayView } from "../../domain/EventView.js"
import { Audited, auditAction, auditRead, Permit, Scoped, Shared } from "../Endpoint.js"
import { closedToNarrowedKeys } from "./ClosedScope.js"
import { AcceptedData, Data, listParams, Page, strictPayload } from "./Shapes.js"

const path = Schema.Struct({ dlq: Schema.String })
const basePath = "/api/v1/dlq"
const text = Schema.optional(Schema.String)

const ReplayedLetter = Schema.Struct({
  id: Schema.String,
  /** The new event; `null` for a delivery, which is sent again as it is. */
  eventId: Schema.NullOr(Schema.String),
  status: Schema.Literal("accepted", "held", "ignored", "duplicate", "resent")
}).annotations({ identifier: "ReplayedLetter" })

/** Dead letters on surface C. */
export const DeadLettersApi = HttpApiGroup.make("deadLetters")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          status: Schema.optional(DeadLetterStatus),
          trigger_id: text,
          connector: text,
          customer_id: text,
          type: text,
          code: text
        })
      )
      .addSuccess(Page(DeadLetterSummary))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("dead_letter"))
      .annotate(Shared, "customers")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.post("replayMany", `${basePath}/replay`)
      .setPayload(strictPayload(ReplayDeadLetters))
      .addSuccess(AcceptedData(ReplayView))
      .annotate(Permit, "events:replay")
      .annotate(Audited, auditAction("dead_letter.replay"))
      .annotate(Shared, "customers")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.get("getReplay", "/api/v1/dlq-replays/:rpl")
      .setPath(Schema.Struct({ rpl: Schema.String }))
      .addSuccess(Data(ReplayView))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("dead_letter"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.get("get", `${basePath}/:dlq`)
      .setPath(path)
      .addSuccess(Data(DeadLetterDetail))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("dead_letter"))
      .annotate(Shared, "customers")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.post("replay", `${basePath}/:dlq/replay`)
      .setPath(path)
      .setPayload(strictPayload(ReplayEvent))
      .addSuccess(Data(ReplayedLetter).annotations(HttpApiSchema.annotations({ status: 202 })))
      .annotate(Permit, "events:replay")
      .annotate(Audited, auditAction("dead_letter.replay"))
      .annotate(Shared, "customers")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.del("discard", `${basePath}/:dlq`)
      .setPath(path)
      .addSuccess(Data(DeadLetterDetail))
      .annotate(Permit, "events:delete")
      .annotate(Audited, auditAction("dead_letter.discard"))
      .annotate(Shared, "customers")
      .annotate(Scoped, closedToNarrowedKeys)
  )
