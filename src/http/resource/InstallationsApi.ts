/** Installations of integrations for customers. Contract: surface C bodies; installation record. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { CreateInstallation, installationStatuses, UpdateInstallation } from "../../domain/Installation.js"
import { JsonObject } from "../../domain/Json.js"
import { Audited, audited, Permit, read, Scoped, Shared } from "../Endpoint.js"
import { created, Data, listParams, Page, replacing, strict, Time } from "./Shapes.js"

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
/** An installation is in the scope of a key by all of its workflows, its connections and their connectors. */
const ofOne = { workflow: "record", connection: "record", connector: "record" } as const
const text = Schema.optional(Schema.String)
const at = "/api/v1/installations"

export const InstallationsApi = HttpApiGroup.make("installations")
  .add(
    HttpApiEndpoint.get("list", at)
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          customer_id: text,
          integration: text,
          status: Schema.optional(Status).annotations({
            description: "absent: all but uninstalled ones. A page of one status may have fewer records than its size"
          })
        })
      )
      .addSuccess(Page(InstallationView))
      .annotate(Permit, "widgets:read")
      .annotate(Audited, read("installation"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { workflow: "list", connection: "list", connector: "list" })
  )
  .add(
    HttpApiEndpoint.post("create", at)
      .setPayload(strict(CreateInstallation))
      .addSuccess(created(InstallationView))
      .annotate(Permit, "widgets:create")
      .annotate(Audited, audited("installation.create"))
      .annotate(Shared, "customers")
      .annotate(Scoped, ofOne)
  )
  .add(
    HttpApiEndpoint.get("get", `${at}/:inst`)
      .setPath(path)
      .addSuccess(Data(InstallationView))
      .annotate(Permit, "widgets:read")
      .annotate(Audited, read("installation"))
      .annotate(Shared, "customers")
      .annotate(Scoped, ofOne)
  )
  .add(
    HttpApiEndpoint.put("update", `${at}/:inst`)
      .setPath(path)
      .setPayload(replacing(UpdateInstallation, InstallationView))
      .addSuccess(Data(InstallationView))
      .annotate(Permit, "widgets:update")
      .annotate(Audited, audited("installation.update"))
      .annotate(Shared, "customers")
      .annotate(Scoped, ofOne)
  )
  .add(
    HttpApiEndpoint.del("uninstall", `${at}/:inst`)
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(Permit, "widgets:delete")
      .annotate(Audited, audited("installation.delete"))
      .annotate(Shared, "customers")
      .annotate(Scoped, ofOne)
  )
