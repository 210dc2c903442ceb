/** Which version of each workflow an environment runs: statements on many workflows at once, in a transaction of `Records`. */
import type { Effect } from "effect"
import type { CustomerId, SpaceId, WorkflowId } from "../../domain/Ids.js"
import type { FlowTrigger } from "../../domain/flow/Spec.js"
import type { Pins } from "../../domain/workflow/Release.js"
import type { Workflow, WorkflowVersion } from "../../domain/workflow/Workflow.js"
import type { Unavailable } from "../../domain/Failure.js"

/** An environment of a workspace, for all customers (`null`) or for one. */
export interface DeploymentPlace {
  readonly spaceId: SpaceId
  readonly environment: string
  readonly customerId: CustomerId | null
}

/** Who deploys, and when (RFC 3339). */
export interface Deployer {
  readonly by: string
  readonly now: string
}

/** What decides whether a workflow can be part of a release. */
export type ReleasableWorkflow = Pick<Workflow, "id" | "name" | "customerId" | "status" | "publishedVersion">

/** A version of a release, with the actions that it is bound to. */
export type PinnedVersion = Pick<WorkflowVersion, "workflowId" | "number" | "bindings">

/** Environments of one slug in which a publication takes effect at once. */
export interface AutomaticEnvironment {
  readonly slug: string
  /** Whether one of them is the workflow's owner's, and not another customer's. */
  readonly isOwn: boolean
  readonly isProtected: boolean
}

/** A workflow that is published now: its owner decides which environments it reaches. */
export type PublishedWorkflow = Pick<Workflow, "id" | "customerId">

/** What a version that is deployed says of its trigger. */
export interface DeployedFlow extends Pick<Workflow, "id" | "name" | "customerId"> {
  readonly trigger: FlowTrigger | null
}

/** The statements. */
export interface Deploying {
  /**
   * The workflows of the workspace that may be in a release of `customerId`: its own and the organisation's; of the
   * organisation, its own. `ids`: only these; without: all that are published, up to `limit`. They can be neither published
   * nor archived until the transaction ends. Deleted ones are absent.
   */
  readonly lockReleasable: (
    owner: Pick<DeploymentPlace, "spaceId" | "customerId">,
    ids: ReadonlyArray<string> | undefined,
    limit: number
  ) => Effect.Effect<ReadonlyArray<ReleasableWorkflow>, Unavailable>
  /** The versions that exist. */
  readonly pinnedVersions: (pins: Pins) => Effect.Effect<ReadonlyArray<PinnedVersion>, Unavailable>
  /** What is deployed at a place, without archived and deleted workflows, which do not run. */
  readonly deployedPins: (place: DeploymentPlace) => Effect.Effect<Pins, Unavailable>
  /**
   * Deploys the versions, and emits `workflow.deployed` for each that was not deployed there before. `exactly`: removes all
   * other deployments of published workflows from the place.
   */
  readonly deployPins: (
    place: DeploymentPlace,
    pins: Pins,
    deployer: Deployer,
    exactly: boolean
  ) => Effect.Effect<void, Unavailable>
  /** The environments with automatic deployment, but for those that need the review of another caller than `by`. */
  readonly automaticEnvironments: (
    workflow: PublishedWorkflow,
    by: string
  ) => Effect.Effect<ReadonlyArray<AutomaticEnvironment>, Unavailable>
  /** Deploys a version to these environments, for all customers or for the one whose environment it is. */
  readonly deployAutomatically: (
    workflow: PublishedWorkflow,
    number: number,
    deployer: Deployer
  ) => Effect.Effect<void, Unavailable>
  /**
   * Those of the workflows that have a trigger: described by the version that their owner's environment runs, or created for
   * an earlier one. `trigger`: `null` without a description.
   */
  readonly flowsIn: (
    environment: string,
    workflows: ReadonlyArray<WorkflowId>
  ) => Effect.Effect<ReadonlyArray<DeployedFlow>, Unavailable>
  /** Removes all deployments for a customer, or those for all, from an environment that is deleted. */
  readonly removeDeployments: (place: Omit<DeploymentPlace, "spaceId">) => Effect.Effect<void, Unavailable>
  /** The number of the owner's newest release; 0: there is none. */
  readonly lastReleaseNumber: (
    owner: Pick<DeploymentPlace, "spaceId" | "customerId">
  ) => Effect.Effect<number, Unavailable>
  /**
   * Whether the author of `by` has created a release since a time (RFC 3339) that is not deployed to the environment and has
   * not been superseded. An organisation's environment (`null`) takes releases of all its customers.
   */
  readonly hasPendingReleases: (
    place: Omit<DeploymentPlace, "spaceId">,
    since: string,
    by: string
  ) => Effect.Effect<boolean, Unavailable>
  /**
   * Whether the caller and who has acted are one author: the same, or one has made the other's key or was told its secret, also
   * over several keys. A person who was invited and had not proved then to be another counts as whoever has invited it.
   */
  readonly isSameAuthor: (caller: string, acted: Authorship) => Effect.Effect<boolean, Unavailable>
}

/** Who has made something, and when (RFC 3339); `null`: at a time that is not known. */
export interface Authorship {
  readonly by: string
  readonly at: string | null
}

/** The ids of pins, which are workflows'. */
export const pinnedIds = (pins: Pins): ReadonlyArray<WorkflowId> => Object.keys(pins) as Array<WorkflowId>
