/** Organisations, which own all other records, and their workspaces. Contract: organisation record. */
import { DateTime, Option, Schema } from "effect"
import { Forbidden } from "../Failure.js"
import type { OrganisationId, SpaceId } from "../Ids.js"
import { PlanName } from "./Plan.js"
import { Counter } from "../Scalars.js"
import { slugOf, Slug } from "../workflow/Workflow.js"

/** A suspended organisation starts no runs, and its keys change nothing but the organisation itself. */
export const OrganisationStatus = Schema.Literal("active", "suspended")
export type OrganisationStatus = typeof OrganisationStatus.Type

/** The stored organisation. Times are RFC 3339. */
export interface Organisation {
  readonly id: OrganisationId
  readonly name: string
  readonly slug: string
  readonly parentId: OrganisationId | null
  readonly timezone: string
  readonly plan: PlanName
  /** Keys of a suspended organisation can only read and change the organisation itself. */
  readonly status: OrganisationStatus
  readonly defaultEnvironment: string
  readonly settings: { readonly codeEditing?: boolean; readonly dlqAutoReplay?: boolean }
  readonly createdAt: string
  readonly updatedAt: string
  readonly version: number
}

/** Keys, workflows, triggers and state belong to a workspace; customers belong to the organisation. */
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

/** The body that changes an organisation. */
export const UpdateOrganisation = Schema.Struct({
  name: Schema.optional(Name),
  timezone: Schema.optional(TimeZone),
  plan: Schema.optional(PlanName),
  status: Schema.optional(OrganisationStatus),
  defaultEnvironment: Schema.optional(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(63)).annotations({
      description: "the slug of the environment of runs that name none"
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

/** The body that creates a workspace. */
export const CreateWorkspace = Schema.Struct({
  name: Name,
  slug: Schema.optional(Slug)
}).annotations({ identifier: "CreateWorkspace" })
export type CreateWorkspace = typeof CreateWorkspace.Type

/** The body that changes a workspace. */
export const UpdateWorkspace = Schema.Struct({
  name: Schema.optional(Name),
  slug: Schema.optional(Slug),
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateWorkspace" })
export type UpdateWorkspace = typeof UpdateWorkspace.Type

// --- Organisations ---

/** Whether the organisation's keys may write code; one with a parent needs the setting. */
export const canEditCode = ({ parentId, settings }: Pick<Organisation, "parentId" | "settings">): boolean =>
  parentId === null || settings.codeEditing === true

/** The record after a change. `now`: RFC 3339. */
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
 * The refusal of a change by the organisation's own keys. With a parent, it cannot change its plan, status or code
 * editing. Only the operator can give the plan without limits, by making it `defaultPlan`, the plan of new organisations.
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
      return forbidden(changed[0], `${changed[0]} of an organisation with a parent cannot be changed by its own keys`)
  }
  return after.plan === "unlimited" && before.plan !== "unlimited" && defaultPlan !== "unlimited"
    ? forbidden("plan", "only the operator of this installation can give the plan unlimited")
    : undefined
}

/** An organisation as the API shows it. */
export const organisationView = (organisation: Organisation) => ({
  ...organisation,
  settings: {
    codeEditing: canEditCode(organisation),
    dlqAutoReplay: organisation.settings.dlqAutoReplay ?? false
  }
})

// --- Workspaces ---

/** The record of a new workspace. `now`: RFC 3339. */
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

/** The record after a change. `now`: RFC 3339. */
export const changedWorkspace = (before: Workspace, input: UpdateWorkspace, now: string): Workspace => ({
  ...before,
  name: input.name ?? before.name,
  slug: input.slug ?? before.slug,
  updatedAt: now,
  version: before.version + 1
})

/** A workspace as the API shows it, without its callback secret. */
export const workspaceView = ({
  callbackRotatedAt: _rotatedAt,
  callbackSecret: _secret,
  callbackSecretBefore: _secretBefore,
  ...workspace
}: Workspace) => workspace
