/**
 * The start of an Instant run as a message: a node that holds no shard, or not the run's, has its owner drive it. The run's
 * row, its first journal entry and its claim are those that the owner would make of the request itself.
 */
import { Schema } from "effect"
import { Json } from "../../domain/Json.js"
import { WorkflowId } from "../../domain/Ids.js"
import type { AuditEntry } from "../../domain/audit/Audit.js"
import type { StartEntry } from "../../domain/run/RunJournal.js"
import type { Claim, FinishedRun, OpenRun } from "../ports/run/Journal.js"
import type { Runnable } from "../ports/run/Runnables.js"

/** What the sender made of its own types: all nodes are of one build. As text, which keeps members of every name. */
const textOf = <A>() => Schema.parseJson(Json) as unknown as Schema.Schema<A, string>

/** What an Instant run begins with, besides its code. */
const begun = {
  /** Concurrent runs that the organisation's plan allows; `null`: any number. */
  concurrentRuns: Schema.NullOr(Schema.Number),
  run: textOf<OpenRun>(),
  start: textOf<StartEntry>(),
  claim: Schema.NullOr(textOf<Claim>()),
  audit: Schema.NullOr(textOf<AuditEntry>())
}

/** The code is named and not sent: the owner has it in memory, or reads it once. */
export const StartOrder = Schema.Struct({
  ...begun,
  workflowId: WorkflowId,
  /** `null`: the stored draft with this hash. */
  version: Schema.NullOr(Schema.Number),
  contentHash: Schema.String,
  /** How often the order was sent before: the run may have been begun, on this node or on another one. */
  repetition: Schema.Number
})
export type StartOrder = typeof StartOrder.Type

/** An Instant run to be driven here. */
export type DirectStart = Schema.Struct.Type<typeof begun> & { readonly runnable: Runnable }

export const StartOutcome = Schema.Union(
  Schema.TaggedStruct("Ended", { end: textOf<Omit<FinishedRun, "run">>() }),
  /** It is suspended, or its owner changes: it is committed, and goes on. */
  Schema.TaggedStruct("Accepted", {}),
  /** It has ended elsewhere, or at an earlier order: its record says how. */
  Schema.TaggedStruct("Recorded", {}),
  Schema.TaggedStruct("Repeated", { target: Schema.String, hash: Schema.NullOr(Schema.String) }),
  /** Its owner changes, and the next one knows more. */
  Schema.TaggedStruct("Moved", {}),
  /** The node runs as much as it can: another one may have room. */
  Schema.TaggedStruct("Full", {}),
  /** The run must wait in the queue. */
  Schema.TaggedStruct("MustWait", {})
)
export type StartOutcome = typeof StartOutcome.Type
