/**
 * The schema of a field map: pairs of a path into a provider's record and one into the common record. Contract: connector
 * definition; CDM types.
 */
import { Schema } from "effect"
import { optional, optionalList, required } from "../connector/Members.js"
import { Json } from "../Json.js"
import { Transform } from "./Transform.js"

const text = Schema.String
const Scalar = Schema.Union(Schema.String, Schema.JsonNumber, Schema.Boolean, Schema.Null)

/** How a provider writes a time. */
export const DateFormat = Schema.Literal("MM-DD-YYYY", "DD-MM-YYYY", "unix", "ms", "iso", "date")
export type DateFormat = typeof DateFormat.Type

const members = {
  from: optional(
    text,
    "A path into the provider's record; `[*]` in both paths stands for every item of a list. Absent: the value is always `default`."
  ),
  to: required(text, "A path into the common record."),
  transforms: optionalList(
    Transform,
    "Applied from left to right; `CONCAT` and `COALESCE` read paths of the record, or of the list's item."
  ),
  enum: optional(
    Schema.Record({ key: text, value: Scalar }),
    "The provider's value, whatever its case, with `_` for `-` and spaces → the common one."
  ),
  fallback: optional(Json, "The common value of a provider's value that `enum` lacks."),
  default: optional(Json, "The common value where the provider has none."),
  defaultNow: optional(
    Schema.Boolean,
    "In a map for writing: a new record without the value gets the time at which it is created."
  ),
  split: optional(
    text.pipe(Schema.minLength(1), Schema.maxLength(10)),
    "The provider's value is a text with this separator, the common one a list."
  ),
  locale: optional(
    text.pipe(
      Schema.pattern(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/, { message: () => "must be a language tag such as de-AT" })
    ),
    "How the provider writes numbers and dates; absent: the `locale` of the connection's config, else `en`."
  ),
  dateFormat: optional(
    DateFormat,
    "`unix` and `ms`: a number since 1970, in seconds or milliseconds; `iso`: with a time; `date`: YYYY-MM-DD. Absent: recognised."
  ),
  minorUnits: optional(
    Schema.Boolean,
    "The provider's value is an amount in the smallest unit of the entity's currency, the common one its decimal amount."
  )
}

/** One pair of a field map. `items`: pairs of the items of the lists that `from` and `to` name, with paths into the items. */
export type FieldMap = Schema.Struct.Type<typeof members> & { readonly items?: ReadonlyArray<FieldMap> }
/** A pair as it is written. */
export type FieldMapEncoded = Schema.Struct.Encoded<typeof members> & {
  readonly items?: ReadonlyArray<FieldMapEncoded>
}

export const FieldMap: Schema.Schema<FieldMap, FieldMapEncoded> = Schema.Struct({
  ...members,
  items: optional(
    Schema.Array(Schema.suspend((): Schema.Schema<FieldMap, FieldMapEncoded> => FieldMap)),
    "Pairs of the items of the lists at `from` and `to`, with paths into an item."
  )
}).annotations({ identifier: "FieldMap" })
