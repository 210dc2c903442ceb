/**
 * Earlier states of a workflow's draft. Of the states that an author saves within the same five minutes the last one is kept;
 * so is every state that another author overwrote. Decisions: 0051.
 */
import { Duration, Schema } from "effect"
import { OrganisationId, WorkflowId } from "../Ids.js"
import { StoredJson, StoredObject } from "../Json.js"
import { generatedValue, owner, recordOf } from "../Record.js"
import { NullableText } from "../Scalars.js"
import { AnsweredTime } from "../Time.js"
import { type Workflow, WorkflowForm } from "./Workflow.js"

/** How many states of a draft are kept, and how long after they were replaced. One for each author and window. */
export const draftHistory = { states: 50, lifetime: Duration.days(30), window: Duration.minutes(5) } as const

/** An earlier state as it is listed, without its content. */
export const WorkflowDraft = recordOf("WorkflowDraft", {
  organisationId: owner(OrganisationId),
  workflowId: owner(WorkflowId),
  number: generatedValue(
    Schema.Number,
    Schema.Number.annotations({ description: "The `version` of the workflow while its draft had this state." })
  ),
  form: generatedValue(WorkflowForm),
  contentHash: generatedValue(
    Schema.String,
    Schema.String.annotations({ description: "Versions and drafts with the same one have the same content." })
  ),
  problemCount: generatedValue(
    Schema.Number,
    Schema.Number.annotations({ description: "Mistakes with which it was saved." })
  ),
  savedBy: generatedValue(Schema.String),
  savedAt: generatedValue(AnsweredTime),
  replacedBy: generatedValue(Schema.String),
  replacedAt: generatedValue(AnsweredTime)
})
/** The stored state, without its content. */
export type WorkflowDraft = typeof WorkflowDraft.stored.Type

/** The whole row. */
export const DraftContent = Schema.Struct({
  ...WorkflowDraft.stored.fields,
  source: NullableText,
  spec: StoredJson,
  inputContract: Schema.NullOr(StoredObject),
  outputContract: Schema.NullOr(StoredObject)
})
export type DraftContent = typeof DraftContent.Type

/** The window of five minutes that a time is in. */
const windowOf = (time: string): number => Math.floor(Date.parse(time) / Duration.toMillis(draftHistory.window))

/** Whether the state that `after` replaces is kept: it differs, and is another author's or of an earlier window. */
export const isKept = (before: Workflow, after: Workflow): boolean =>
  before.contentHash !== after.contentHash &&
  (before.draftUpdatedBy !== after.draftUpdatedBy || windowOf(before.draftUpdatedAt) !== windowOf(after.draftUpdatedAt))

/** The state that `after` replaces. */
export const replacedState = (before: Workflow, after: Workflow): DraftContent => ({
  organisationId: before.organisationId,
  workflowId: before.id,
  number: before.version,
  form: before.form,
  contentHash: before.contentHash,
  problemCount: before.problems.length,
  savedBy: before.draftUpdatedBy,
  savedAt: before.draftUpdatedAt,
  replacedBy: after.draftUpdatedBy,
  replacedAt: after.draftUpdatedAt,
  source: before.source,
  spec: before.spec,
  inputContract: before.inputContract,
  outputContract: before.outputContract
})
