/** What can be run: a workflow's published version, or its draft, with all that a run needs to know of it. */
import type { Effect, Option } from "effect"
import { Context } from "effect"
import type { NotFound, Unavailable, WorkflowUnavailable } from "../../domain/Failure.js"
import type { RetryPolicy, Tier } from "../../domain/Execution.js"
import type { BoundAction } from "../../domain/connector/Binding.js"
import type { CustomerId, OrganisationId, SpaceId, WorkflowId } from "../../domain/Ids.js"
import type { JsonObject } from "../../domain/Json.js"
import type { RetentionClass } from "./Journal.js"

export interface Runnable {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly workflowId: WorkflowId
  /** The customer whose own workflow it is; `null` for one of the organisation. */
  readonly customerId: CustomerId | null
  readonly name: string
  readonly enabled: boolean
  readonly tier: Tier
  /** Shorter than the tier's ceiling, where the workflow says so. */
  readonly timeoutMillis: number | null
  readonly retry: RetryPolicy
  readonly callbackUrl: string | null
  /** `null` for a draft. */
  readonly version: number | null
  readonly script: string
  readonly contentHash: string
  readonly inputContract: JsonObject | null
  readonly outputContract: JsonObject | null
  /** The connector actions that its code may call, with their versions as they were when it was published. */
  readonly bindings: ReadonlyArray<BoundAction>
}

export class Runnables extends Context.Tag("svc/Runnables")<
  Runnables,
  {
    /**
     * What runs in an environment: `test` is the latest published version, any other slug the version deployed there.
     * The answer may be one second old.
     */
    readonly inEnvironment: (
      organisation: OrganisationId,
      workflow: WorkflowId,
      environment: string
    ) => Effect.Effect<Runnable, NotFound | WorkflowUnavailable | Unavailable>
    /** The draft as it is now. */
    readonly draft: (
      organisation: OrganisationId,
      workflow: WorkflowId
    ) => Effect.Effect<Runnable, NotFound | WorkflowUnavailable | Unavailable>
    /** Keeps a draft as it is run, for as long as the run's record. Once for each content: what was kept never changes. */
    readonly keepDraft: (draft: Runnable, retention: RetentionClass) => Effect.Effect<void, Unavailable>
    /** The draft with this content as it was when it was run; `None` when it is not kept any more. */
    readonly draftThatRan: (
      organisation: OrganisationId,
      workflow: WorkflowId,
      contentHash: string
    ) => Effect.Effect<Option.Option<Runnable>, NotFound | Unavailable>
    /** The very version that a run began with. */
    readonly version: (
      organisation: OrganisationId,
      workflow: WorkflowId,
      version: number
    ) => Effect.Effect<Runnable, NotFound | Unavailable>
  }
>() {}
