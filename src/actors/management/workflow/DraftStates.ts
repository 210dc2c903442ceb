/** Stores and finds earlier states of drafts, in the transaction of a use case. */
import { Effect, Option } from "effect"
import { type Failure, NotFound, type Unavailable } from "../../../domain/Failure.js"
import { type DraftContent, draftHistory, type WorkflowDraft } from "../../../domain/workflow/Draft.js"
import type { Workflow } from "../../../domain/workflow/Workflow.js"
import type { AlreadyExists, Tx } from "../../ports/Records.js"

/** The states that are kept of a workflow, without their content, newest first. */
export const listStates = (
  tx: Tx,
  { id }: Pick<Workflow, "id">
): Effect.Effect<ReadonlyArray<WorkflowDraft>, Unavailable> =>
  tx.drafts.list({ where: { workflowId: id }, limit: draftHistory.states })

/** A state with its content. */
export const findState = (tx: Tx, { id }: Pick<Workflow, "id">, number: number): Effect.Effect<DraftContent, Failure> =>
  Effect.flatMap(
    tx.draftContents.find({ workflowId: id, number }),
    Option.match({ onNone: () => new NotFound({ what: "draft" }), onSome: (found) => Effect.succeed(found) })
  )

/** Keeps a state, and removes the oldest of more than the history has. The workflow is locked. */
export const keepState = Effect.fnUntraced(function* (
  tx: Tx,
  state: DraftContent
): Effect.fn.Return<void, AlreadyExists | Unavailable> {
  const { workflowId } = state
  yield* tx.draftContents.insert(state)
  const kept = yield* tx.drafts.list({ where: { workflowId }, limit: 2 * draftHistory.states })
  const number = kept.slice(draftHistory.states).map((old) => old.number)
  if (number.length > 0) yield* tx.drafts.remove({ workflowId, number })
})
