/** The endpoints of events. Contract: events, reconciliation. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { InjectEvent, ReplayEvent } from "../../domain/EventBodies.js"
import { EventDetail, EventSummary, Reconciliation } from "../../domain/EventView.js"
import { Audited, auditAction, auditRead, Permit, Scoped, Shared } from "../Endpoint.js"
import { eventFilters, MadeEvent, ReplayedEvent } from "../EventShapes.js"
import { countedByRun, listedByRun, recordOfRun } from "./ClosedScope.js"
import { AcceptedData, Data, listParams, Page, strictPayload } from "./Shapes.js"

const path = Schema.Struct({ evt: Schema.String })
const basePath = "/api/v1/events"

/** Events on surface C. */
export const EventsApi = HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(
        Schema.Struct({
          ...eventFilters,
          customer_id: Schema.optional(Schema.String)
        })
      )
      .addSuccess(Page(EventSummary))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("event"))
      .annotate(Shared, "customers")
      .annotate(Scoped, listedByRun)
  )
  .add(
    HttpApiEndpoint.post("inject", basePath)
      .setPayload(strictPayload(InjectEvent))
      .addSuccess(AcceptedData(MadeEvent))
      .annotate(Permit, "events:create")
      .annotate(Audited, auditAction("event.inject"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordOfRun)
  )
  .add(
    HttpApiEndpoint.get("reconciliation", `${basePath}/reconciliation`)
      .setUrlParams(Schema.Struct({ from: listParams.from, to: listParams.to }))
      .addSuccess(Data(Reconciliation))
      .annotate(Permit, "events:read")
      .annotate(Audited, auditRead("event"))
      .annotate(Shared, "hidden")
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
      .addSuccess(Data(ReplayedEvent).annotations(HttpApiSchema.annotations({ status: 202 })))
      .annotate(Permit, "events:replay")
      .annotate(Audited, auditAction("event.replay"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordOfRun)
  )
