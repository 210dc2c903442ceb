/** Use cases of workflows' versions: publish, list, compare. Contract: workflow record; surface C bodies. */
import { Context, Effect, Layer, Option } from "effect"
import { type AuditChange, changesBetween } from "../../../domain/audit/Audit.js"
import { NotFound } from "../../../domain/Failure.js"
import type { Workflow, WorkflowVersion } from "../../../domain/workflow/Workflow.js"
import type { DiffLine } from "../../../domain/LineDiff.js"
import { type VersionView, versionView } from "../../../domain/workflow/WorkflowView.js"
import type { Tx } from "../../ports/Records.js"
import type { UseCase } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { makeWorkflowCompiler } from "./WorkflowCompiler.js"
import { makePublish, type Publication, type PublishRequest } from "./WorkflowPublisher.js"
import { findWorkflow } from "./WorkflowRecords.js"

/** The difference of two versions, by lines of code and by members. */
export interface VersionDiff {
  readonly code: ReadonlyArray<DiffLine>
  readonly contracts: ReadonlyArray<AuditChange>
}

/** Versions and deployments that a workflow's view shows at most. */
export const maxVersionsShown = 200

/** Each use case fails with `NotFound` if the key's workspace has no such workflow or the caller does not reach it. */
export class WorkflowVersions extends Context.Tag("svc/WorkflowVersions")<
  WorkflowVersions,
  {
    /** The newest `versionsShown`. */
    readonly list: UseCase<[id: string], ReadonlyArray<VersionView>>
    /** Also deploys to the environments with automatic deployment. */
    readonly publish: UseCase<[id: string, request: PublishRequest], Publication>
    readonly diff: UseCase<[id: string, from: number, to: number], VersionDiff>
  }
>() {}

const findVersion = (tx: Tx, workflow: Workflow, number: number) =>
  Effect.flatMap(
    tx.workflowVersions.find({ workflowId: workflow.id, number }),
    Option.match({ onNone: () => new NotFound({ what: "version" }), onSome: Effect.succeed })
  )

const contractsOf = ({ inputContract, outputContract }: WorkflowVersion) => ({ inputContract, outputContract })

export const layer = Layer.effect(
  WorkflowVersions,
  Effect.gen(function* () {
    const { change, read } = yield* Changes
    const { computeStored } = yield* makeWorkflowCompiler
    const publish = yield* makePublish

    return WorkflowVersions.of({
      list: (context, id) =>
        read(context, (tx) =>
          Effect.flatMap(findWorkflow(tx, context.caller, id), (workflow) =>
            tx.workflowVersions.list({ where: { workflowId: workflow.id }, limit: maxVersionsShown })
          )
        ).pipe(Effect.map((versions) => versions.map(versionView))),

      publish: (context, id, request) => change(context, (tx) => publish(tx, context, id, request)),

      diff: Effect.fnUntraced(function* (context, id, from, to) {
        const [old, now] = yield* read(context, (tx) =>
          Effect.flatMap(findWorkflow(tx, context.caller, id), (workflow) =>
            Effect.all([findVersion(tx, workflow, from), findVersion(tx, workflow, to)])
          )
        )
        const sources = { from: old.source ?? "", to: now.source ?? "" }
        const code = yield* computeStored("diffLines", context.caller, sources)
        return { code, contracts: changesBetween(contractsOf(old), contractsOf(now)) }
      })
    })
  })
)
