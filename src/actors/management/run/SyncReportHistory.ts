/** Use cases that read the reports of `svc.diff.compare`. Who reaches a run reaches its reports. Contract: `SyncReport`. */
import { Effect, Option, Schema } from "effect"
import { type ReportSummary, ReportOp } from "../../../domain/diff/SyncReport.js"
import { NotFound } from "../../../domain/Failure.js"
import type { ReportId } from "../../../domain/Ids.js"
import { ExecutionReads } from "../../ports/run/ExecutionReads.js"
import { SyncReports } from "../../ports/run/SyncReports.js"
import type { CallContext } from "../CallContext.js"
import { listParams, optionalText, Pages, sizeOf } from "../Pages.js"
import { findViewWith } from "./ExecutionRecords.js"
import { rowAfter, rowCursor } from "./RowCursor.js"

/** A page of the reports of a run. */
export const ReportList = Schema.Struct({ cursor: optionalText, page_size: listParams.page_size })
/** A page of entries, of one kind or of all. */
export const EntryList = Schema.Struct({ ...ReportList.fields, op: Schema.optional(ReportOp) })

/** The entries of a report follow each other in this order. */
const order = ReportOp.literals

/** How many entries of the report are before those of the kind, and how many with them. */
const rangeOf = (summary: ReportSummary, op: ReportOp | undefined): readonly [start: number, end: number] => {
  const upTo = (n: number) => order.slice(0, n).reduce((sum, one) => sum + summary[one], 0)
  if (op === undefined) return [0, upTo(order.length)]
  const at = order.indexOf(op)
  return [upTo(at), upTo(at + 1)]
}

const make = Effect.gen(function* () {
  const reports = yield* SyncReports
  const pages = yield* Pages
  const findRun = findViewWith(yield* ExecutionReads)

  /** The report, if the caller reaches its run. */
  const find = Effect.fnUntraced(function* (context: CallContext, id: string) {
    const found = yield* reports.find(context.caller.organisationId, id)
    if (Option.isNone(found)) return yield* new NotFound({ what: "report" })
    yield* Effect.catchTag(
      findRun(context, found.value.executionId),
      "NotFound",
      () => new NotFound({ what: "report" })
    )
    return found.value
  })

  return {
    /** Oldest first. */
    list: Effect.fnUntraced(function* (context: CallContext, run: string, params: typeof ReportList.Type) {
      const { id } = yield* findRun(context, run)
      const size = sizeOf(params)
      const position = yield* pages.position(params.cursor)
      // A cursor is signed, and this list makes one of ids of reports.
      const after = position?.id as ReportId | undefined
      const rows = yield* reports.list(context.caller.organisationId, id, after, size + 1)
      return yield* pages.pageOf(rows, size, ({ createdAt, id: last }) => ({ createdAt, id: last }))
    }),

    /** A page ends early where entries are large. */
    entries: Effect.fnUntraced(function* (context: CallContext, id: string, params: typeof EntryList.Type) {
      const report = yield* find(context, id)
      const size = sizeOf(params)
      const [start, end] = rangeOf(report.summary, params.op)
      const after = Math.max(start, (yield* rowAfter(params.cursor)) + 1)
      const query = { op: params.op, after, limit: size }
      const found = yield* reports.entries(context.caller.organisationId, report.id, query)
      const last = found.at(-1)?.place ?? end
      const hasMore = last + 1 < end
      return {
        data: found.map(({ entry }) => entry),
        page: { size, hasMore, nextCursor: hasMore ? rowCursor(last) : null }
      }
    })
  }
})

export class SyncReportHistory extends Effect.Service<SyncReportHistory>()("svc/SyncReportHistory", { effect: make }) {}
