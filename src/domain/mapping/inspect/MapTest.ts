/** The test of a field map: the schemas of its body and of its answer. Nothing of a test is stored. Contract: unified API. */
import { Schema } from "effect"
import { Json, JsonObject } from "../../Json.js"
import { NullableText } from "../../Scalars.js"
import { BrokenPair, PairOriginView } from "../FieldMapRecord.js"

/** Characters of JSON of the provider's record that is tested, and of each record that the map makes of it. */
export const maxTestedCharacters = 512 * 1024

const LiveRecord = Schema.Struct({
  connectionId: Schema.optional(Schema.String),
  customerId: Schema.optional(
    Schema.String.annotations({ description: "Whose connection: the id, or the reference." })
  ),
  recordId: Schema.optional(Schema.String.annotations({ description: "Absent: the first record of the list." }))
}).annotations({ identifier: "LiveRecord", description: "A record that is read at the provider." })

/** The body of a test. */
export const TestFieldMap = Schema.Struct({
  sample: Schema.optional(JsonObject.annotations({ description: "A record as the provider sends it." })),
  live: Schema.optional(LiveRecord),
  number: Schema.optional(
    Schema.Int.pipe(Schema.positive()).annotations({ description: "A published version. Absent: the draft." })
  )
}).annotations({ identifier: "TestFieldMap", description: "Either a sample, or a live record." })
export type TestFieldMap = typeof TestFieldMap.Type

const Step = Schema.Struct({
  step: Schema.String.annotations({
    description:
      "`provider` or `common`: where it begins; the name of a transform; or the member of the pair or `type` that changes it"
  }),
  value: Json,
  isCut: Schema.Boolean.annotations({
    description: "whether the value is too long to show: texts are cut, others null"
  })
}).annotations({ identifier: "MapStep" })

const Problem = Schema.NullOr(Schema.Struct({ code: Schema.String, message: Schema.String }))

const read = {
  origin: PairOriginView,
  from: Schema.NullOr(Schema.String).annotations({
    description: "the place of the value; null: it is always the default"
  }),
  to: Schema.String,
  steps: Schema.Array(Step),
  problem: Problem.annotations({ description: "why there is no value" })
} as const

/** The way of one value from the provider's record into the common one. */
export const TracedRead = Schema.Struct(read).annotations({ identifier: "TracedRead" })
export type TracedRead = typeof TracedRead.Type

/** The way of one value from the common record back into the provider's. */
export const TracedWrite = Schema.Struct({
  ...read,
  isSame: Schema.Boolean.annotations({ description: "whether the provider's record has this value there" })
}).annotations({ identifier: "TracedWrite" })
export type TracedWrite = typeof TracedWrite.Type

const Warnings = Schema.Array(Schema.Struct({ path: Schema.String, code: Schema.String, message: Schema.String }))

const traced = {
  pairs: Schema.Array(
    Schema.Struct({
      common: NullableText.annotations({ description: "the common member; null: of a constant that is written" }),
      read: Schema.Array(TracedRead),
      write: Schema.Array(TracedWrite)
    })
  ),
  isComplete: Schema.Boolean.annotations({ description: "whether every value is shown: large records have too many" }),
  record: JsonObject.annotations({ description: "the common record" }),
  warnings: Warnings.annotations({ description: "values that could not be read and are null" }),
  written: JsonObject.annotations({ description: "the provider's record as the common one would be written" }),
  mistakes: Warnings.annotations({ description: "why the record could not be written" })
} as const

const Traced = Schema.Struct(traced)
/** What the map makes of a record. */
export type MapTrace = typeof Traced.Type

/** The answer of a test. */
export const FieldMapTest = Schema.Struct({
  connector: Schema.String,
  connectorVersion: Schema.String,
  connectionId: NullableText,
  provider: JsonObject.annotations({ description: "the record that is tested" }),
  ...traced,
  broken: Schema.Array(BrokenPair).annotations({ description: "pairs of overrides that the connector's version broke" })
}).annotations({ identifier: "FieldMapTest" })
export type FieldMapTest = typeof FieldMapTest.Type
