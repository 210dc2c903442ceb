/**
 * Publishes workflows: freezes the draft as an immutable version, or republishes an earlier one, and deploys it to the
 * environments with automatic deployment.
 */
import { Effect, Option, Schema } from "effect"
import { type Author, deployedEvent, publishedWorkflow, newVersion } from "../../../domain/workflow/WorkflowChanges.js"
import { latestEnvironment } from "../../../domain/organisation/Environment.js"
import { Detail, type Failure, type Forbidden, NotFound, refuseWith } from "../../../domain/Failure.js"
import { WorkflowId, type OrganisationId } from "../../../domain/Ids.js"
import { canonicalJson, type Json } from "../../../domain/Json.js"
import { incompleteRefusal, type Workflow, type WorkflowVersion } from "../../../domain/workflow/Workflow.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { AutomaticEnvironment } from "../../ports/Deploying.js"
import type { AlreadyExists, Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { missingPermission, outOfScope, type Principal } from "../Caller.js"
import { currentTimestamp } from "../Timestamp.js"
import { makeFlowTriggers } from "../trigger/FlowTriggers.js"
import { authWarnings } from "./FlowReferences.js"
import { authorOf } from "./WorkflowAuthor.js"
import { findWorkflow } from "./WorkflowRecords.js"
import { AnsweredTime } from "../../../domain/Time.js"
import { type BoundAction, readBindings, freezeBinding, possibleSlugs } from "../../../domain/connector/Binding.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import { isRecordService } from "../../../domain/unified/RecordCall.js"
import { currentRevision } from "../unified/MapRevisions.js"

/**
 * Freezes a workflow's bindings for a published version: each with the action's current version, those of common records with
 * the revision of the organisation's maps.
 */
export const makeFreezeBindings = Effect.map(Connectors, (connectors) => {
  /** The connector with this name in code. */
  const findNamed = Effect.fnUntraced(function* (organisation: OrganisationId, slugInCode: string) {
    for (const slug of possibleSlugs(slugInCode)) {
      const found = yield* connectors.findLatest(organisation, slug)
      if (Option.isSome(found)) return found.value
    }
    return undefined
  })

  const freeze = (organisation: OrganisationId, binding: BoundAction, revision: number) =>
    isRecordService(binding.connector)
      ? Effect.succeed({ ...binding, version: revision })
      : Effect.map(findNamed(organisation, binding.connector), (definition) => ({
          ...freezeBinding(binding, definition)
        }))

  return Effect.fnUntraced(function* (
    tx: Tx,
    organisation: OrganisationId,
    bindings: Json
  ): Effect.fn.Return<Json, Failure> {
    const found = readBindings(bindings)
    const revision = found.some(({ connector }) => isRecordService(connector)) ? yield* currentRevision(tx) : 0
    return yield* Effect.forEach(found, (binding) => freeze(organisation, binding, revision))
  })
})

export interface PublishRequest {
  readonly notes?: string | undefined
  /** An earlier version to republish; absent: the draft. */
  readonly version?: number | undefined
}

/** `created`: the draft differed from the newest version. `deployedTo`: the environments of its owner that it was deployed to, by slug. */
export const Publication = Schema.Struct({
  workflowId: WorkflowId,
  version: Schema.Number,
  publishedAt: AnsweredTime,
  created: Schema.Boolean,
  deployedTo: Schema.Array(Schema.String),
  createdTrigger: Schema.NullOr(
    Schema.Struct({
      id: Schema.String,
      type: Schema.String,
      url: Schema.NullOr(Schema.String),
      accessKey: Schema.NullOr(Schema.String)
    })
  ).annotations({ description: "The trigger that the steps describe, if it is new. Its access key is shown once." }),
  warnings: Schema.Array(Detail).annotations({ description: "What is valid, but does not do what it seems to." })
}).annotations({ identifier: "Published" })
export type Publication = typeof Publication.Type

/** The environments in which a publication takes effect; for an archived workflow also those of its deployments. */
const environmentsChanged = (tx: Tx, { id, status }: Workflow, automatic: ReadonlyArray<AutomaticEnvironment>) =>
  Effect.map(
    status === "archived" ? tx.deployments.countBy("environment", { workflowId: id }) : Effect.succeed(new Map()),
    (revived) => [latestEnvironment, ...automatic.map(({ slug }) => slug), ...[...revived.keys()].map(String)]
  )

const deployRefusal = (caller: Principal, { isProtected, slug }: AutomaticEnvironment): Forbidden | undefined =>
  missingPermission(caller, slug === "live" || isProtected ? "workflows:deploy_prod" : "workflows:deploy_test")

export const makePublish = Effect.gen(function* () {
  const freezeBindings = yield* makeFreezeBindings
  const identifiers = yield* Identifiers
  const followDeployed = yield* makeFlowTriggers

  const versionToPublish = Effect.fnUntraced(function* (
    tx: Tx,
    workflow: Workflow,
    request: PublishRequest,
    author: Author
  ): Effect.fn.Return<WorkflowVersion, Failure | AlreadyExists> {
    if (request.version !== undefined) {
      const earlierVersion = yield* tx.workflowVersions.find({ workflowId: workflow.id, number: request.version })
      return Option.isSome(earlierVersion) ? earlierVersion.value : yield* new NotFound({ what: "version" })
    }
    yield* refuseWith(incompleteRefusal(workflow))
    const bindings = yield* freezeBindings(tx, workflow.organisationId, workflow.bindings)
    const [latest] = yield* tx.workflowVersions.list({ where: { workflowId: workflow.id }, limit: 1 })
    if (latest?.contentHash === workflow.contentHash && canonicalJson(latest.bindings) === canonicalJson(bindings))
      return latest
    const version = newVersion({ ...workflow, bindings }, (latest?.number ?? 0) + 1, request.notes ?? null, author)
    yield* tx.workflowVersions.insert(version)
    return version
  })

  /** Publishes if the key may deploy to, and reaches, every environment in which the publication takes effect. */
  return Effect.fnUntraced(function* (tx: Tx, { caller }: CallContext, id: string, request: PublishRequest) {
    const author = authorOf(caller, yield* currentTimestamp)
    const workflow = yield* findWorkflow(tx, caller, id, true)
    const automatic = yield* tx.automaticEnvironments(workflow, author.by)
    const environments = yield* environmentsChanged(tx, workflow, automatic)
    for (const slug of environments) {
      yield* refuseWith(outOfScope(caller, "environment", slug))
    }
    for (const environment of automatic) {
      yield* refuseWith(deployRefusal(caller, environment))
    }
    const version = yield* versionToPublish(tx, workflow, request, author)
    const warnings = yield* authWarnings(tx, caller, version.spec)
    yield* tx.workflows.update(publishedWorkflow(workflow, version.number, author.now))
    yield* tx.deployAutomatically(workflow, version.number, author)
    const [createdTrigger = null] = yield* followDeployed(tx, caller, [workflow.id])
    yield* tx.emit(deployedEvent(identifiers.next("evt"), workflow, version.number, environments, author.now))
    return {
      value: {
        workflowId: workflow.id,
        version: version.number,
        publishedAt: version.publishedAt,
        created: version.publishedAt === author.now,
        deployedTo: automatic.filter(({ isOwn }) => isOwn).map(({ slug }) => slug),
        createdTrigger,
        warnings
      },
      resource: { id: workflow.id, name: workflow.name, customerId: workflow.customerId },
      before: { publishedVersion: workflow.publishedVersion, status: workflow.status },
      after: { publishedVersion: version.number, status: "published" }
    }
  })
})
