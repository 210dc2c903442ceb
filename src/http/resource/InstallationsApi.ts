/** The endpoints of customers' installations of integrations. Contract: surface C bodies; installation record. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { CreateInstallation, installationStatuses, UpdateInstallation } from "../../domain/Installation.js"
import { JsonObject } from "../../domain/Json.js"
import { Audited, auditAction, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { CreatedData, Data, listParams, Page, putPayload, strictPayload, Time } from "./Shapes.js"

const Status = Schema.Literal(...installationStatuses)

const InstallationView = Schema.Struct({
  id: Schema.String,
  customerId: Schema.String,
  integration: Schema.String,
  workflowIds: Schema.Array(Schema.String),
  connections: Schema.Record({ key: Schema.String, value: Schema.String }),
  config: JsonObject,
  configSchema: Schema.NullOr(JsonObject),
  status: Status,
  createdBy: Schema.String,
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}).annotations({ identifier: "Installation" })

const path = Schema.Struct({ inst: Schema.String })
/** A key's scope applies to an installation by all of its workflows, connections and connectors. */
const recordScope = { workflow: "record", connection: "record", connector: "record" } as const
const text = Schema.optional(Schema.String)
const basePath = "/api/v1/installations"

/** Installations on surface C. */
export const InstallationsApi = HttpApiGroup.make("installations")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          customer_id: text,
          integration: text,
          status: Schema.optional(Status).annotations({
            description:
              "absent: all except uninstalled ones. A page of one status may have fewer records than its size"
          })
        })
      )
      .addSuccess(Page(InstallationView))
      .annotate(Permit, "widgets:read")
      .annotate(Audited, auditRead("installation"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { workflow: "list", connection: "list", connector: "list" })
  )
  .add(
    HttpApiEndpoint.post("create", basePath)
      .setPayload(strictPayload(CreateInstallation))
      .addSuccess(CreatedData(InstallationView))
      .annotate(Permit, "widgets:create")
      .annotate(Audited, auditAction("installation.create"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.get("get", `${basePath}/:inst`)
      .setPath(path)
      .addSuccess(Data(InstallationView))
      .annotate(Permit, "widgets:read")
      .annotate(Audited, auditRead("installation"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.put("update", `${basePath}/:inst`)
      .setPath(path)
      .setPayload(putPayload(UpdateInstallation, InstallationView))
      .addSuccess(Data(InstallationView))
      .annotate(Permit, "widgets:update")
      .annotate(Audited, auditAction("installation.update"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.del("uninstall", `${basePath}/:inst`)
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(Permit, "widgets:delete")
      .annotate(Audited, auditAction("installation.delete"))
      .annotate(Shared, "customers")
      .annotate(Scoped, recordScope)
  )
