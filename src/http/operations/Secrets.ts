/** The operations on secrets: a list has no values, which are read one by one. Specification: Surface C; contract: secret record. */
import { Schema, Effect } from "effect"
import { Json } from "../../domain/Json.js"
import { CreateSecret, Secret, SecretType } from "../../domain/access/Secret.js"
import { auditAction } from "../operation/Contract.js"
import { operationsOf } from "../operation/Operation.js"
import { strictPayload } from "../PayloadSchema.js"
import { SecretList, Secrets } from "../../actors/management/access/Secrets.js"
import { newOrStoredRecord, record, page, empty } from "../operation/Output.js"

const RevealedSecret = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  type: SecretType,
  value: Json
}).annotations({ identifier: "RevealedSecret" })

const ofSecrets = operationsOf({
  parameters: { sid: "The id of the secret." },
  with: Secrets,
  resource: "secret",
  sharing: "perRecord",
  scoped: { secret: "path", environment: "record" }
})

/** The operations of the group `secrets`, in the order of the documents. */
export const secretsOperations = [
  ofSecrets({
    name: "secrets.list",
    summary: "List secrets",
    description: "Lists names and scopes of secrets. Values are read one by one.",
    answers: { 200: "A page of secrets, without their values." },
    route: "GET /api/v1/secrets",
    query: SecretList,
    output: page(Secret.View),
    permit: ["secrets:read", "secrets:write"],
    scoped: { secret: "list", environment: "list" },
    use: (secrets, { context, query }) => secrets.list(context, query)
  }),
  ofSecrets({
    name: "secrets.store",
    summary: "Store a secret",
    description:
      "Stores a secret under a name, for all customers and environments or for one of them. A secret with the same name and scope is replaced.",
    answers: { 200: "The secret was replaced.", 201: "The secret is stored." },
    example: { name: "CRM_TOKEN", type: "text", value: "s3cr3t" },
    route: "POST /api/v1/secrets",
    body: strictPayload(CreateSecret),
    output: newOrStoredRecord(Secret.View),
    permit: "secrets:write",
    audit: auditAction("secret.create"),
    scoped: { secret: "record", environment: "record" },
    use: (secrets, { context, body }) =>
      Effect.map(secrets.store(context, body), ({ isNew, secret }) => {
        context.status = isNew ? 201 : 200
        return secret
      })
  }),
  ofSecrets({
    name: "secrets.reveal",
    summary: "Read the value of a secret",
    description: "Answers with the value of one secret. The call is audited, and no cache may keep the answer.",
    answers: { 200: "The secret with its value." },
    route: "GET /api/v1/secrets/:sid/value",
    output: record(RevealedSecret),
    permit: "secrets:read",
    audit: auditAction("secret.read"),
    noStore: true,
    use: (secrets, { context, path }) => secrets.reveal(context, path.sid)
  }),
  ofSecrets({
    name: "secrets.delete",
    summary: "Delete a secret",
    description: "Deletes a secret with all of its versions.",
    answers: { 204: "The secret is deleted." },
    route: "DELETE /api/v1/secrets/:sid",
    output: empty,
    permit: "secrets:delete",
    use: (secrets, { context, path }) => secrets.remove(context, path.sid)
  })
] as const
