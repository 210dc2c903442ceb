/** Records of workflows, versions and deployments, and the bodies that change them. Specification: Workflow; contract: workflow record. */
import { Schema } from "effect"
import { NullableText } from "../Scalars.js"
import { BoundAction } from "../connector/Binding.js"
import { defaultRetryPolicy, RetryPolicy, Tier } from "../run/Execution.js"
import { Detail, InvalidState, ValidationFailed, WorkflowUnavailable } from "../Failure.js"
import { CustomerId, OrganisationId, SpaceId, WorkflowId } from "../Ids.js"
import { Json, JsonObject, StoredJson, StoredObject } from "../Json.js"
import { presentGeneration } from "../flow/Generation.js"
import { FlowImport } from "../flow/FlowFile.js"
import { guest } from "../Limits.js"
import { derivedValue, fixedValue, generatedValue, hidden, optional, owner, recordOf, required } from "../Record.js"
import { Slug, slugPattern } from "../Slug.js"
import { AnsweredTime, NullableTime } from "../Time.js"

/** The form of a flow's name, which is also a path of surface B. */
export const flowNamePattern = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/** The first path segments of `/api/v1`, which no flow may be named after. */
export const reservedNames: ReadonlySet<string> = new Set(
  (
    "customers connectors connections workflows triggers executions users roles secrets billing audit ai quota config " +
    "notifications organizations mcp clients tenants unified embed webhooks events dlq proxy health openapi callbacks " +
    "conflicts cluster installations widgets environments releases attempts approvals builds login auth rpc docs " +
    "workspaces me sessions watch models records deployments"
  ).split(" ")
)

/** The name of the flow that a path of surface B calls; `undefined` if it is another path. */
export const calledFlow = (path: string): string | undefined => {
  const name = /^\/api\/v1\/([A-Za-z][A-Za-z0-9_]{0,63})\/?$/.exec(path)?.[1]
  return name === undefined || reservedNames.has(name.toLowerCase()) ? undefined : name
}

/** `draft`: has no published version. `archived`: starts no runs until it is published again. */
export const WorkflowStatus = Schema.Literal("draft", "published", "archived")
export type WorkflowStatus = typeof WorkflowStatus.Type

export const WorkflowForm = Schema.Literal("code", "steps")

/** The pattern is documented here, and checked with a better message when a workflow is saved. */
const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(64)).annotations({
  jsonSchema: { maxLength: 64, pattern: `${flowNamePattern.source}|${slugPattern.source}` }
})

const StoredContract = Schema.NullOr(StoredObject)
const DataContract = Schema.NullOr(JsonObject)

/** A published, immutable version: its record and view. */
export const WorkflowVersion = recordOf("WorkflowVersion", {
  organisationId: owner(OrganisationId),
  workflowId: owner(WorkflowId),
  version: derivedValue(Schema.Number),
  number: hidden(Schema.Number),
  form: hidden(WorkflowForm),
  source: hidden(NullableText),
  spec: hidden(StoredJson),
  script: hidden(NullableText),
  waits: hidden(Schema.Boolean),
  contentHash: generatedValue(Schema.String),
  inputContract: hidden(StoredContract),
  outputContract: hidden(StoredContract),
  diagram: hidden(StoredJson),
  generation: derivedValue(
    Schema.NullOr(Schema.Number).annotations({
      description: `The generation of the order and the library of its steps, which the version keeps; ${presentGeneration} is the present one. Null: it has no steps.`
    })
  ),
  publishedAt: generatedValue(AnsweredTime),
  publishedBy: generatedValue(Schema.String),
  notes: generatedValue(NullableText),
  bindings: generatedValue(
    StoredJson,
    Schema.Array(BoundAction).annotations({ description: "Frozen when the version was published." })
  )
})
/** The stored version. */
export type WorkflowVersion = typeof WorkflowVersion.stored.Type

/** A workflow with its draft: its record, bodies and view. Times are RFC 3339. */
export const Workflow = recordOf(
  "Workflow",
  {
    id: generatedValue(WorkflowId),
    organisationId: owner(OrganisationId),
    spaceId: owner(SpaceId),
    customerId: fixedValue(optional(Schema.NullOr(CustomerId), null, NullableText, NullableText)),
    name: required(Schema.String, Name),
    slug: fixedValue(optional(Schema.String, undefined, Slug)),
    description: optional(Schema.String, "", Schema.String.pipe(Schema.maxLength(10_000))),
    form: fixedValue(required(WorkflowForm)),
    tier: optional(Tier, "instant"),
    timeoutMs: optional(
      Schema.NullOr(Schema.Number),
      null,
      Schema.NullOr(Schema.Int.pipe(Schema.between(100, 36 * 3_600_000)))
    ),
    retry: optional(RetryPolicy, defaultRetryPolicy, Schema.partialWith(RetryPolicy, { exact: true })),
    enabled: optional(Schema.Boolean, true),
    status: generatedValue(WorkflowStatus),
    source: hidden(NullableText),
    spec: hidden(StoredJson),
    contentHash: hidden(Schema.String),
    draftUpdatedAt: hidden(AnsweredTime),
    draftUpdatedBy: hidden(Schema.String),
    script: hidden(NullableText),
    waits: hidden(Schema.Boolean),
    draft: derivedValue(
      Schema.Struct({ code: NullableText, spec: Json, contentHash: Schema.String, updatedAt: AnsweredTime })
    ),
    publishedVersion: generatedValue(Schema.NullOr(Schema.Number)),
    versions: derivedValue(Schema.Array(WorkflowVersion.View)),
    deployments: derivedValue(
      Schema.Array(
        Schema.Struct({
          environment: Schema.String,
          version: Schema.Number,
          customerId: NullableText.annotations({ description: "Whose runs it is for; null: those of all customers." }),
          deployedAt: AnsweredTime
        })
      )
    ),
    inputContract: optional(StoredContract, null, DataContract, DataContract),
    outputContract: optional(StoredContract, null, DataContract, DataContract),
    bindings: generatedValue(
      StoredJson,
      Schema.Array(BoundAction).annotations({
        description:
          "Of the published version while the draft equals it: slugs and versions are frozen. Otherwise of the draft: `connector` is as the code writes it, `version` null."
      })
    ),
    warnings: generatedValue(StoredJson, Json),
    problems: generatedValue(
      Schema.Array(Detail),
      Schema.Array(Detail.annotations({ identifier: "WorkflowProblem" })).annotations({
        description:
          "The mistakes of a draft that was saved with `incomplete=true`, 100 at most. A draft with mistakes is not published, run or tested."
      })
    ),
    callbackUrl: optional(NullableText, null, Schema.NullOr(Schema.String.pipe(Schema.maxLength(2_048)))),
    tags: optional(
      Schema.Array(Schema.String),
      [],
      Schema.Array(Schema.String.pipe(Schema.maxLength(64))).pipe(Schema.maxItems(50))
    ),
    diagram: generatedValue(StoredJson, Json),
    archivedAt: generatedValue(NullableTime),
    deletedAt: hidden(NullableTime),
    createdBy: generatedValue(Schema.String),
    createdAt: generatedValue(AnsweredTime),
    updatedAt: generatedValue(AnsweredTime),
    version: generatedValue(Schema.Number)
  },
  ["name", "slug", "form", "customerId", "inputContract", "outputContract", "description"]
)
/** The stored workflow. */
export type Workflow = typeof Workflow.stored.Type

const Code = Schema.String.pipe(Schema.maxLength(guest.sourceBytes))
const Spec = JsonObject.annotations({
  description: "Trigger, steps and answers of a workflow in step form: `docs/flow.schema.json`."
})

const { customerId, form, name, slug, ...created } = Workflow.Create.fields
/** The body that creates a workflow. */
export const CreateWorkflow = Schema.Struct({
  name,
  slug,
  form,
  customerId,
  code: Schema.optional(Code),
  spec: Schema.optional(Spec),
  ...created
}).annotations({
  identifier: "CreateWorkflow",
  description: "With `code`, or in step form with `spec`."
})
export type CreateWorkflow = typeof CreateWorkflow.Type

/** The request that creates a workflow: `CreateWorkflow`, or a file that gives its name, form and steps. */
export const CreateWorkflowBody = Schema.Struct({
  ...CreateWorkflow.fields,
  name: Schema.optional(name).annotations({ description: "Required, unless an import gives it." }),
  form: Schema.optional(form).annotations({ description: "Required, unless there is an import, which makes steps." }),
  import: Schema.optional(FlowImport)
}).annotations({
  identifier: "CreateWorkflow",
  description: "With `code`, in step form with `spec`, or from a file with `import`."
})
export type CreateWorkflowBody = typeof CreateWorkflowBody.Type

const { name: newName, ...changed } = Workflow.Update.fields
/** The body that changes a workflow. */
export const UpdateWorkflow = Schema.Struct({
  name: newName,
  code: Schema.optional(Code),
  spec: Schema.optional(Spec),
  ...changed
}).annotations({ identifier: "UpdateWorkflow" })
export type UpdateWorkflow = typeof UpdateWorkflow.Type

/** The refusal to publish, run or test a draft that was kept with its mistakes, which it names. */
export const incompleteRefusal = ({
  name,
  problems
}: Pick<Workflow, "name" | "problems">): ValidationFailed | undefined => {
  const [first] = problems
  return first === undefined
    ? undefined
    : new ValidationFailed({
        code: "VALIDATION_FAILED",
        message: `the draft of ${name} has mistakes: ${first.path} ${first.message}`,
        details: problems
      })
}

/** The refusal to run an archived workflow, even as a draft. */
export const archivedRefusal = ({ name, status }: Pick<Workflow, "name" | "status">): WorkflowUnavailable | undefined =>
  status === "archived"
    ? new WorkflowUnavailable({
        code: "WORKFLOW_ARCHIVED",
        message: `${name} is archived: publish it again to run it`
      })
    : undefined

/** The refusal to run a disabled workflow. */
export const disabledRefusal = ({ enabled }: Pick<Workflow, "enabled">): InvalidState | undefined =>
  enabled
    ? undefined
    : new InvalidState({ state: "disabled", message: "the workflow is disabled: set enabled to true" })

/** The version that an environment runs, for all customers or for one. */
export const Deployment = Schema.Struct({
  organisationId: OrganisationId,
  workflowId: WorkflowId,
  environment: Schema.String,
  /** Whose runs it is for; `null`: those of all customers. */
  customerId: Schema.NullOr(CustomerId),
  number: Schema.Number,
  deployedAt: AnsweredTime,
  deployedBy: Schema.String
})
export type Deployment = typeof Deployment.Type
