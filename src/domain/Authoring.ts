/** What saving, changing and publishing do to a workflow: pure decisions over its record. Contract: workflow record. */
import { defaultRetryPolicy } from "./Execution.js"
import { InvalidState, invalid, ValidationFailed } from "./Failure.js"
import type { CustomerId, OrganisationId, SpaceId, WorkflowId } from "./Ids.js"
import { canonicalJson, type Json, type JsonObject } from "./Json.js"
import {
  type CreateWorkflow,
  type Deployment,
  flowNamePattern,
  reservedNames,
  slugOf,
  slugPattern,
  type UpdateWorkflow,
  type Workflow,
  type WorkflowVersion
} from "./Workflow.js"

/** What reading the source told. */
export interface CompiledSource {
  readonly script: string
  readonly bindings: Json
  readonly diagram: Json
  readonly warnings: Json
}

/** The text whose hash tells one content from another. */
export const contentText = (content: {
  readonly form: string
  readonly source: string | null
  readonly spec: Json
  readonly inputContract: JsonObject | null
  readonly outputContract: JsonObject | null
}): string =>
  canonicalJson({
    form: content.form,
    source: content.source,
    spec: content.spec,
    inputContract: content.inputContract,
    outputContract: content.outputContract
  })

/** A name is a flow name or a slug, and none of the paths of the API. */
export const nameProblem = (name: string): ValidationFailed | undefined => {
  if (reservedNames.has(name.toLowerCase())) {
    return new ValidationFailed({
      code: "RESERVED_NAME",
      message: `${name} is a path of the API: choose another name`,
      details: [{ path: "name", code: "RESERVED_NAME", message: "is reserved" }]
    })
  }
  return flowNamePattern.test(name) || slugPattern.test(name)
    ? undefined
    : invalid(
        "name",
        "INVALID_VALUE",
        "is a letter and up to 63 letters, digits and underscores, or a slug of lower-case letters, digits and hyphens"
      )
}

export interface Author {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  /** The key's id. */
  readonly by: string
  /** RFC 3339. */
  readonly now: string
}

export const newWorkflow = (
  id: WorkflowId,
  author: Author,
  input: CreateWorkflow,
  customerId: CustomerId | null,
  compiled: CompiledSource,
  contentHash: string
): Workflow => ({
  id,
  organisationId: author.organisationId,
  spaceId: author.spaceId,
  customerId,
  name: input.name,
  slug: input.slug ?? slugOf(input.name),
  description: input.description ?? "",
  form: input.form,
  tier: input.tier ?? "instant",
  timeoutMs: input.timeoutMs ?? null,
  retry: { ...defaultRetryPolicy, ...input.retry },
  enabled: input.enabled ?? true,
  status: "draft",
  source: input.code,
  spec: null,
  contentHash,
  draftUpdatedAt: author.now,
  inputContract: input.inputContract ?? null,
  outputContract: input.outputContract ?? null,
  ...compiled,
  publishedVersion: null,
  callbackUrl: input.callbackUrl ?? null,
  tags: input.tags ?? [],
  archivedAt: null,
  deletedAt: null,
  createdBy: author.by,
  createdAt: author.now,
  updatedAt: author.now,
  version: 1
})

/** Code and contracts go into the draft only; the other members take effect at once. */
export const changedWorkflow = (
  workflow: Workflow,
  input: UpdateWorkflow,
  compiled: CompiledSource | null,
  contentHash: string,
  now: string
): Workflow => ({
  ...workflow,
  name: input.name ?? workflow.name,
  description: input.description ?? workflow.description,
  tier: input.tier ?? workflow.tier,
  timeoutMs: input.timeoutMs === undefined ? workflow.timeoutMs : input.timeoutMs,
  retry: { ...workflow.retry, ...input.retry },
  enabled: input.enabled ?? workflow.enabled,
  callbackUrl: input.callbackUrl === undefined ? workflow.callbackUrl : input.callbackUrl,
  tags: input.tags ?? workflow.tags,
  source: input.code ?? workflow.source,
  inputContract: input.inputContract === undefined ? workflow.inputContract : input.inputContract,
  outputContract: input.outputContract === undefined ? workflow.outputContract : input.outputContract,
  ...compiled,
  contentHash,
  draftUpdatedAt: contentHash === workflow.contentHash ? workflow.draftUpdatedAt : now,
  updatedAt: now,
  version: workflow.version + 1
})

/** The draft as an immutable snapshot. */
export const snapshot = (
  workflow: Workflow,
  number: number,
  notes: string | null,
  author: Author
): WorkflowVersion => ({
  organisationId: workflow.organisationId,
  workflowId: workflow.id,
  number,
  form: workflow.form,
  source: workflow.source,
  spec: workflow.spec,
  script: workflow.script,
  contentHash: workflow.contentHash,
  inputContract: workflow.inputContract,
  outputContract: workflow.outputContract,
  bindings: workflow.bindings,
  diagram: workflow.diagram,
  notes,
  publishedBy: author.by,
  publishedAt: author.now
})

/** The workflow after version `number` was published; publishing brings an archived one back. */
export const publishedWorkflow = (workflow: Workflow, number: number, now: string): Workflow => ({
  ...workflow,
  status: "published",
  publishedVersion: number,
  archivedAt: null,
  updatedAt: now,
  version: workflow.version + 1
})

export const archivedWorkflow = (workflow: Workflow, now: string): Workflow | InvalidState =>
  workflow.status === "archived"
    ? new InvalidState({ state: "archived", message: "the workflow is archived already" })
    : { ...workflow, status: "archived", archivedAt: now, updatedAt: now, version: workflow.version + 1 }

export const deployment = (workflow: Workflow, environment: string, number: number, author: Author): Deployment => ({
  organisationId: workflow.organisationId,
  workflowId: workflow.id,
  environment,
  number,
  deployedAt: author.now,
  deployedBy: author.by
})
