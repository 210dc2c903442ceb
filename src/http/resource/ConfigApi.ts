/** The endpoints of configuration values. Specification: Configuration hierarchy; contract: config. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { Level, SetConfiguration } from "../../domain/Configuration.js"
import { Json } from "../../domain/Json.js"
import { Audited, auditAction, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { Data, strictPayload } from "./Shapes.js"

const ResolvedValue = Schema.Struct({
  key: Schema.String,
  value: Json,
  source: Schema.Struct({ level: Level, id: Schema.NullOr(Schema.String) }),
  overridden: Schema.Array(Schema.Struct({ level: Level, value: Json })),
  version: Schema.Number
}).annotations({ identifier: "ConfigurationValue" })

const text = Schema.optional(Schema.String)
const basePath = "/api/v1/config"

/** Configuration on surface C. */
export const ConfigApi = HttpApiGroup.make("config")
  .add(
    HttpApiEndpoint.get("resolve", basePath)
      .setUrlParams(
        Schema.Struct({ key: text, customer_id: text, integration: text, workflow_id: text, environment: text })
      )
      .addSuccess(Data(Schema.Array(ResolvedValue)))
      .annotate(Permit, "settings:read")
      .annotate(Audited, auditRead("config"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "record", environment: "record" })
  )
  .add(
    HttpApiEndpoint.put("set", basePath)
      .setPayload(strictPayload(SetConfiguration))
      .addSuccess(Data(Schema.NullOr(ResolvedValue)))
      .annotate(Permit, "settings:update")
      .annotate(Audited, auditAction("config.update"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { workflow: "record", environment: "record" })
  )
