/** The endpoints of execution records. Specification: Surface C; contract: execution record. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { ExecutionStatus, TriggerType } from "../../domain/Execution.js"
import { ExecutionDetail, ExecutionView } from "../../domain/ExecutionView.js"
import { Fixture } from "../../domain/connector/Mocking.js"
import { Json } from "../../domain/Json.js"
import { Audited, auditAction, Form, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { AcceptedData, Data, listParams, Page, strictPayload, Time } from "./Shapes.js"

const ExecutionSummary = ExecutionView.annotations({ identifier: "ExecutionSummary" })
const Execution = ExecutionDetail.annotations({ identifier: "Execution" })

const LogLine = Schema.Struct({
  seq: Schema.Number,
  at: Time,
  level: Schema.String,
  message: Schema.String
}).annotations({ identifier: "LogLine" })

const Rerun = Schema.Struct({
  mode: Schema.optional(Schema.Literal("fresh", "resume")),
  version: Schema.optional(Schema.Literal("same", "latest")),
  input: Schema.optional(Schema.Record({ key: Schema.String, value: Json }))
}).annotations({ identifier: "Rerun" })

const path = Schema.Struct({ eid: Schema.String })
const basePath = "/api/v1/executions"

/** Executions on surface C. */
export const ExecutionsApi = HttpApiGroup.make("executions")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          workflow_id: Schema.optional(Schema.String),
          status: Schema.optional(ExecutionStatus),
          customer_id: Schema.optional(Schema.String),
          trigger_type: Schema.optional(TriggerType)
        })
      )
      .addSuccess(Page(ExecutionSummary))
      .annotate(Permit, "executions:read")
      .annotate(Audited, auditRead("execution"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { workflow: "list", environment: "list" })
  )
  .add(
    HttpApiEndpoint.get("get", `${basePath}/:eid`)
      .setPath(path)
      .addSuccess(Data(Execution))
      .annotate(Permit, "executions:read")
      .annotate(Audited, auditRead("execution"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { workflow: "record", environment: "record" })
  )
  .add(
    HttpApiEndpoint.post("cancel", `${basePath}/:eid/cancel`)
      .setPath(path)
      .addSuccess(Data(Execution))
      .annotate(Permit, "executions:create")
      .annotate(Audited, auditAction("execution.cancel"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { workflow: "record", environment: "record" })
  )
  .add(
    HttpApiEndpoint.post("rerun", `${basePath}/:eid/rerun`)
      .setPath(path)
      .setPayload(strictPayload(Rerun))
      .addSuccess(AcceptedData(ExecutionSummary))
      .annotate(Permit, "executions:create")
      .annotate(Audited, auditAction("execution.rerun"))
      .annotate(Shared, "customers")
      .annotate(Scoped, {
        workflow: "record",
        environment: "record",
        connection: "record",
        connector: "record",
        secret: "reach"
      })
      .annotate(Form, { idempotency: "run" })
  )
  .add(
    HttpApiEndpoint.get("fixtures", `${basePath}/:eid/fixtures`)
      .setPath(path)
      .addSuccess(Data(Schema.Array(Fixture)))
      .annotate(Permit, "executions:read")
      .annotate(Audited, auditRead("execution"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { workflow: "record", environment: "record" })
  )
  .add(
    HttpApiEndpoint.get("logs", `${basePath}/:eid/logs`)
      .setPath(path)
      .setUrlParams(Schema.Struct({ cursor: Schema.optional(Schema.String), page_size: listParams.page_size }))
      .addSuccess(Page(LogLine))
      .annotate(Permit, "executions:read")
      .annotate(Audited, auditRead("execution"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { workflow: "record", environment: "record" })
  )
  .add(
    HttpApiEndpoint.get("blob", `${basePath}/:eid/blobs/:id`)
      .setPath(Schema.Struct({ eid: Schema.String, id: Schema.String }))
      .addSuccess(Json)
      .annotate(Permit, "executions:read")
      .annotate(Audited, auditRead("execution"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { workflow: "record", environment: "record" })
  )
