/** Records of workflows, versions and deployments, and the bodies that change them. Specification: Workflow; contract: workflow record. */
import { Schema } from "effect"
import { RetryPolicy, Tier } from "../run/Execution.js"
import { InvalidState, WorkflowUnavailable } from "../Failure.js"
import type { CustomerId, OrganisationId, SpaceId, WorkflowId } from "../Ids.js"
import { type Json, JsonObject } from "../Json.js"
import { guest } from "../Limits.js"
import { Counter } from "../Scalars.js"

/** The form of a slug. */
export const slugPattern = /^[a-z0-9][a-z0-9-]{0,62}$/
/** The form of a flow's name, which is also a path of surface B. */
export const flowNamePattern = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/** The first path segments of `/api/v1`, which no flow may be named after. */
export const reservedNames: ReadonlySet<string> = new Set(
  (
    "customers connectors connections workflows triggers executions users roles secrets billing audit ai quota config " +
    "notifications organizations mcp clients tenants unified embed webhooks events dlq proxy health openapi callbacks " +
    "conflicts cluster installations widgets environments releases attempts approvals builds login auth rpc docs"
  ).split(" ")
)

/** The environment that always runs the latest published version. */
export const latestEnvironment = "test"

/** `draft`: has no published version. `archived`: starts no runs until it is published again. */
export type WorkflowStatus = "draft" | "published" | "archived"

/** The stored workflow with its draft. Times are RFC 3339. */
export interface Workflow {
  readonly id: WorkflowId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly customerId: CustomerId | null
  readonly name: string
  readonly slug: string
  readonly description: string
  readonly form: "code" | "steps"
  readonly tier: Tier
  readonly timeoutMs: number | null
  readonly retry: RetryPolicy
  readonly enabled: boolean
  readonly status: WorkflowStatus
  readonly source: string | null
  readonly spec: Json
  readonly contentHash: string
  readonly draftUpdatedAt: string
  readonly inputContract: JsonObject | null
  readonly outputContract: JsonObject | null
  readonly bindings: Json
  readonly script: string | null
  readonly diagram: Json
  readonly warnings: Json
  readonly publishedVersion: number | null
  readonly callbackUrl: string | null
  readonly tags: ReadonlyArray<string>
  readonly archivedAt: string | null
  readonly deletedAt: string | null
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly version: number
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

/** A published, immutable version. */
export interface WorkflowVersion {
  readonly organisationId: OrganisationId
  readonly workflowId: WorkflowId
  readonly number: number
  readonly form: "code" | "steps"
  readonly source: string | null
  readonly spec: Json
  readonly script: string | null
  readonly contentHash: string
  readonly inputContract: JsonObject | null
  readonly outputContract: JsonObject | null
  readonly bindings: Json
  readonly diagram: Json
  readonly notes: string | null
  readonly publishedBy: string
  readonly publishedAt: string
}

/** The version that an environment runs. */
export interface Deployment {
  readonly organisationId: OrganisationId
  readonly workflowId: WorkflowId
  readonly environment: string
  readonly number: number
  readonly deployedAt: string
  readonly deployedBy: string
}

const RetryInput = Schema.partialWith(RetryPolicy, { exact: true })

const settings = {
  description: Schema.optional(Schema.String.pipe(Schema.maxLength(10_000))),
  tier: Schema.optional(Tier),
  timeoutMs: Schema.optional(Schema.NullOr(Schema.Int.pipe(Schema.between(100, 36 * 3_600_000)))),
  retry: Schema.optional(RetryInput),
  enabled: Schema.optional(Schema.Boolean),
  callbackUrl: Schema.optional(Schema.NullOr(Schema.String.pipe(Schema.maxLength(2_048)))),
  tags: Schema.optional(Schema.Array(Schema.String.pipe(Schema.maxLength(64))).pipe(Schema.maxItems(50)))
}

/** The slug of a record. */
export const Slug = Schema.String.pipe(
  Schema.pattern(slugPattern, {
    message: () => "must be lower-case letters, digits and hyphens, at most 63, and begin with a letter or a digit"
  })
)

/** The pattern is documented here, and checked with a better message when a workflow is saved. */
const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(64)).annotations({
  jsonSchema: { maxLength: 64, pattern: `${flowNamePattern.source}|${slugPattern.source}` }
})

const draft = {
  code: Schema.optional(Schema.String.pipe(Schema.maxLength(guest.sourceBytes))),
  inputContract: Schema.optional(Schema.NullOr(JsonObject)),
  outputContract: Schema.optional(Schema.NullOr(JsonObject))
}

/** The body that creates a workflow. */
export const CreateWorkflow = Schema.Struct({
  name: Name,
  slug: Schema.optional(Slug),
  form: Schema.Literal("code"),
  customerId: Schema.optional(Schema.NullOr(Schema.String)),
  ...draft,
  code: Schema.String.pipe(Schema.maxLength(guest.sourceBytes)),
  ...settings
}).annotations({ identifier: "CreateWorkflow" })
export type CreateWorkflow = typeof CreateWorkflow.Type

/** The body that changes a workflow. */
export const UpdateWorkflow = Schema.Struct({
  name: Schema.optional(Name),
  ...draft,
  ...settings,
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateWorkflow" })
export type UpdateWorkflow = typeof UpdateWorkflow.Type

/** The slug of a name: lower case, with hyphens. */
export const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 63) || "workflow"
