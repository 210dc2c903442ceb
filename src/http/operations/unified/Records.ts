/** The operations of the unified API. Specification: Surface A; contract: unified API. */
import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import {
  RecordListParams,
  RecordParams,
  UnifiedApi,
  WriteParams
} from "../../../actors/management/unified/UnifiedApi.js"
import { JsonObject } from "../../../domain/Json.js"
import { AnsweredTime } from "../../../domain/Time.js"
import { RecordFailures } from "../../ErrorSchemas.js"
import { operationsOf } from "../../operation/Operation.js"
import { bareValue, empty } from "../../operation/Output.js"

const Meta = {
  category: Schema.String,
  entity: Schema.String,
  provider: Schema.String.annotations({ description: "the connector's slug" }),
  connectionId: Schema.String,
  fetchedAt: AnsweredTime,
  warnings: Schema.Array(
    Schema.Struct({
      record: Schema.NullOr(Schema.String),
      path: Schema.String,
      code: Schema.String,
      message: Schema.String
    })
  ).annotations({ description: "values that could not be read and are null" })
}

const CommonRecord = JsonObject.annotations({
  identifier: "CommonRecord",
  description: "a record with the members of its model, as `GET /api/v1/models` describes them"
})

const RecordsPage = Schema.Struct({
  data: Schema.Array(CommonRecord),
  page: Schema.Struct({ size: Schema.Number, nextCursor: Schema.NullOr(Schema.String), hasMore: Schema.Boolean }),
  meta: Schema.Struct({
    ...Meta,
    filteredBy: Schema.Record({ key: Schema.String, value: Schema.Literal("provider", "service") }).annotations({
      description: "who applied each filter of the request"
    })
  })
}).annotations({ identifier: "RecordsPage" })

const oneRecord = Schema.Struct({
  data: CommonRecord,
  meta: Schema.Struct({
    ...Meta,
    version: Schema.String.annotations({ description: "a fingerprint of the record, for If-Match" })
  })
})
const OneRecord = oneRecord.annotations({ identifier: "OneRecord" })
const CreatedRecord = oneRecord.annotations({
  identifier: "CreatedRecord",
  ...HttpApiSchema.annotations({ status: 201 })
})

const ofUnified = operationsOf({
  parameters: {
    category: "The category, such as `crm`.",
    entity: "The entity, such as `contact`.",
    recordId: "The record's id, as the list has it.",
    fields: "Members that are wanted, separated by commas; `id` always is. Without it: all.",
    include_raw: "`true`: with the provider's own record, as `raw`.",
    strict: "`true`: a value that cannot be read is refused, and not null with a warning.",
    connection_id: "Only records of this connection.",
    provider: "The slug of the connector, where the customer has connected several."
  },
  with: UnifiedApi,
  resource: "unified_record",
  sharing: "customers",
  scoped: { connection: "record", connector: "record" }
})

const form = { idempotency: "lease", tenancy: "act", versions: "own" } as const

/** The operations of the group `unified`, in the order of the documents. */
export const unifiedOperations = [
  ofUnified({
    name: "unified.list",
    summary: "List records of an entity",
    description:
      "Lists records of the provider that the customer has connected, in one form whatever the provider is. The customer is that of `x-end-org-id` or `x-end-org-ref`. A page may end early while `hasMore` is true.",
    answers: { 200: "A page of records." },
    parameters: { modified_after: "Only records that were changed after this time, as in 2026-11-21T07:10:41Z." },
    route: "GET /api/v1/unified/:category/:entity",
    query: RecordListParams,
    output: bareValue(RecordsPage),
    failures: RecordFailures,
    permit: "unified_api:read",
    form: { ...form, idempotency: "none" },
    use: (api, { context, path, query }) => api.list(context, path, query)
  }),
  ofUnified({
    name: "unified.get",
    summary: "Read a record of an entity",
    description:
      "Returns a record of the provider in the common form. `etag` and `meta.version` name it as it was read.",
    answers: { 200: "The record." },
    route: "GET /api/v1/unified/:category/:entity/:recordId",
    query: RecordParams,
    output: bareValue(OneRecord),
    failures: RecordFailures,
    permit: "unified_api:read",
    form: { ...form, idempotency: "none" },
    use: (api, { context, path, query }) => api.get(context, path, query)
  }),
  ofUnified({
    name: "unified.create",
    summary: "Create a record of an entity",
    description:
      "Creates a record at the provider. `remoteFields` are members of the provider's own record. With an Idempotency-Key it is created once, or, where the provider cannot tell whether it was, refused with `UNCERTAIN_WRITE`.",
    answers: { 201: "The record as the provider has it." },
    example: { lastName: "Byron", emailAddresses: [{ emailAddress: "ada@example.com" }] },
    route: "POST /api/v1/unified/:category/:entity",
    query: WriteParams,
    body: JsonObject,
    output: bareValue(CreatedRecord),
    failures: RecordFailures,
    permit: "unified_api:create",
    form,
    use: (api, { context, path, query, body }) => api.create(context, path, query, body)
  }),
  ofUnified({
    name: "unified.update",
    summary: "Change a record of an entity",
    description:
      "A merge patch: only what differs is sent to the provider, null clears a member, a list is replaced whole. With `If-Match` it is refused if the record has changed since it was read.",
    answers: { 200: "The record as the provider has it." },
    example: { title: "Analyst" },
    route: "PATCH /api/v1/unified/:category/:entity/:recordId",
    query: WriteParams,
    body: JsonObject,
    output: bareValue(OneRecord),
    failures: RecordFailures,
    permit: "unified_api:update",
    form,
    use: (api, { context, path, query, body }) => api.update(context, path, query, body)
  }),
  ofUnified({
    name: "unified.delete",
    summary: "Delete a record of an entity",
    description:
      "Deletes a record at the provider. With `If-Match` it is refused if the record has changed since it was read.",
    answers: { 204: "It is deleted." },
    route: "DELETE /api/v1/unified/:category/:entity/:recordId",
    query: WriteParams,
    output: empty,
    failures: RecordFailures,
    permit: "unified_api:delete",
    form,
    use: (api, { context, path, query }) => api.remove(context, path, query)
  })
]
