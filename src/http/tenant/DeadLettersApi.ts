/** The endpoints of a tenant's dead letters: those of surface C, for one customer. Contract: surface B bodies; dead letters. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { ReplayCustomerDeadLetters, ReplayEvent } from "../../domain/EventBodies.js"
import { DeadLetterDetail, DeadLetterSummary, ReplayView } from "../../domain/EventView.js"
import { listedByRun, reachingRuns, recordOfRun } from "../ClosedScope.js"
import { Audited, auditAction, auditRead, Permit, Scoped, Shared } from "../Endpoint.js"
import { deadLetterFilters, ReplayedLetter } from "../EventShapes.js"
import { strictPayload } from "../PayloadSchema.js"
import { AcceptedData, Data, Page } from "../Shapes.js"

const tenant = Schema.Struct({ tid: Schema.String })
const path = Schema.Struct({ tid: Schema.String, dlq: Schema.String })
const basePath = "/api/v1/tenants/:tid/dlq"

/** Dead letters on surface B. */
export const TenantDeadLettersApi = HttpApiGroup.make("tenantDeadLetters")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setPath(tenant)
      .setUrlParams(Schema.Struct(deadLetterFilters))
      .addSuccess(Page(DeadLetterSummary))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("dead_letter"))
      .annotate(Shared, "customers")
      .annotate(Scoped, listedByRun)
  )
  .add(
    HttpApiEndpoint.post("replayMany", `${basePath}/replay`)
      .setPath(tenant)
      .setPayload(strictPayload(ReplayCustomerDeadLetters))
      .addSuccess(AcceptedData(ReplayView))
      .annotate(Permit, "events:replay")
      .annotate(Audited, auditAction("dead_letter.replay"))
      .annotate(Shared, "customers")
      .annotate(Scoped, reachingRuns)
  )
  .add(
    HttpApiEndpoint.get("getReplay", "/api/v1/tenants/:tid/dlq-replays/:rpl")
      .setPath(Schema.Struct({ tid: Schema.String, rpl: Schema.String }))
      .addSuccess(Data(ReplayView))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("dead_letter"))
      .annotate(Shared, "customers")
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
