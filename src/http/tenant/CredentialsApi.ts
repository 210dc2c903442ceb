/** The endpoints of a tenant's stored credentials, each of one connection. Specification: Surface B; contract: surface B bodies. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { connectionStatuses } from "../../domain/connection/Connection.js"
import { RotateCredential, StoreCredential } from "../../domain/connection/Requests.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"
import { NullableTime, PageSize, Time } from "../Shapes.js"
import { Audited, auditAction, Form, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"

const nullable = Schema.NullOr(Schema.String)

const CredentialView = Schema.Struct({
  id: Schema.String,
  connectionId: Schema.String,
  connector: Schema.String,
  authMethod: Schema.String,
  label: Schema.String,
  status: Schema.Literal(...connectionStatuses),
  fields: Schema.Array(Schema.String),
  fingerprint: Schema.String,
  expiresAt: NullableTime,
  createdAt: Time,
  rotatedAt: NullableTime,
  /** Present only with `reveal=true` and the permission to decrypt. */
  credential: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String }))
}).annotations({ identifier: "Credential" })

const Data = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.Struct({ data: schema })

const credentialsPath = "/api/v1/tenants/:tid/credentials"

/** Credentials on surface B. */
export const CredentialsApi = HttpApiGroup.make("credentials")
  .add(
    HttpApiEndpoint.post("store", credentialsPath)
      .setPath(Schema.Struct({ tid: Schema.String }))
      .setPayload(strictPayload(StoreCredential))
      .addSuccess(Data(CredentialView).annotations(HttpApiSchema.annotations({ status: 201 })))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connections:create")
      .annotate(Audited, auditAction("credential.create"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { connection: "record", connector: "record" })
  )
  .add(
    HttpApiEndpoint.get("list", credentialsPath)
      .setPath(Schema.Struct({ tid: Schema.String }))
      .setUrlParams(
        Schema.Struct({
          connector: Schema.optional(Schema.String),
          reveal: Schema.optional(Schema.String),
          page_size: Schema.optional(PageSize),
          cursor: Schema.optional(Schema.String)
        })
      )
      .addSuccess(
        Schema.Struct({
          data: Schema.Array(CredentialView),
          page: Schema.Struct({ size: Schema.Number, nextCursor: nullable, hasMore: Schema.Boolean })
        })
      )
      .annotate(Permit, "connections:read")
      .annotate(Audited, auditRead("credential"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { connection: "list", connector: "list" })
  )
  .add(
    HttpApiEndpoint.put("rotate", `${credentialsPath}/:cred`)
      .setPath(Schema.Struct({ tid: Schema.String, cred: Schema.String }))
      .setPayload(putPayload(RotateCredential, CredentialView))
      .addSuccess(Data(CredentialView))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connections:update")
      .annotate(Audited, auditAction("credential.rotate"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { connection: "record", connector: "record" })
  )
