/** The operations on a tenant's stored credentials, each of one connection. Specification: Surface B; contract: surface B bodies. */
import { Schema } from "effect"
import { NullableText } from "../../domain/Scalars.js"
import { connectionStatuses } from "../../domain/connection/Connection.js"
import { RotateCredential, StoreCredential } from "../../domain/connection/Requests.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"
import { NullableTime, Time } from "../Shapes.js"
import { PageSize } from "../../actors/management/Pages.js"
import { auditAction } from "../operation/Contract.js"
import { operationsOf } from "../operation/Operation.js"
import { CustomerCredentials } from "../../actors/management/connection/CustomerCredentials.js"
import { record, newRecord, bareValue } from "../operation/Output.js"

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

const ofCustomerCredentials = operationsOf({
  with: CustomerCredentials,
  resource: "credential",
  sharing: "customers",
  scoped: { connection: "record", connector: "record" }
})

/** The operations of the group `credentials`, in the order of the documents. */
export const credentialsOperations = [
  ofCustomerCredentials({
    name: "credentials.store",
    summary: "Store a credential",
    description:
      "Creates a connection of the tenant with the given credential. The credential is tested first and never answered.",
    answers: { 201: "The credential is stored. Its values are left out." },
    example: { connector: "acme-crm", authMethod: "key", label: "Main account", credential: { apiKey: "s3cr3t" } },
    route: "POST /api/v1/tenants/:tid/credentials",
    body: strictPayload(StoreCredential),
    output: newRecord(CredentialView),
    form: { idempotency: "lease" },
    permit: "connections:create",
    audit: auditAction("credential.create"),
    use: (credentials, { context, path, body }) => credentials.store(context, path.tid, body)
  }),
  ofCustomerCredentials({
    name: "credentials.list",
    summary: "List credentials",
    description:
      "Lists the tenant's stored credentials, newest first. With `reveal=true` and the permission to decrypt, their values are included.",
    answers: { 200: "A page of credentials." },
    parameters: { reveal: "`true`: the values are included, for keys that may decrypt connections." },
    route: "GET /api/v1/tenants/:tid/credentials",
    query: Schema.Struct({
      connector: Schema.optional(Schema.String),
      reveal: Schema.optional(Schema.String),
      page_size: Schema.optional(PageSize),
      cursor: Schema.optional(Schema.String)
    }),
    output: bareValue(
      Schema.Struct({
        data: Schema.Array(CredentialView),
        page: Schema.Struct({ size: Schema.Number, nextCursor: NullableText, hasMore: Schema.Boolean })
      })
    ),
    permit: "connections:read",
    scoped: { connection: "list", connector: "list" },
    use: (credentials, { context, path, query }) => {
      const reveals = query.reveal === "true"
      if (reveals) context.replyHeaders["cache-control"] = "no-store"
      return credentials.list(context, path.tid, query, reveals)
    }
  }),
  ofCustomerCredentials({
    name: "credentials.rotate",
    summary: "Replace a credential",
    description:
      "Replaces the values of a stored credential. The new ones are tested first, unless `skipTest` is true; if the test fails the old ones stay.",
    answers: { 200: "The credential was replaced." },
    parameters: { cred: "The id of the credential." },
    example: { credential: { apiKey: "n3w-s3cr3t" } },
    route: "PUT /api/v1/tenants/:tid/credentials/:cred",
    body: putPayload(RotateCredential, CredentialView),
    output: record(CredentialView),
    form: { idempotency: "lease" },
    permit: "connections:update",
    use: (credentials, { context, path, body }) => credentials.rotate(context, path.tid, path.cred, body)
  })
] as const
