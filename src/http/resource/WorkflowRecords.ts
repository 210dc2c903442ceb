/** Workflows as surface C finds and shows them. */
import { DateTime, Effect } from "effect"
import type { Tx } from "../../actors/ports/Records.js"
import type { Author } from "../../domain/Authoring.js"
import { bindingsOf } from "../../domain/connector/Binding.js"
import { Forbidden, NotFound } from "../../domain/Failure.js"
import type { Deployment, Workflow, WorkflowVersion } from "../../domain/Workflow.js"
import type { Principal } from "../../actors/management/Caller.js"

export const gone = () => new NotFound({ what: "workflow" })

export const versionView = (version: WorkflowVersion) => ({
  version: version.number,
  contentHash: version.contentHash,
  publishedAt: version.publishedAt,
  publishedBy: version.publishedBy,
  notes: version.notes,
  bindings: bindingsOf(version.bindings)
})

export const summary = (workflow: Workflow) => {
  const {
    contentHash: _hash,
    deletedAt: _deleted,
    diagram: _diagram,
    draftUpdatedAt: _draft,
    inputContract: _input,
    organisationId: _org,
    outputContract: _output,
    script: _script,
    source: _source,
    spaceId: _space,
    spec: _spec,
    warnings: _warnings,
    ...rest
  } = workflow
  return { ...rest, bindings: bindingsOf(workflow.bindings) }
}

export const whole = (
  workflow: Workflow,
  versions: ReadonlyArray<WorkflowVersion>,
  deployments: ReadonlyArray<Deployment>,
  diagram: boolean
) => ({
  ...summary(workflow),
  draft: {
    code: workflow.source,
    spec: workflow.spec,
    contentHash: workflow.contentHash,
    updatedAt: workflow.draftUpdatedAt
  },
  inputContract: workflow.inputContract,
  outputContract: workflow.outputContract,
  warnings: workflow.warnings,
  versions: versions.map(versionView),
  deployments: deployments.map(({ deployedAt, environment, number }) => ({ environment, version: number, deployedAt })),
  ...(diagram ? { diagram: workflow.diagram } : {})
})

export const versionsKept = 200

export const wholeOf = (tx: Tx, workflow: Workflow, diagram = false) =>
  Effect.gen(function* () {
    const versions = yield* tx.workflowVersions.list({ where: { workflowId: workflow.id }, limit: versionsKept })
    const deployments = yield* tx.deployments.list({ where: { workflowId: workflow.id }, limit: versionsKept })
    return whole(workflow, versions, deployments, diagram)
  })

export const authorOf = (caller: Principal, now: string): Author => ({
  organisationId: caller.organisationId,
  spaceId: caller.spaceId,
  by: caller.key.id,
  now
})

export const nowText = Effect.map(DateTime.now, DateTime.formatIso)

/** Code is written by the parent organisation, unless the organisation was allowed to. */
export const mayWriteCode = (caller: Principal): Forbidden | undefined =>
  caller.organisation.parentId !== null && caller.organisation.settings.codeEditing !== true
    ? new Forbidden({
        code: "FORBIDDEN",
        needs: "CODE_EDITING_DISABLED",
        message: "code editing is disabled for this organisation"
      })
    : undefined

export const number = (text: string): Effect.Effect<number, NotFound> =>
  /^\d{1,9}$/.test(text) ? Effect.succeed(Number(text)) : new NotFound({ what: "version" })
