/** Creates, changes, publishes and archives the record of a workflow; pure. Contract: workflow record. */
import { Either } from "effect"
import { defaultRetryPolicy } from "../run/Execution.js"
import { type Detail, InvalidState, invalid, ValidationFailed } from "../Failure.js"
import type { CustomerId, EventId, OrganisationId, SpaceId, WorkflowId } from "../Ids.js"
import { canonicalJson, type Json, type JsonObject } from "../Json.js"
import { nextVersion } from "../Record.js"
import { generationOf } from "../flow/Generation.js"
import { slugOf, slugPattern } from "../Slug.js"
import {
  type CreateWorkflow,
  type Deployment,
  flowNamePattern,
  reservedNames,
  type UpdateWorkflow,
  Workflow,
  type WorkflowVersion
} from "./Workflow.js"

/** The outcome of compiling a workflow's code or steps. */
export interface CompiledContent {
  /** `null`: the content has problems, and does not run. */
  readonly script: string | null
  /** It waits for people or time: its version runs as Long. */
  readonly waits: boolean
  readonly bindings: Json
  readonly diagram: Json
  readonly warnings: Json
  readonly problems: ReadonlyArray<Detail>
}

/** Problems of a draft that are kept, and the characters of each. */
const mostProblems = 100
const longestProblem = 500

/** Content that is kept with its mistakes. */
export const incompleteContent = (mistakes: ReadonlyArray<Detail>): CompiledContent => ({
  script: null,
  waits: false,
  bindings: [],
  diagram: { nodes: [], edges: [] },
  warnings: [],
  problems: mistakes.slice(0, mostProblems).map((one) => ({
    ...one,
    path: one.path.slice(0, longestProblem),
    message: one.message.slice(0, longestProblem)
  }))
})

/** The text whose hash identifies a content, and the program that it is compiled to. */
export const contentText = (content: {
  readonly script: string | null
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
    outputContract: content.outputContract,
    ...generationMember(content.script)
  })

/** Content of the first generation, and code without steps, have their hash without one. */
const generationMember = (script: string | null): JsonObject => {
  const generation = generationOf(script) ?? 1
  return generation === 1 ? {} : { generation }
}

/** The refusal of a name that is neither a flow name nor a slug, or that is a path of the API. */
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
        "must be a letter and up to 63 letters, digits and underscores, or a slug of lower-case letters, digits and hyphens"
      )
}

/** Who changes a workflow, and when. */
export interface Author {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  /** The key's id. */
  readonly by: string
  /** RFC 3339. */
  readonly now: string
}

/** The record of a new workflow with its draft. */
export const newWorkflow = (
  id: WorkflowId,
  author: Author,
  input: CreateWorkflow,
  customerId: CustomerId | null,
  compiled: CompiledContent,
  contentHash: string
): Workflow =>
  Workflow.create(
    { ...withRequestSchema(input, compiled), customerId, retry: { ...defaultRetryPolicy, ...input.retry } },
    {
      id,
      organisationId: author.organisationId,
      spaceId: author.spaceId,
      slug: slugOf(input.name),
      status: "draft",
      source: input.code ?? null,
      spec: input.spec ?? null,
      contentHash,
      draftUpdatedAt: author.now,
      draftUpdatedBy: author.by,
      ...compiled,
      createdBy: author.by
    },
    author.now
  )

/** The request schema of a flow is its input contract, unless the flow has mistakes: the schema may be one. */
const withRequestSchema = <A extends Pick<UpdateWorkflow, "spec" | "inputContract">>(
  input: A,
  compiled: CompiledContent | null
): A =>
  input.spec === undefined || !("requestSchema" in input.spec) || compiled === null || compiled.problems.length > 0
    ? input
    : { ...input, inputContract: (input.spec["requestSchema"] ?? null) as JsonObject | null }

/** The record after a change. Code and contracts change the draft only; other members take effect at once. */
export const changedWorkflow = (
  workflow: Workflow,
  input: UpdateWorkflow,
  compiled: CompiledContent | null,
  contentHash: string,
  { by, now }: Pick<Author, "by" | "now">
): Workflow => ({
  ...Workflow.change(
    workflow,
    { ...withRequestSchema(input, compiled), retry: { ...workflow.retry, ...input.retry } },
    now
  ),
  source: input.code ?? workflow.source,
  spec: input.spec ?? workflow.spec,
  ...compiled,
  contentHash,
  ...(contentHash === workflow.contentHash ? {} : { draftUpdatedAt: now, draftUpdatedBy: by })
})

/** The draft as an immutable version. */
export const newVersion = (
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
  waits: workflow.waits,
  contentHash: workflow.contentHash,
  inputContract: workflow.inputContract,
  outputContract: workflow.outputContract,
  bindings: workflow.bindings,
  diagram: workflow.diagram,
  notes,
  publishedBy: author.by,
  publishedAt: author.now
})

/** The record after version `number` was published, which also restores an archived workflow. */
export const publishedWorkflow = (workflow: Workflow, number: number, now: string): Workflow => ({
  ...workflow,
  status: "published",
  publishedVersion: number,
  archivedAt: null,
  ...nextVersion(workflow, now)
})

/** The record of an archived workflow; a refusal if it is archived already. */
export const archivedWorkflow = (workflow: Workflow, now: string): Either.Either<Workflow, InvalidState> =>
  workflow.status === "archived"
    ? Either.left(new InvalidState({ state: "archived", message: "the workflow is archived already" }))
    : Either.right({ ...workflow, status: "archived", archivedAt: now, ...nextVersion(workflow, now) })

/** The deployment of version `number` to an environment. */
export const newDeployment = (workflow: Workflow, environment: string, number: number, author: Author): Deployment => ({
  organisationId: workflow.organisationId,
  workflowId: workflow.id,
  environment,
  customerId: workflow.customerId,
  number,
  deployedAt: author.now,
  deployedBy: author.by
})

/** The event that tells subscribers of a deployment: a version now runs in these environments. */
export const deployedEvent = (
  eventId: EventId,
  { customerId, id, name, organisationId }: Workflow,
  version: number,
  environments: ReadonlyArray<string>,
  at: string
) => ({
  id: eventId,
  organisationId,
  type: "workflow.deployed",
  subject: id,
  customerId,
  payload: { workflowId: id, name, customerId, version, environments: [...new Set(environments)].toSorted() },
  at
})
