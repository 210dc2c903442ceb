/**
 * Overrides of connectors' field maps, of the organisation or of one customer: a draft, and versions that publishing freezes.
 * Contract: CDM types; unified API.
 */
import { Schema } from "effect"
import { CustomerId, FieldMapId, OrganisationId } from "../Ids.js"
import { fixedValue, generatedValue, optional, owner, recordOf, required } from "../Record.js"
import { NullableText } from "../Scalars.js"
import { Slug } from "../Slug.js"
import { AnsweredTime } from "../Time.js"
import { FieldMap } from "./FieldMap.js"

/** The most overrides of an organisation. */
export const fieldMapLimit = 1_000

const Name = Schema.String.pipe(Schema.maxLength(200))
const Pairs = Schema.Array(FieldMap)
const Paths = Schema.Array(Schema.String.pipe(Schema.maxLength(500))).pipe(Schema.maxItems(1_000))
const Label = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))

/** An override: its record, bodies and view. Times are RFC 3339. */
export const FieldMapOverride = recordOf("FieldMapOverride", {
  id: generatedValue(FieldMapId, Schema.String),
  organisationId: owner(OrganisationId),
  connector: fixedValue(required(Schema.String, Slug.annotations({ description: "The connector's slug." }))),
  entity: fixedValue(
    required(Schema.String, Label.annotations({ description: "The entity's name in the connector's definition." }))
  ),
  model: fixedValue(required(Schema.String, Label.annotations({ description: "`CDMOrder`, or `crm.contact`." }))),
  customerId: fixedValue(optional(Schema.NullOr(CustomerId), null, NullableText, NullableText)),
  name: optional(Schema.String, "", Name),
  fields: optional(
    Pairs,
    [],
    Pairs.annotations({ description: "Pairs that replace those with the same `to`, or are added." })
  ),
  dropped: optional(
    Schema.Array(Schema.String),
    [],
    Paths.annotations({ description: "Members that the map does not fill any more, as `to` has them." })
  ),
  fieldsOut: optional(
    Schema.NullOr(Pairs),
    null,
    Schema.NullOr(Pairs).annotations({ description: "For writing; null: `fields` in reverse where that is possible." })
  ),
  published: generatedValue(Schema.NullOr(Schema.Number)),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  version: generatedValue(Schema.Number)
})
/** The stored override. */
export type FieldMapOverride = typeof FieldMapOverride.stored.Type
export type CreateFieldMap = typeof FieldMapOverride.Create.Type
export type UpdateFieldMap = typeof FieldMapOverride.Update.Type

/** A published version of an override. */
export const FieldMapVersion = Schema.Struct({
  fieldMapId: FieldMapId,
  number: Schema.Number,
  organisationId: OrganisationId,
  fields: Pairs,
  dropped: Schema.Array(Schema.String),
  fieldsOut: Schema.NullOr(Pairs),
  notes: NullableText,
  publishedAt: AnsweredTime,
  publishedBy: Schema.String
})
export type FieldMapVersion = typeof FieldMapVersion.Type

/** A version as the API shows it. */
export const FieldMapVersionView = FieldMapVersion.omit("fieldMapId", "organisationId").annotations({
  identifier: "FieldMapVersion"
})

/** The body that publishes. */
export const PublishFieldMap = Schema.Struct({
  number: Schema.optional(
    Schema.Int.pipe(Schema.positive()).annotations({
      description: "The number of an earlier version, which is in force again. Absent: the draft becomes a new version."
    })
  ),
  notes: Schema.optional(Schema.String.pipe(Schema.maxLength(2_000)))
}).annotations({ identifier: "PublishFieldMap" })
export type PublishFieldMap = typeof PublishFieldMap.Type

/** Who wrote a pair. */
export const PairOriginView = Schema.Struct({
  level: Schema.Literal("connector", "organisation", "customer"),
  fieldMapId: NullableText,
  version: Schema.NullOr(Schema.Number)
}).annotations({ identifier: "PairOrigin", description: "who wrote the pair; without a version: a draft" })

/** A part of an override that the connector's version does not fit. */
export const BrokenPair = Schema.Struct({
  fieldMapId: Schema.String,
  path: Schema.String.annotations({ description: "the part of the override, such as `fields[2].to`" }),
  code: Schema.String,
  message: Schema.String
}).annotations({ identifier: "BrokenPair" })
export type BrokenPair = typeof BrokenPair.Type

/** A member that loses what is written: it is not read again as it was written. */
export const MapLoss = Schema.Struct({
  path: Schema.String.annotations({ description: "the common member, such as `lineItems[*].title`" }),
  code: Schema.Literal("NOT_READ", "CHANGED", "REFUSED").annotations({
    description: "`NOT_READ`: nothing is read again; `CHANGED`: another value; `REFUSED`: some words cannot be written"
  }),
  message: Schema.String
}).annotations({ identifier: "MapLoss" })
export type MapLoss = typeof MapLoss.Type

const Losses = Schema.Array(MapLoss)
const originPair = { pair: FieldMap, origin: PairOriginView } as const

/** The map that is in force, each pair with who wrote it. */
export const EffectiveFieldMap = Schema.Struct({
  connector: Schema.String,
  connectorVersion: Schema.String,
  entity: Schema.String,
  model: Schema.String,
  customerId: NullableText,
  fields: Schema.Array(
    Schema.Struct({
      ...originPair,
      lossy: Losses.annotations({ description: "what the pair cannot write back as it was read" })
    })
  ),
  fieldsOut: Schema.Array(Schema.Struct(originPair)),
  score: Schema.Number,
  mapped: Schema.Array(Schema.String),
  missing: Schema.Array(Schema.String),
  lossy: Losses.annotations({ description: "members that are not read again as they were written" }),
  broken: Schema.Array(BrokenPair).annotations({ description: "parts of overrides that the connector's version broke" })
}).annotations({ identifier: "EffectiveFieldMap" })
export type EffectiveFieldMap = typeof EffectiveFieldMap.Type
