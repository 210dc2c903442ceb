/** The types that nodes send each other without a schema: their shapes are read from the source. */
import type { AuditEntry } from "../../src/domain/audit/Audit.js"
import type { StartEntry } from "../../src/domain/run/RunJournal.js"
import type { Claim, FinishedRun, OpenRun } from "../../src/actors/ports/run/Journal.js"

/** By the name that `plain` of `NodeStarts` gives each. */
export interface PlainMessages {
  readonly OpenRun: OpenRun
  readonly StartEntry: StartEntry
  readonly Claim: Claim
  readonly AuditEntry: AuditEntry
  readonly RunEnd: Omit<FinishedRun, "run">
}
