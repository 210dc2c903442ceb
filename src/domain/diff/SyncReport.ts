/** What a comparison of two lists found, as it is stored and shown. Contract: `SyncReport`. */
import { Schema } from "effect"
import { CustomerId, ExecutionId, ReportId, WorkflowId } from "../Ids.js"
import { Json } from "../Json.js"
import { Counter } from "../Scalars.js"
import { AnsweredTime } from "../Time.js"

/** Limits of `svc.diff.compare`: of one call, and of the reports of one run. */
export const comparisonLimits = {
  /** Records of both lists. */
  records: 100_000,
  nameLength: 200,
  pathLength: 1_000,
  /** Paths of `fields`, and of `ignore`. */
  paths: 200,
  /** Differing members that are found, and the characters of their paths: a long name stands in all paths below it. */
  differences: 100_000,
  pathCharacters: 2 * 1024 * 1024,
  perRun: 100,
  /** Entries, and characters, at which a stored part of a report is full. */
  partEntries: 100,
  partCharacters: 256 * 1024
} as const

/** How many records of both lists are what: those of both are counted once. */
export const ReportSummary = Schema.Struct({
  added: Counter.annotations({ description: "records of the source that the target lacks" }),
  changed: Counter.annotations({ description: "records of both that differ" }),
  removed: Counter.annotations({ description: "records of the target that the source lacks" }),
  unchanged: Counter.annotations({ description: "records of both that are alike" }),
  skipped: Counter.annotations({
    description: "records of either list without a key, or whose key occurs more than once in a list"
  })
}).annotations({ identifier: "SyncReportSummary" })
export type ReportSummary = typeof ReportSummary.Type

/** Where a record differs: members one by one, lists whole. A member that is missing is null. */
export const FieldDifference = Schema.Struct({
  path: Schema.String,
  source: Json,
  target: Json
})
export type FieldDifference = typeof FieldDifference.Type

/** What becomes of a record. */
export const ReportOp = Schema.Literal("added", "changed", "removed", "skipped")
export type ReportOp = typeof ReportOp.Type

/** What a comparison found of one record. */
export const ReportedChange = Schema.Struct({
  op: ReportOp,
  key: Schema.NullOr(Schema.String).annotations({ description: "the record's key as text; null: it has none" }),
  record: Json.annotations({ description: "the record; null for one that changed" }),
  fields: Schema.Array(FieldDifference).annotations({ description: "what differs in a record that changed" }),
  list: Schema.NullOr(Schema.Literal("source", "target")).annotations({ description: "where a skipped record is" }),
  reason: Schema.NullOr(Schema.Literal("NO_KEY", "DUPLICATE_KEY")).annotations({ description: "why it was skipped" })
}).annotations({ identifier: "SyncReportEntry" })
export type ReportedChange = typeof ReportedChange.Type

/** A stored report. Its entries are read in pages. */
export const SyncReport = Schema.Struct({
  id: ReportId,
  executionId: ExecutionId,
  workflowId: WorkflowId,
  customerId: Schema.NullOr(CustomerId),
  name: Schema.String,
  summary: ReportSummary,
  createdAt: AnsweredTime
}).annotations({ identifier: "SyncReport" })
export type SyncReport = typeof SyncReport.Type
