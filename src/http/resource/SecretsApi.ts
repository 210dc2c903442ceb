/** The endpoints of secrets: a list has no values, which are read one by one. Specification: Surface C; contract: secret record. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { Json } from "../../domain/Json.js"
import { CreateSecret } from "../../domain/Secret.js"
import { Audited, auditAction, NoStore, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { CreatedData, Data, listParams, Page, strictPayload, Time } from "./Shapes.js"

const SecretType = Schema.Literal("text", "json")

const SecretView = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  type: SecretType,
  scope: Schema.Struct({ customerId: Schema.NullOr(Schema.String), environment: Schema.NullOr(Schema.String) }),
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}).annotations({ identifier: "Secret" })

const RevealedSecret = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  type: SecretType,
  value: Json
}).annotations({ identifier: "RevealedSecret" })

const path = Schema.Struct({ sid: Schema.String })
const basePath = "/api/v1/secrets"

/** Secrets on surface C. */
export const SecretsApi = HttpApiGroup.make("secrets")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          customer_id: Schema.optional(Schema.String),
          environment: Schema.optional(Schema.String)
        })
      )
      .addSuccess(Page(SecretView))
      .annotate(Permit, ["secrets:read", "secrets:write"])
      .annotate(Audited, auditRead("secret"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { secret: "list", environment: "list" })
  )
  .add(
    HttpApiEndpoint.post("store", basePath)
      .setPayload(strictPayload(CreateSecret))
      .addSuccess(CreatedData(SecretView))
      .addSuccess(Data(SecretView))
      .annotate(Permit, "secrets:write")
      .annotate(Audited, auditAction("secret.create"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { secret: "record", environment: "record" })
  )
  .add(
    HttpApiEndpoint.get("reveal", `${basePath}/:sid/value`)
      .setPath(path)
      .addSuccess(Data(RevealedSecret))
      .annotate(Permit, "secrets:read")
      .annotate(Audited, auditAction("secret.read"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { secret: "path", environment: "record" })
      .annotate(NoStore, true)
  )
  .add(
    HttpApiEndpoint.del("delete", `${basePath}/:sid`)
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(Permit, "secrets:delete")
      .annotate(Audited, auditAction("secret.delete"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, { secret: "path", environment: "record" })
  )
