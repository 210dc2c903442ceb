/** The owner of everything else, and its workspaces. Contract: organisation record. */
import { DateTime, Option, Schema } from "effect"
import { Forbidden } from "./Failure.js"
import type { OrganisationId, SpaceId } from "./Ids.js"
import { PlanName } from "./Plan.js"
import { Counter } from "./Scalars.js"
import { slugOf, slugPattern } from "./Workflow.js"

export const OrganisationStatus = Schema.Literal("active", "suspended")
export type OrganisationStatus = typeof OrganisationStatus.Type

/** Times are RFC 3339. */
export interface Organisation {
  readonly id: OrganisationId
  readonly name: string
  readonly slug: string
  readonly parentId: OrganisationId | null
  readonly timezone: string
  readonly plan: PlanName
  /** The keys of a suspended organisation are refused, but for reading and changing the organisation itself. */
  readonly status: OrganisationStatus
  readonly defaultEnvironment: string
  readonly settings: { readonly codeEditing?: boolean; readonly dlqAutoReplay?: boolean }
  readonly createdAt: string
  readonly updatedAt: string
  readonly version: number
}

/** Key, workflow, trigger and state belong to one workspace; customers to the organisation. */
export interface Workspace {
  readonly id: SpaceId
  readonly organisationId: OrganisationId
  readonly name: string
  readonly slug: string
  readonly callbackSecret: Uint8Array | null
  readonly callbackSecretBefore: Uint8Array | null
  readonly callbackRotatedAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
  readonly version: number
}

const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))

const TimeZone = Schema.String.pipe(
  Schema.filter((name) => Option.isSome(DateTime.zoneMakeNamed(name)) || "is not a time zone such as Europe/Berlin")
)

export const UpdateOrganisation = Schema.Struct({
  name: Schema.optional(Name),
  timezone: Schema.optional(TimeZone),
  plan: Schema.optional(PlanName),
  status: Schema.optional(OrganisationStatus),
  defaultEnvironment: Schema.optional(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(63)).annotations({
      description: "the slug of the environment in which runs start that name none"
    })
  ),
  settings: Schema.optional(
    Schema.Struct({
      codeEditing: Schema.optional(Schema.Boolean),
      dlqAutoReplay: Schema.optional(Schema.Boolean)
    })
  ),
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateOrganisation" })
export type UpdateOrganisation = typeof UpdateOrganisation.Type

export const CreateWorkspace = Schema.Struct({
  name: Name,
  slug: Schema.optional(Schema.String.pipe(Schema.pattern(slugPattern)))
}).annotations({ identifier: "CreateWorkspace" })
export type CreateWorkspace = typeof CreateWorkspace.Type

export const UpdateWorkspace = Schema.Struct({
  name: Schema.optional(Name),
  slug: Schema.optional(Schema.String.pipe(Schema.pattern(slugPattern))),
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateWorkspace" })
export type UpdateWorkspace = typeof UpdateWorkspace.Type

// --- Organisations ---

/** Whether the organisation's own keys may write code: an organisation with a parent needs to be allowed to. */
export const canEditCode = ({ parentId, settings }: Pick<Organisation, "parentId" | "settings">): boolean =>
  parentId === null || settings.codeEditing === true

/** The organisation with the members of a change; what the change does not name stays. */
export const changedOrganisation = (before: Organisation, input: UpdateOrganisation, now: string): Organisation => {
  const { codeEditing = before.settings.codeEditing, dlqAutoReplay = before.settings.dlqAutoReplay } =
    input.settings ?? {}
  return {
    ...before,
    name: input.name ?? before.name,
    timezone: input.timezone ?? before.timezone,
    plan: input.plan ?? before.plan,
    status: input.status ?? before.status,
    defaultEnvironment: input.defaultEnvironment?.toLowerCase() ?? before.defaultEnvironment,
    settings: {
      ...(codeEditing === undefined ? {} : { codeEditing }),
      ...(dlqAutoReplay === undefined ? {} : { dlqAutoReplay })
    },
    updatedAt: now,
    version: before.version + 1
  }
}

const forbidden = (path: string, message: string) => new Forbidden({ code: "FORBIDDEN", path, message })

/**
 * Why an organisation may not change itself so. What bounds an organisation with a parent is not its own to change. The
 * plan without ceilings is the operator's to give: with `defaultPlan`, which is what new organisations get.
 */
export const ownChangeRefusal = (
  before: Organisation,
  after: Organisation,
  defaultPlan: PlanName
): Forbidden | undefined => {
  if (before.parentId !== null) {
    const bounds = [
      ["plan", before.plan, after.plan],
      ["status", before.status, after.status],
      ["settings.codeEditing", canEditCode(before), canEditCode(after)]
    ] as const
    const changed = bounds.find(([, old, now]) => old !== now)
    if (changed !== undefined)
      return forbidden(changed[0], `${changed[0]} of an organisation with a parent is not changed by its own keys`)
  }
  return after.plan === "unlimited" && before.plan !== "unlimited" && defaultPlan !== "unlimited"
    ? forbidden("plan", "the plan unlimited is given by the operator of this installation")
    : undefined
}

export const organisationView = (organisation: Organisation) => ({
  ...organisation,
  settings: {
    codeEditing: canEditCode(organisation),
    dlqAutoReplay: organisation.settings.dlqAutoReplay ?? false
  }
})

// --- Workspaces ---

export const newWorkspace = (
  organisationId: OrganisationId,
  id: SpaceId,
  input: CreateWorkspace,
  now: string
): Workspace => ({
  id,
  organisationId,
  name: input.name,
  slug: input.slug ?? slugOf(input.name),
  callbackSecret: null,
  callbackSecretBefore: null,
  callbackRotatedAt: null,
  createdAt: now,
  updatedAt: now,
  version: 1
})

export const changedWorkspace = (before: Workspace, input: UpdateWorkspace, now: string): Workspace => ({
  ...before,
  name: input.name ?? before.name,
  slug: input.slug ?? before.slug,
  updatedAt: now,
  version: before.version + 1
})

/** A workspace as the API shows it: never its callback secret. */
export const workspaceView = ({
  callbackRotatedAt: _rotatedAt,
  callbackSecret: _secret,
  callbackSecretBefore: _secretBefore,
  ...workspace
}: Workspace) => workspace
