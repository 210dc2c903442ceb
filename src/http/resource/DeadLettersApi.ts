/** The endpoints of the dead letter queue. Contract: dead letters. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { ReplayDeadLetters, ReplayEvent } from "../../domain/EventBodies.js"
import { DeadLetterDetail, DeadLetterSummary, ReplayView } from "../../domain/EventView.js"
import { Audited, auditAction, auditRead, Permit, Scoped, Shared } from "../Endpoint.js"
import { deadLetterFilters, ReplayedLetter } from "../EventShapes.js"
import { listedByRun, reachingRuns, recordOfRun } from "./ClosedScope.js"
import { AcceptedData, Data, Page, strictPayload } from "./Shapes.js"

const path = Schema.Struct({ dlq: Schema.String })
const basePath = "/api/v1/dlq"

/** Dead letters on surface C. */
export const DeadLettersApi = HttpApiGroup.make("deadLetters")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(
        Schema.Struct({
          ...deadLetterFilters,
          customer_id: Schema.optional(Schema.String)
        })
      )
      .addSuccess(Page(DeadLetterSummary))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("dead_letter"))
      .annotate(Shared, "customers")
      .annotate(Scoped, listedByRun)
  )
  .add(
    HttpApiEndpoint.post("replayMany", `${basePath}/replay`)
      .setPayload(strictPayload(ReplayDeadLetters))
      .addSuccess(AcceptedData(ReplayView))
      .annotate(Permit, "events:replay")
      .annotate(Audited, auditAction("dead_letter.replay"))
      .annotate(Shared, "customers")
      .annotate(Scoped, reachingRuns)
  )
  .add(
    HttpApiEndpoint.get("getReplay", "/api/v1/dlq-replays/:rpl")
      .setPath(Schema.Struct({ rpl: Schema.String }))
      .addSuccess(Data(ReplayView))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("dead_letter"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, recordOfRun)
  )
  .add(
    HttpApiEndpoint.get("get", `${basePath}/:dlq`)
      .setPath(path)
      .addSuccess(Data(DeadLetterDetail))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("dead_letter"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordOfRun)
  )
  .add(
    HttpApiEndpoint.post("replay", `${basePath}/:dlq/replay`)
      .setPath(path)
      .setPayload(strictPayload(ReplayEvent))
      .addSuccess(AcceptedData(ReplayedLetter))
      .annotate(Permit, "events:replay")
      .annotate(Audited, auditAction("dead_letter.replay"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordOfRun)
  )
  .add(
    HttpApiEndpoint.del("discard", `${basePath}/:dlq`)
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(Permit, "events:delete")
      .annotate(Audited, auditAction("dead_letter.discard"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordOfRun)
  )
