/** Workflows and versions as the API shows them. Contract: workflow record. */
import { readBindings } from "../connector/Binding.js"
import { type Deployment, type Workflow, WorkflowVersion } from "./Workflow.js"

/** A version as the API shows it. */
export const versionView = (version: WorkflowVersion) =>
  WorkflowVersion.show(version, { version: version.number, bindings: readBindings(version.bindings) })
/** The published version's bindings while the draft equals it: slugs and versions are frozen. Otherwise the draft's. */
const shownBindings = (workflow: Workflow, versions: ReadonlyArray<WorkflowVersion>) => {
  const published = versions.find(
    ({ number, workflowId }) => workflowId === workflow.id && number === workflow.publishedVersion
  )
  return readBindings(published?.contentHash === workflow.contentHash ? published.bindings : workflow.bindings)
}

/** A workflow in a list, without members that can be large. `versions`: with the published one. */
export const workflowSummary = (workflow: Workflow, versions: ReadonlyArray<WorkflowVersion>) => {
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
  return { ...rest, bindings: shownBindings(workflow, versions) }
}
/** The parts of a workflow besides its record. */
export interface WorkflowParts {
  readonly versions: ReadonlyArray<WorkflowVersion>
  readonly deployments: ReadonlyArray<Deployment>
  /** Whether the diagram is included. */
  readonly diagram: boolean
}

/** A workflow as the API shows it. */
export const workflowView = (workflow: Workflow, { deployments, diagram, versions }: WorkflowParts) => ({
  ...workflowSummary(workflow, versions),
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
export type WorkflowView = ReturnType<typeof workflowView>
