/** Use cases of workflows' versions: publish, list, compare. Contract: workflow record; surface C bodies. */
import { Effect } from "effect"
import type { CallContext } from "../CallContext.js"
import { changesBetween } from "../../../domain/audit/Audit.js"
import type { WorkflowVersion } from "../../../domain/workflow/Workflow.js"
import { versionView } from "../../../domain/workflow/WorkflowView.js"
import { Changes } from "../Changes.js"
import { makeCurrentDrafts } from "./CurrentDrafts.js"
import { makeWorkflowCompiler } from "./WorkflowCompiler.js"
import { makePublish, type PublishRequest } from "./WorkflowPublisher.js"
import { findVersion, findWorkflow, maxVersionsShown } from "./WorkflowRecords.js"

const contractsOf = ({ inputContract, outputContract }: WorkflowVersion) => ({ inputContract, outputContract })

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const { computeStored } = yield* makeWorkflowCompiler
  const publish = yield* makePublish
  const currentDraft = yield* makeCurrentDrafts

  return {
    /** The newest `versionsShown`. */
    list: (context: CallContext, id: string) =>
      read(context, (tx) =>
        Effect.flatMap(findWorkflow(tx, context.caller, id), (workflow) =>
          tx.workflowVersions.list({ where: { workflowId: workflow.id }, limit: maxVersionsShown })
        )
      ).pipe(Effect.map((versions) => versions.map(versionView))),

    /** Also deploys to the environments with automatic deployment. */
    publish: (context: CallContext, id: string, request: PublishRequest) =>
      Effect.zipRight(
        request.version === undefined
          ? Effect.flatMap(
              read(context, (tx) => findWorkflow(tx, context.caller, id)),
              (workflow) => currentDraft(context.caller, workflow)
            )
          : Effect.void,
        change(context, (tx) => publish(tx, context, id, request))
      ),

    diff: Effect.fnUntraced(function* (context: CallContext, id: string, from: number, to: number) {
      const [old, now] = yield* read(context, (tx) =>
        Effect.flatMap(findWorkflow(tx, context.caller, id), (workflow) =>
          Effect.all([findVersion(tx, workflow, from), findVersion(tx, workflow, to)])
        )
      )
      const contracts = changesBetween(contractsOf(old), contractsOf(now))
      const { caller } = context
      // All versions of a workflow have its form.
      if (now.form === "steps")
        return { contracts, ...(yield* computeStored("compareFlows", caller, { from: old.spec, to: now.spec })) }
      const sources = { from: old.source ?? "", to: now.source ?? "" }
      return { contracts, code: yield* computeStored("diffLines", caller, sources) }
    })
  }
})

/** Each use case fails with `NotFound` if the key's workspace has no such workflow or the caller does not reach it. */
export class WorkflowVersions extends Effect.Service<WorkflowVersions>()("svc/WorkflowVersions", { effect: make }) {}
