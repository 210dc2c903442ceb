/** A workflow: its draft, its published versions, where they run. Specification: Workflow; contract: workflow record. */
import { Schema } from "effect"
import { RetryPolicy, Tier } from "./Execution.js"
import { InvalidState, WorkflowUnavailable } from "./Failure.js"
import type { CustomerId, OrganisationId, SpaceId, WorkflowId } from "./Ids.js"
import { type Json, JsonObject } from "./Json.js"
import { guest } from "./Limits.js"
import { Counter } from "./Scalars.js"

export const slugPattern = /^[a-z0-9][a-z0-9-]{0,62}$/
/** Names of flows double as paths of surface B. */
export const flowNamePattern = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/** First path segments of `/api/v1`: no flow can have one of these names. */
export const reservedNames: ReadonlySet<string> = new Set(
  (
    "customers connectors connections workflows triggers executions users roles secrets billing audit ai quota config " +
    "notifications organizations mcp clients tenants unified embed webhooks events dlq proxy health openapi callbacks " +
    "conflicts cluster installations widgets environments releases attempts approvals builds login auth rpc docs"
  ).split(" ")
)

/** The environment that runs the latest published version, whatever is deployed. */
export const latestEnvironment = "test"

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

/** Why an archived workflow runs nowhere, not even as a draft. */
export const archivedRefusal = ({ name, status }: Pick<Workflow, "name" | "status">): WorkflowUnavailable | undefined =>
  status === "archived"
    ? new WorkflowUnavailable({
        code: "WORKFLOW_ARCHIVED",
        message: `${name} is archived: publish it again to run it`
      })
    : undefined

export const disabledRefusal = ({ enabled }: Pick<Workflow, "enabled">): InvalidState | undefined =>
  enabled
    ? undefined
    : new InvalidState({ state: "disabled", message: "the workflow is disabled: set enabled to true" })

/** A published snapshot: it never changes. */
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

/** Its pattern is told here, and checked with a message of its own where a workflow is saved. */
const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(64)).annotations({
  jsonSchema: { maxLength: 64, pattern: `${flowNamePattern.source}|${slugPattern.source}` }
})

const draft = {
  code: Schema.optional(Schema.String.pipe(Schema.maxLength(guest.sourceBytes))),
  inputContract: Schema.optional(Schema.NullOr(JsonObject)),
  outputContract: Schema.optional(Schema.NullOr(JsonObject))
}

export const CreateWorkflow = Schema.Struct({
  name: Name,
  slug: Schema.optional(Schema.String.pipe(Schema.pattern(slugPattern))),
  form: Schema.Literal("code"),
  customerId: Schema.optional(Schema.NullOr(Schema.String)),
  ...draft,
  code: Schema.String.pipe(Schema.maxLength(guest.sourceBytes)),
  ...settings
}).annotations({ identifier: "CreateWorkflow" })
export type CreateWorkflow = typeof CreateWorkflow.Type

export const UpdateWorkflow = Schema.Struct({
  name: Schema.optional(Name),
  ...draft,
  ...settings,
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateWorkflow" })
export type UpdateWorkflow = typeof UpdateWorkflow.Type

/** A name as a slug: lower case, hyphens. */
export const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 63) || "workflow"

/** One line of a difference between two texts. */
export interface DiffLine {
  readonly op: "same" | "added" | "removed"
  readonly text: string
}

/** A line-wise difference: what to remove and add to come from `a` to `b`. Bounded: huge texts differ as a whole. */
export const diffLines = (a: string, b: string): ReadonlyArray<DiffLine> => {
  const left = a.split("\n")
  const right = b.split("\n")
  let head = 0
  while (head < left.length && head < right.length && left[head] === right[head]) head++
  let tail = 0
  while (
    tail < left.length - head &&
    tail < right.length - head &&
    left[left.length - 1 - tail] === right[right.length - 1 - tail]
  )
    tail++
  const as = left.slice(head, left.length - tail)
  const bs = right.slice(head, right.length - tail)
  const same = (lines: ReadonlyArray<string>) => lines.map((text): DiffLine => ({ op: "same", text }))
  return [...same(left.slice(0, head)), ...middle(as, bs), ...same(left.slice(left.length - tail))]
}

const middle = (as: ReadonlyArray<string>, bs: ReadonlyArray<string>): ReadonlyArray<DiffLine> => {
  const removed = as.map((text): DiffLine => ({ op: "removed", text }))
  const added = bs.map((text): DiffLine => ({ op: "added", text }))
  if (as.length === 0 || bs.length === 0 || as.length * bs.length > 4_000_000) return [...removed, ...added]
  // Longest common subsequence, from the end, so that the walk below goes forward.
  const width = bs.length + 1
  const longest = new Uint32Array((as.length + 1) * width)
  const at = (i: number, j: number) => longest[i * width + j] ?? 0
  for (let i = as.length - 1; i >= 0; i--) {
    for (let j = bs.length - 1; j >= 0; j--) {
      longest[i * width + j] = as[i] === bs[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const out: Array<DiffLine> = []
  let i = 0
  let j = 0
  while (i < as.length && j < bs.length) {
    if (as[i] === bs[j]) {
      out.push({ op: "same", text: as[i] ?? "" })
      i++
      j++
    } else if (at(i + 1, j) >= at(i, j + 1)) out.push({ op: "removed", text: as[i++] ?? "" })
    else out.push({ op: "added", text: bs[j++] ?? "" })
  }
  return [...out, ...removed.slice(i), ...added.slice(j)]
}
