/**
 * The log of what was in force of an organisation's field maps and connectors: publishing, rolling back and deleting extend it.
 * A version of a workflow refers to a revision of it. Decisions: 0061.
 */
import { Schema } from "effect"
import { CustomerId, OrganisationId } from "../Ids.js"
import { NullableText } from "../Scalars.js"
import { AnsweredTime } from "../Time.js"

/** A version of an override or of a connector that is in force from its revision on. */
export const MapPublication = Schema.Struct({
  organisationId: OrganisationId,
  /** Counts the organisation's publications, in the order of their commits. */
  revision: Schema.Number,
  connector: Schema.String,
  /** Null for a version of a connector; so is `model`. */
  entity: NullableText,
  model: NullableText,
  customerId: Schema.NullOr(CustomerId),
  fieldMapId: NullableText,
  /** Of the override's version; null: the override was deleted. */
  number: Schema.NullOr(Schema.Number),
  connectorVersion: NullableText,
  at: AnsweredTime
})
export type MapPublication = typeof MapPublication.Type

/** What a run reads and writes records by: the revision that its version was published with, and when the run began. */
export interface MapMoment {
  readonly revision: number
  /** Unix milliseconds. */
  readonly at: number
}
