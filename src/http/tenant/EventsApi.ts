/** The endpoints of a tenant's events: those of surface C, for one customer. Contract: surface B bodies; events. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { ReplayEvent } from "../../domain/EventBodies.js"
import { EventDetail, EventSummary, Reconciliation } from "../../domain/EventView.js"
import { countedByRun, listedByRun, recordOfRun } from "../ClosedScope.js"
import { Audited, auditAction, auditRead, Permit, Scoped, Shared } from "../Endpoint.js"
import { eventFilters, ReplayedEvent } from "../EventShapes.js"
import { strictPayload } from "../PayloadSchema.js"
import { AcceptedData, Data, listParams, Page } from "../Shapes.js"

const tenant = Schema.Struct({ tid: Schema.String })
const path = Schema.Struct({ tid: Schema.String, evt: Schema.String })
const basePath = "/api/v1/tenants/:tid/events"

/** Events on surface B. */
export const TenantEventsApi = HttpApiGroup.make("tenantEvents")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setPath(tenant)
      .setUrlParams(Schema.Struct(eventFilters))
      .addSuccess(Page(EventSummary))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("event"))
      .annotate(Shared, "customers")
      .annotate(Scoped, listedByRun)
  )
  .add(
    HttpApiEndpoint.get("reconciliation", `${basePath}/reconciliation`)
      .setPath(tenant)
      .setUrlParams(Schema.Struct({ from: listParams.from, to: listParams.to }))
      .addSuccess(Data(Reconciliation))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("event"))
      .annotate(Shared, "customers")
      .annotate(Scoped, countedByRun)
  )
  .add(
    HttpApiEndpoint.get("get", `${basePath}/:evt`)
      .setPath(path)
      .addSuccess(Data(EventDetail))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("event"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordOfRun)
  )
  .add(
    HttpApiEndpoint.post("replay", `${basePath}/:evt/replay`)
      .setPath(path)
      .setPayload(strictPayload(ReplayEvent))
      .addSuccess(AcceptedData(ReplayedEvent))
      .annotate(Permit, "events:replay")
      .annotate(Audited, auditAction("event.replay"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordOfRun)
  )
