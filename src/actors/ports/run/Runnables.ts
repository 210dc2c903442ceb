/** The code that runs: a workflow's published version or draft, with the settings that a run needs. */
import { type Effect, type Option, Context } from "effect"
import type { NotFound, Unavailable, ValidationFailed, WorkflowUnavailable } from "../../../domain/Failure.js"
import type { RetryPolicy, Tier } from "../../../domain/run/Execution.js"
import type { CustomAuth } from "../../../domain/flow/Spec.js"
import type { BoundAction } from "../../../domain/connector/Binding.js"
import type { CustomerId, OrganisationId, SpaceId, WorkflowId } from "../../../domain/Ids.js"
import type { Json, JsonObject } from "../../../domain/Json.js"
import type { RetentionClass } from "./Journal.js"

/** What a run runs: a version of a workflow, or its draft, with what is fixed when the run starts. */
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
  /** It waits for people or time, and runs as Long. */
  readonly waits: boolean
  /** How surface B checks a token of the flow's own before it starts. */
  readonly customAuth: CustomAuth | null
  /** The connector actions that its code may call, with their versions as they were when it was published. */
  readonly bindings: ReadonlyArray<BoundAction>
}

export class Runnables extends Context.Tag("svc/Runnables")<
  Runnables,
  {
    /**
     * The version that runs in an environment for a customer: in `test` the latest published one, elsewhere the one that is
     * deployed for that customer, or else for all (`null`: a run without a customer). The result may be one second old.
     */
    readonly inEnvironment: (
      organisation: OrganisationId,
      workflow: WorkflowId,
      environment: string,
      customer: CustomerId | null
    ) => Effect.Effect<Runnable, NotFound | WorkflowUnavailable | Unavailable>
    /**
     * The id of the workflow that a name calls: the customer's own before the organisation's. The result may be one second
     * old.
     */
    readonly named: (
      organisation: OrganisationId,
      space: SpaceId,
      name: string,
      customer: CustomerId | null
    ) => Effect.Effect<WorkflowId, NotFound | Unavailable>
    /** The draft as it is now. Fails with `ValidationFailed` if it was saved with mistakes. */
    readonly draft: (
      organisation: OrganisationId,
      workflow: WorkflowId
    ) => Effect.Effect<Runnable, NotFound | WorkflowUnavailable | ValidationFailed | Unavailable>
    /** Stores a draft as it is run, for the retention of the run's record. Once per content hash. */
    readonly keepDraft: (draft: Runnable, retention: RetentionClass) => Effect.Effect<void, Unavailable>
    /** A draft that `keepDraft` stored, by its content hash; `None` when it is no longer stored. */
    readonly draftThatRan: (
      organisation: OrganisationId,
      workflow: WorkflowId,
      contentHash: string
    ) => Effect.Effect<Option.Option<Runnable>, NotFound | Unavailable>
    /** The steps of what ran, as its document; `null` if it was written as code, or is no longer stored. */
    readonly stepsOf: (
      organisation: OrganisationId,
      ran: Pick<Runnable, "workflowId" | "version" | "contentHash">
    ) => Effect.Effect<Json, Unavailable>
    /** A published version by its number. */
    readonly version: (
      organisation: OrganisationId,
      workflow: WorkflowId,
      version: number
    ) => Effect.Effect<Runnable, NotFound | Unavailable>
  }
>() {}
