/** A tenant's stored credentials. Each belongs to one connection. Specification: Surface B; contract: surface B bodies. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { statuses } from "../../domain/connection/Connection.js"
import { RotateCredential, StoreCredential } from "../../domain/connection/Requests.js"
import { replacing, strict } from "../RequestBody.js"
import { Audited, audited, Form, Permit, read, Scoped, Shared } from "../Endpoint.js"

const nullable = Schema.NullOr(Schema.String)

const CredentialView = Schema.Struct({
  id: Schema.String,
  connectionId: Schema.String,
  connector: Schema.String,
  authMethod: Schema.String,
  label: Schema.String,
  status: Schema.Literal(...statuses),
  fields: Schema.Array(Schema.String),
  fingerprint: Schema.String,
  expiresAt: nullable,
  createdAt: Schema.String,
  rotatedAt: nullable,
  /** Only with `reveal=true` and the permission to decrypt. */
  credential: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String }))
}).annotations({ identifier: "Credential" })

const Data = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.Struct({ data: schema })

const at = "/api/v1/tenants/:tid/credentials"

export const CredentialsApi = HttpApiGroup.make("credentials")
  .add(
    HttpApiEndpoint.post("store", at)
      .setPath(Schema.Struct({ tid: Schema.String }))
      .setPayload(strict(StoreCredential))
      .addSuccess(Data(CredentialView).annotations(HttpApiSchema.annotations({ status: 201 })))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connections:create")
      .annotate(Audited, audited("credential.create"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { connection: "record", connector: "record" })
  )
  .add(
    HttpApiEndpoint.get("list", at)
      .setPath(Schema.Struct({ tid: Schema.String }))
      .setUrlParams(
        Schema.Struct({
          connector: Schema.optional(Schema.String),
          reveal: Schema.optional(Schema.String),
          page_size: Schema.optional(Schema.NumberFromString.pipe(Schema.int(), Schema.positive())).annotations({
            description: "1 to 200; default 50"
          }),
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
      .annotate(Audited, read("credential"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { connection: "list", connector: "list" })
  )
  .add(
    HttpApiEndpoint.put("rotate", `${at}/:cred`)
      .setPath(Schema.Struct({ tid: Schema.String, cred: Schema.String }))
      .setPayload(replacing(RotateCredential, CredentialView))
      .addSuccess(Data(CredentialView))
      .annotate(Form, { idempotency: "lease" })
      .annotate(Permit, "connections:update")
      .annotate(Audited, audited("credential.rotate"))
      .annotate(Shared, "customers")
      .annotate(Scoped, { connection: "record", connector: "record" })
  )
