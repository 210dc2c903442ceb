/** The operations on overrides of field maps. Contract: unified API. */
import { Schema } from "effect"
import { EffectiveMaps, EffectiveParams } from "../../../actors/management/unified/EffectiveMaps.js"
import { FieldMapList, FieldMaps } from "../../../actors/management/unified/FieldMaps.js"
import { FieldMapTests } from "../../../actors/management/unified/FieldMapTests.js"
import {
  EffectiveFieldMap,
  FieldMapOverride,
  FieldMapVersionView,
  PublishFieldMap
} from "../../../domain/mapping/FieldMapRecord.js"
import { FieldMapTest, TestFieldMap } from "../../../domain/mapping/inspect/MapTest.js"
import { auditAction } from "../../operation/Contract.js"
import { operationsOf } from "../../operation/Operation.js"
import { empty, newRecord, page, record } from "../../operation/Output.js"
import { putPayload, strictPayload } from "../../PayloadSchema.js"

const parameters = { fmp: "The id of the field map." }

const ofFieldMaps = operationsOf({
  parameters,
  with: FieldMaps,
  resource: "field_map",
  sharing: "perRecord",
  scoped: { connector: "record" }
})

/** The operations of the group `fieldMaps`, in the order of the documents. */
export const fieldMapsOperations = [
  ofFieldMaps({
    name: "fieldMaps.list",
    summary: "List field maps",
    description: "Lists the overrides of connectors' field maps, of the organisation and of customers, newest first.",
    answers: { 200: "A page of field maps." },
    parameters: { model: "The name of the model: `CDMOrder`, or `crm.contact`." },
    route: "GET /api/v1/field-maps",
    query: FieldMapList,
    output: page(FieldMapOverride.View),
    permit: "connectors:read",
    scoped: { connector: "list" },
    use: (maps, { context, query }) => maps.list(context, query)
  }),
  ofFieldMaps({
    name: "fieldMaps.create",
    summary: "Create a field map",
    description:
      "Creates an override of a connector's map, of the organisation or with `customerId` of a customer. Its pairs replace, add or drop those of the connector by `to`. It has no effect until it is published.",
    answers: { 201: "The field map is created." },
    example: {
      connector: "hubspot",
      entity: "contact",
      model: "crm.contact",
      fields: [{ from: "properties.tier", to: "customFields.tier" }]
    },
    route: "POST /api/v1/field-maps",
    body: strictPayload(FieldMapOverride.Create),
    output: newRecord(FieldMapOverride.View),
    permit: "connectors:write",
    use: (maps, { context, body }) => maps.create(context, body)
  }),
  operationsOf({ with: EffectiveMaps, resource: "field_map", sharing: "perRecord" })({
    name: "fieldMaps.effective",
    summary: "Read the map in force",
    description:
      "Returns the pairs that are in force for the organisation, or with `customer_id` for a customer, each with who wrote it, what cannot be written back as it was read, and how much of the model they fill.",
    answers: { 200: "The map." },
    parameters: {
      entity: "The entity, such as `contact`.",
      model: "The name of the model: `CDMOrder`, or `crm.contact`."
    },
    route: "GET /api/v1/field-maps/effective",
    query: EffectiveParams,
    output: record(EffectiveFieldMap),
    permit: "connectors:read",
    scoped: { connector: "record" },
    use: (maps, { context, query }) => maps.effective(context, query)
  }),
  ofFieldMaps({
    name: "fieldMaps.get",
    summary: "Read a field map",
    description: "Reads a field map's draft.",
    answers: { 200: "The field map." },
    route: "GET /api/v1/field-maps/:fmp",
    output: record(FieldMapOverride.View),
    permit: "connectors:read",
    use: (maps, { context, path }) => maps.get(context, path.fmp)
  }),
  ofFieldMaps({
    name: "fieldMaps.update",
    summary: "Change a field map",
    description: "Changes the members of the draft that are sent; what is published stays in force.",
    answers: { 200: "The field map after the change." },
    example: { dropped: ["title"] },
    route: "PUT /api/v1/field-maps/:fmp",
    body: putPayload(FieldMapOverride.Update, FieldMapOverride.View),
    output: record(FieldMapOverride.View),
    permit: "connectors:write",
    use: (maps, { context, path, body }) => maps.update(context, path.fmp, body)
  }),
  ofFieldMaps({
    name: "fieldMaps.remove",
    summary: "Delete a field map",
    description: "Deletes a field map with its versions. Lists that began with it must begin again.",
    answers: { 204: "The field map is deleted." },
    route: "DELETE /api/v1/field-maps/:fmp",
    output: empty,
    permit: "connectors:write",
    audit: auditAction("field_map.delete"),
    use: (maps, { context, path }) => maps.remove(context, path.fmp)
  }),
  ofFieldMaps({
    name: "fieldMaps.versions",
    summary: "List the versions of a field map",
    description: "Lists the published versions, newest first, up to 200.",
    answers: { 200: "The versions." },
    route: "GET /api/v1/field-maps/:fmp/versions",
    output: record(Schema.Array(FieldMapVersionView)),
    permit: "connectors:read",
    use: (maps, { context, path }) => maps.versions(context, path.fmp)
  }),
  ofFieldMaps({
    name: "fieldMaps.publish",
    summary: "Publish a field map",
    description:
      "Freezes the draft as the next version, which is in force at once. With `number` an earlier one is in force again. Lists go on with the map that they began with.",
    answers: { 200: "The field map, with the version in force." },
    example: { notes: "Tiers of the loyalty programme" },
    route: "POST /api/v1/field-maps/:fmp/publish",
    body: strictPayload(PublishFieldMap),
    output: record(FieldMapOverride.View),
    permit: "connectors:write",
    use: (maps, { context, path, body }) => maps.publish(context, path.fmp, body)
  }),
  operationsOf({ parameters, with: FieldMapTests, resource: "field_map", sharing: "perRecord" })({
    name: "fieldMaps.test",
    summary: "Test a field map",
    description:
      "Takes a record through the map that would be in force if the draft, or the version `number`, were published: each value's steps from the provider to the common record and back, and both records. `sample` is a provider's record; `live` is read at the provider, which also needs `unified_api:read`. Nothing is stored.",
    answers: { 200: "What the map makes of the record." },
    example: { sample: { properties: { tier: "gold" } } },
    route: "POST /api/v1/field-maps/:fmp/test",
    body: strictPayload(TestFieldMap),
    output: record(FieldMapTest),
    permit: "connectors:read",
    scoped: { connector: "record", connection: "record" },
    form: { idempotency: "lease" },
    use: (tests, { context, path, body }) => tests.test(context, path.fmp, body)
  })
]
