/**
 * Releases: versions of several workflows that are deployed to an environment together. Contract: release record; the
 * choices that it leaves open: decisions/0043.
 */
import { Schema, Struct } from "effect"
import { semverPattern } from "../connector/Definition.js"
import { Conflict, InvalidState } from "../Failure.js"
import { CustomerId, OrganisationId, ReleaseId, SpaceId, WorkflowId } from "../Ids.js"
import { derivedValue, fixedValue, generatedValue, hidden, optional, owner, recordOf } from "../Record.js"
import { Counter, NullableText } from "../Scalars.js"
import { AnsweredTime, NullableTime } from "../Time.js"

/** Workflows and characters of notes of one release. */
export const releaseLimits = { workflows: 1_000, notesLength: 10_000 } as const

/** The version of each workflow, by its id. */
export const Pins = Schema.Record({ key: WorkflowId, value: Schema.Number })
export type Pins = typeof Pins.Type

/** `created`: never deployed. `deployed`: the release of some environment. */
export const ReleaseStatus = Schema.Literal("created", "deploying", "deployed", "superseded", "failed")

const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))

/** A release: its record and view. Times are RFC 3339. */
export const Release = recordOf("Release", {
  id: generatedValue(ReleaseId, Schema.String),
  organisationId: owner(OrganisationId),
  spaceId: owner(SpaceId),
  customerId: fixedValue(optional(Schema.NullOr(CustomerId), null, NullableText, NullableText)),
  version: derivedValue(
    Schema.Union(Schema.Number, Schema.String).annotations({
      description: "Counted from 1 for each customer, and for the organisation; or the one that was given."
    })
  ),
  number: hidden(Schema.Number),
  semver: hidden(NullableText),
  name: fixedValue(optional(Schema.String, undefined, Name)),
  notes: fixedValue(
    optional(NullableText, null, Schema.NullOr(Schema.String.pipe(Schema.maxLength(releaseLimits.notesLength))))
  ),
  pins: hidden(Pins),
  workflows: derivedValue(Schema.Array(Schema.Struct({ workflowId: Schema.String, version: Schema.Number }))),
  environment: generatedValue(
    NullableText,
    Schema.NullOr(Schema.String).annotations({ description: "To which it was deployed last." })
  ),
  environments: generatedValue(
    Schema.Array(Schema.String),
    Schema.Array(Schema.String).annotations({ description: "Those whose release it is now." })
  ),
  status: generatedValue(
    ReleaseStatus,
    ReleaseStatus.annotations({
      description:
        "A release is deployed in one transaction, or not at all: `deploying` and `failed` are reserved for slower targets."
    })
  ),
  createdBy: generatedValue(Schema.String),
  createdAt: generatedValue(AnsweredTime),
  deployedAt: generatedValue(NullableTime),
  deployedBy: generatedValue(NullableText),
  rollbackOf: generatedValue(Schema.NullOr(ReleaseId), NullableText),
  /** Counts the changes; the ETag, since `version` is the release's own number. */
  revision: hidden(Schema.Number)
})
/** The stored release. */
export type Release = typeof Release.stored.Type

const { customerId, name, notes } = Release.Create.fields

/** The body that creates a release. */
export const CreateRelease = Schema.Struct({
  customerId,
  name,
  notes,
  version: Schema.optional(
    Schema.String.pipe(Schema.pattern(semverPattern, { message: () => "must be a version of the form 1.2.3" }))
  ),
  workflows: Schema.optional(
    Schema.Array(
      Schema.Struct({
        workflowId: Schema.String,
        version: Schema.optional(Counter.annotations({ description: "Without it, the published version." }))
      })
    ).pipe(
      Schema.minItems(1, { message: () => "must name at least one workflow, or be absent for all that are published" }),
      Schema.maxItems(releaseLimits.workflows)
    )
  ).annotations({ description: "Without it, all published workflows." }),
  environment: Schema.optional(Schema.String).annotations({ description: "Deploys the release at once." })
}).annotations({ identifier: "CreateRelease" })
export type CreateRelease = typeof CreateRelease.Type

/** The body that rolls a release back. */
export const RollBackRelease = Schema.Struct({
  environment: Schema.String,
  remove: Schema.optional(Schema.Boolean).annotations({
    description: "Also takes away what was deployed there since the release, which is refused otherwise."
  })
}).annotations({ identifier: "RollBackRelease" })
export type RollBackRelease = typeof RollBackRelease.Type

/** The release that an environment has, and what was deployed there before it. */
export const EnvironmentRelease = Schema.Struct({
  organisationId: OrganisationId,
  spaceId: SpaceId,
  customerId: Schema.NullOr(CustomerId),
  environment: Schema.String,
  releaseId: ReleaseId,
  pinsBefore: Pins,
  deployedAt: AnsweredTime
})
export type EnvironmentRelease = typeof EnvironmentRelease.Type

/** The release as the API shows it. */
export const releaseView = (release: Release) =>
  Release.show(release, {
    version: release.semver ?? release.number,
    workflows: Object.entries(release.pins).map(([workflowId, version]) => ({ workflowId, version }))
  })
/** A release as the API shows it. */
export type ReleaseView = ReturnType<typeof releaseView>

/** A release in a list, without its workflows, which can be many. */
export const ReleaseSummary = Release.View.omit("workflows").annotations({ identifier: "ReleaseSummary" })

/** The release as lists show it. */
export const releaseSummary = (release: Release): typeof ReleaseSummary.Type =>
  Struct.omit(releaseView(release), "workflows")

/** The release after it was deployed to an environment. */
export const deployedRelease = (release: Release, environment: string, by: string, now: string): Release => ({
  ...release,
  environment,
  environments: [...new Set([...release.environments, environment])],
  status: "deployed",
  deployedAt: now,
  deployedBy: by,
  revision: release.revision + 1
})

/** The release after an environment has another one, or is gone. */
export const replacedRelease = (release: Release, environment: string): Release => {
  const environments = release.environments.filter((one) => one !== environment)
  return {
    ...release,
    environments,
    status: environments.length === 0 ? "superseded" : "deployed",
    revision: release.revision + 1
  }
}

/**
 * The workflows whose versions were deployed after a release, and go with its rollback. `now`: what the environment has;
 * `before`: what it had before the release; `after`: what it is to have.
 */
export const deployedSince = (
  { pins }: Pick<Release, "pins">,
  now: Pins,
  before: Pins,
  after: Pins
): ReadonlyArray<WorkflowId> => {
  const ofRelease: Pins = { ...before, ...pins }
  // The keys of pins are ids of workflows.
  const ids = Object.keys(now) as Array<WorkflowId>
  return ids.filter((id) => now[id] !== ofRelease[id] && now[id] !== after[id])
}

/** Workflows that one refusal names at most. */
const namedWorkflows = 20

/** The refusal to take the versions of the workflows with these names away unasked. */
export const wouldRemove = (names: ReadonlyArray<string>, environment: string): Conflict => {
  const shown = names.slice(0, namedWorkflows)
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : ""
  return new Conflict({
    code: "CONFLICT",
    message: `the rollback takes away what was deployed to ${environment} since the release, of ${shown.join(", ")}${more}: send remove: true if that is meant`,
    details: shown.map((name) => ({
      path: "remove",
      code: "WOULD_REMOVE",
      message: `${name} was deployed to ${environment} since, which the rollback takes away`
    }))
  })
}

/** The refusal to roll back a release that is not the one of the environment. */
export const notDeployed = ({ status }: Release, environment: string): InvalidState =>
  new InvalidState({ state: status, message: `it is not the release of ${environment}: roll back the one that is` })
