/** Workflows and versions as the API shows them. Contract: workflow record. */
import { Struct } from "effect"
import { readBindings } from "../connector/Binding.js"
import { generationOf, hasEarlierOrder, isOfOlderGeneration } from "../flow/Generation.js"
import { isOrderWarning } from "../flow/OrderWarnings.js"
import { isList, type Json } from "../Json.js"
import { type Deployment, type Workflow, WorkflowVersion } from "./Workflow.js"

/** A version as the API shows it. */
export const versionView = (version: WorkflowVersion) =>
  WorkflowVersion.show(version, {
    version: version.number,
    generation: generationOf(version.script),
    bindings: readBindings(version.bindings)
  })

/** What a version consists of, as the draft has it. */
export const contentView = ({ inputContract, number, outputContract, source, spec }: WorkflowVersion) => ({
  version: number,
  code: source,
  spec,
  inputContract,
  outputContract
})
/** The content of a published version. */
export type PublishedContent = ReturnType<typeof contentView>

/** The published version's bindings while the draft equals it: slugs and versions are frozen. Otherwise the draft's. */
const shownBindings = (workflow: Workflow, versions: ReadonlyArray<WorkflowVersion>) => {
  const published = versions.find(
    ({ number, workflowId }) => workflowId === workflow.id && number === workflow.publishedVersion
  )
  return readBindings(published?.contentHash === workflow.contentHash ? published.bindings : workflow.bindings)
}

/** The versions of an earlier generation that are published or deployed. */
const olderVersions = ({ publishedVersion }: Workflow, { deployments, versions }: WorkflowParts) => {
  const used = new Set([publishedVersion, ...deployments.map(({ number }) => number)])
  return versions.filter(({ number, script }) => used.has(number) && isOfOlderGeneration(script))
}

/** The draft's warnings. How the earlier order differs is of interest while it is in use. */
const shownWarnings = (workflow: Workflow, parts: WorkflowParts): Json => {
  const older = olderVersions(workflow, parts)
  const stored = isList(workflow.warnings) ? workflow.warnings : []
  const isOrderInUse = workflow.publishedVersion === null || older.some(({ script }) => hasEarlierOrder(script))
  const shown = isOrderInUse ? stored : stored.filter((one) => !isOrderWarning(one))
  if (older.length === 0) return shown
  const numbers = older.map(({ number }) => number).join(", ")
  const which = older.length === 1 ? `version ${numbers} is` : `versions ${numbers} are`
  const message = `${which} of an earlier generation of steps, with its order and its library: publishing the draft makes a version of the present one`
  return [...shown, { path: "spec", code: "OLDER_GENERATION", message }]
}

/** What a list does not show: members that can be large, and those that are not for clients. */
const unlisted = [
  ...(["contentHash", "draftUpdatedAt", "draftUpdatedBy", "script", "waits", "source", "spec"] as const),
  ...(["diagram", "warnings", "problems"] as const),
  ...(["inputContract", "outputContract", "organisationId", "spaceId", "deletedAt"] as const)
] as const

/** A workflow in a list, without members that can be large. `versions`: with the published one. */
export const workflowSummary = (workflow: Workflow, versions: ReadonlyArray<WorkflowVersion>) => ({
  ...Struct.omit(workflow, ...unlisted),
  bindings: shownBindings(workflow, versions)
})
/** The parts of a workflow besides its record. */
export interface WorkflowParts {
  readonly versions: ReadonlyArray<WorkflowVersion>
  readonly deployments: ReadonlyArray<Deployment>
  /** Whether the diagram is included. */
  readonly diagram: boolean
}

/** A workflow as the API shows it. */
export const workflowView = (workflow: Workflow, parts: WorkflowParts) => {
  const { deployments, diagram, versions } = parts
  return {
    ...workflowSummary(workflow, versions),
    draft: {
      code: workflow.source,
      spec: workflow.spec,
      contentHash: workflow.contentHash,
      updatedAt: workflow.draftUpdatedAt
    },
    inputContract: workflow.inputContract,
    outputContract: workflow.outputContract,
    warnings: shownWarnings(workflow, parts),
    problems: workflow.problems,
    versions: versions.map(versionView),
    deployments: deployments.map(({ customerId, deployedAt, environment, number }) => ({
      environment,
      version: number,
      customerId,
      deployedAt
    })),
    ...(diagram ? { diagram: workflow.diagram } : {})
  }
}
export type WorkflowView = ReturnType<typeof workflowView>
