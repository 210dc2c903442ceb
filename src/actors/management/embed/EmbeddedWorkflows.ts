/** The workflows that an embed session may start, as its page sees them. Contract: embed. */
import { Effect } from "effect"
import { type Failure, NotFound, refuseWith } from "../../../domain/Failure.js"
import type { WorkflowId } from "../../../domain/Ids.js"
import { embeddedWorkflow } from "../../../domain/workflow/EmbeddedWorkflow.js"
import type { Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { outOfScope, type Principal, scopedIds } from "../Caller.js"
import { Changes } from "../Changes.js"
import { listQuery, Pages } from "../Pages.js"
import { offeredInstallations } from "./OfferedStarts.js"
import { embeddedOf, featuresOfSession } from "./SessionWidget.js"

export const EmbeddedWorkflowList = listQuery({})
type EmbeddedWorkflowList = typeof EmbeddedWorkflowList.Type

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const pages = yield* Pages

  /** The ids of the workflows of actions, and of what is installed. */
  const offeredIds = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal
  ): Effect.fn.Return<ReadonlyArray<WorkflowId>, Failure> {
    const person = yield* embeddedOf(caller)
    const features = yield* featuresOfSession(tx, caller)
    const limit = Math.max(1, features.integrations.length)
    const installed = yield* offeredInstallations(tx, person, features, { limit })
    // Texts of a widget are only compared with stored ids.
    const ofActions = features.actions.map(({ workflowId }) => workflowId as WorkflowId)
    return [...new Set([...ofActions, ...installed.flatMap(({ workflowIds }) => workflowIds)])]
  })

  const conditionOf = ({ embedded, spaceId }: Principal, ids: ReadonlyArray<WorkflowId>) => ({
    id: ids,
    spaceId,
    deletedAt: null,
    customerId: [null, ...(embedded === null ? [] : [embedded.customerId])]
  })

  /** Newest first. */
  const list = (context: CallContext, params: EmbeddedWorkflowList) =>
    read(context, function* (tx) {
      const { caller } = context
      const reached = scopedIds(caller, "workflow")
      const offered = yield* offeredIds(tx, caller)
      const ids = reached === undefined ? offered : offered.filter((id) => reached.includes(id))
      return yield* pages.views(
        tx.workflows,
        params,
        { where: conditionOf(caller, ids), searchIn: ["name", "description"] as const },
        embeddedWorkflow
      )
    })

  const get = (context: CallContext, id: string) =>
    read(context, function* (tx) {
      const { caller } = context
      const offered = (yield* offeredIds(tx, caller)).find((one) => one === id)
      const [found] =
        offered === undefined ? [] : yield* tx.workflows.list({ where: conditionOf(caller, [offered]), limit: 1 })
      if (found === undefined) return yield* new NotFound({ what: "workflow" })
      yield* refuseWith(outOfScope(caller, "workflow", found.id))
      return embeddedWorkflow(found)
    })

  return { list, get }
})

export class EmbeddedWorkflows extends Effect.Service<EmbeddedWorkflows>()("svc/EmbeddedWorkflows", { effect: make }) {}
