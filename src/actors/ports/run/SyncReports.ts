/** The reports of `svc.diff.compare`: a run's owner adds one, and their readers page through its entries. */
import { Context, type Effect, type Option } from "effect"
import type { ReportedChange, ReportOp, SyncReport } from "../../../domain/diff/SyncReport.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ExecutionId, OrganisationId, ReportId } from "../../../domain/Ids.js"
import type { JournalEntry } from "../../../domain/run/RunJournal.js"
import type { Fenced, JournalPlace, JournalUnavailable, OpenRun } from "./Journal.js"

/** Entries of one kind that are stored together, as JSON. `first`: how many entries of the report are before them. */
export interface ReportPart {
  readonly first: number
  readonly op: ReportOp
  readonly count: number
  readonly entries: string
}

/** A report as its run adds it. */
export interface NewReport extends Pick<SyncReport, "id" | "name" | "summary"> {
  readonly run: OpenRun
  readonly parts: ReadonlyArray<ReportPart>
  readonly eventId: string
}

/** Which entries are read: those after so many of the report. */
export interface EntryQuery {
  readonly op: ReportOp | undefined
  readonly after: number
  readonly limit: number
}

/** An entry with its place in the report. */
export interface PlacedEntry {
  readonly place: number
  readonly entry: ReportedChange
}

export class SyncReports extends Context.Tag("svc/SyncReports")<
  SyncReports,
  {
    /** Adds the report, the event that tells of it and the call's journal row in one transaction of the run's owner. */
    readonly add: (
      report: NewReport,
      place: JournalPlace,
      entry: JournalEntry
    ) => Effect.Effect<void, Fenced | JournalUnavailable>
    /** The reports of a run, the oldest first, after one of them. */
    readonly list: (
      organisation: OrganisationId,
      run: ExecutionId,
      after: ReportId | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<SyncReport>, Unavailable>
    readonly find: (organisation: OrganisationId, id: string) => Effect.Effect<Option.Option<SyncReport>, Unavailable>
    /** Entries in their order: fewer than the limit if they are large, none if there are no more. */
    readonly entries: (
      organisation: OrganisationId,
      id: ReportId,
      query: EntryQuery
    ) => Effect.Effect<ReadonlyArray<PlacedEntry>, Unavailable>
  }
>() {}
