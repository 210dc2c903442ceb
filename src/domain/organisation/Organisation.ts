/** Organisations, which own all other records, and their workspaces. Contract: organisation record. */
import { DateTime, Option, Schema } from "effect"
import { Conflict, Forbidden } from "../Failure.js"
import { OrganisationId, SpaceId } from "../Ids.js"
import { PlanName } from "./Plan.js"
import { changeable, generatedValue, hidden, optional, recordOf, required } from "../Record.js"
import { AnsweredTime } from "../Time.js"
import { slugOf, Slug } from "../Slug.js"

/** A suspended organisation starts no runs, and its keys change nothing but the organisation itself. */
export const OrganisationStatus = Schema.Literal("active", "suspended")
export type OrganisationStatus = typeof OrganisationStatus.Type

/** The name of an organisation, or of a group within it. */
export const OrganisationName = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))

/** A time zone of the IANA. */
export const TimeZone = Schema.String.pipe(
  Schema.filter((name) => Option.isSome(DateTime.zoneMakeNamed(name)) || "is not a time zone such as Europe/Berlin")
)

const Settings = Schema.Struct({
  codeEditing: Schema.optionalWith(Schema.Boolean, { exact: true }),
  dlqAutoReplay: Schema.optionalWith(Schema.Boolean, { exact: true })
})

/** An organisation: its record, body and view. Times are RFC 3339. */
export const Organisation = recordOf("Organisation", {
  id: generatedValue(OrganisationId, Schema.String),
  name: changeable(optional(Schema.String, "", OrganisationName)),
  slug: generatedValue(Schema.String),
  parentId: generatedValue(Schema.NullOr(OrganisationId), Schema.NullOr(Schema.String)),
  timezone: changeable(optional(Schema.String, "", TimeZone)),
  plan: changeable(optional(PlanName, undefined)),
  status: changeable(
    optional(
      OrganisationStatus,
      "active",
      OrganisationStatus,
      OrganisationStatus.annotations({
        description: "keys of a suspended organisation can only read and change the organisation itself"
      })
    )
  ),
  defaultEnvironment: changeable(
    optional(
      Schema.String,
      undefined,
      Schema.String.pipe(Schema.minLength(1), Schema.maxLength(63)).annotations({
        description: "the slug of the environment of runs that name none"
      })
    )
  ),
  settings: changeable(
    optional(
      Settings,
      {},
      Schema.partial(Settings),
      Schema.Struct({
        codeEditing: Schema.Boolean.annotations({
          description: "whether keys of an organisation with a parent may write code"
        }),
        dlqAutoReplay: Schema.Boolean
      })
    )
  ),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  version: generatedValue(Schema.Number)
})
/** The stored organisation. */
export type Organisation = typeof Organisation.stored.Type
/** An organisation as the API shows it. */
export type OrganisationView = ReturnType<typeof Organisation.show>
export type UpdateOrganisation = typeof Organisation.Update.Type

/**
 * A workspace: its record, bodies and view. Keys, workflows, triggers and state belong to a workspace; customers belong to
 * the organisation. The callback secrets are sealed.
 */
export const Workspace = recordOf("Workspace", {
  id: generatedValue(SpaceId, Schema.String),
  organisationId: generatedValue(OrganisationId, Schema.String),
  name: required(Schema.String, OrganisationName),
  slug: optional(Schema.String, undefined, Slug),
  callbackSecret: hidden(Schema.NullOr(Schema.Uint8ArrayFromSelf)),
  callbackSecretBefore: hidden(Schema.NullOr(Schema.Uint8ArrayFromSelf)),
  callbackRotatedAt: hidden(Schema.NullOr(AnsweredTime)),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  version: generatedValue(Schema.Number)
})
/** The stored workspace. */
export type Workspace = typeof Workspace.stored.Type
export type CreateWorkspace = typeof Workspace.Create.Type
export type UpdateWorkspace = typeof Workspace.Update.Type

// --- Organisations ---

/**
 * The organisation whose plan limits this one: its parent, or itself. It, and all whose parent it is, are one account: what
 * they use together counts.
 */
export const accountOf = ({ id, parentId }: Pick<Organisation, "id" | "parentId">): OrganisationId => parentId ?? id

/** Whether the organisation's keys may write code; one with a parent needs the setting. */
export const canEditCode = ({ parentId, settings }: Pick<Organisation, "parentId" | "settings">): boolean =>
  parentId === null || settings.codeEditing === true

/** The record after a change. `now`: RFC 3339. */
export const changedOrganisation = (before: Organisation, input: UpdateOrganisation, now: string): Organisation => {
  const { codeEditing = before.settings.codeEditing, dlqAutoReplay = before.settings.dlqAutoReplay } =
    input.settings ?? {}
  return {
    ...Organisation.change(before, input, now),
    defaultEnvironment: input.defaultEnvironment?.toLowerCase() ?? before.defaultEnvironment,
    settings: {
      ...(codeEditing === undefined ? {} : { codeEditing }),
      ...(dlqAutoReplay === undefined ? {} : { dlqAutoReplay })
    }
  }
}

const forbidden = (path: string, message: string) => new Forbidden({ code: "FORBIDDEN", path, message })

/** What only the parent decides. */
const boundsOf = (organisation: Organisation) =>
  [
    ["status", organisation.status],
    ["settings.codeEditing", canEditCode(organisation)]
  ] as const

/**
 * The refusal of a change. An organisation with a parent has its parent's plan, and only the parent, `by` whose keys it is
 * changed then, decides about its status and code editing. Only the operator can give the plan without limits, by making it
 * `defaultPlan`, the plan of new organisations.
 */
export const changeRefusal = (
  before: Organisation,
  after: Organisation,
  by: Pick<Organisation, "id" | "status">,
  defaultPlan: PlanName
): Forbidden | Conflict | undefined => {
  if (before.parentId !== null && after.plan !== before.plan)
    return forbidden("plan", "plan of an organisation with a parent is that of its parent")
  if (before.parentId === by.id && after.status !== before.status && by.status !== "active")
    return new Conflict({
      code: "CONFLICT",
      message: "its parent is suspended, and so is it until the parent is active"
    })
  if (before.parentId !== null && by.id === before.id) {
    const own = boundsOf(before)
    const changed = boundsOf(after).find(([, value], i) => value !== own[i]?.[1])
    if (changed !== undefined)
      return forbidden(changed[0], `${changed[0]} of an organisation with a parent cannot be changed by its own keys`)
  }
  return after.plan === "unlimited" && before.plan !== "unlimited" && defaultPlan !== "unlimited"
    ? forbidden("plan", "only the operator of this installation can give the plan unlimited")
    : undefined
}

/** An organisation as the API shows it. */
export const organisationView = (organisation: Organisation): OrganisationView =>
  Organisation.show(organisation, {
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
): Workspace => Workspace.create(input, { id, organisationId, slug: slugOf(input.name) }, now)
