/** New organisations with a parent, and the body that creates one, a team or a project. Contract: organisations. */
import { Schema } from "effect"
import { Conflict, invalid, type ValidationFailed } from "../Failure.js"
import type { OrganisationId } from "../Ids.js"
import { Slug, slugOf } from "../Slug.js"
import { mostGrouped } from "./Group.js"
import { type Organisation, OrganisationName, TimeZone } from "./Organisation.js"

/** Organisations that one parent has. Each has its own customers, keys and workflows; they share the parent's plan. */
export const childrenPerOrganisation = 100
/** Teams that an organisation is created with. */
const mostFirstTeams = 20

/** What is created, or listed: an organisation, or a group within the caller's own. */
export const OrganisationKind = Schema.Literal("organization", "team", "project")
export type OrganisationKind = typeof OrganisationKind.Type

const Ids = Schema.Array(Schema.String).pipe(Schema.maxItems(mostGrouped))

/** The body that creates an organisation, a team or a project. */
export const CreateInOrganisation = Schema.Struct({
  kind: Schema.optional(OrganisationKind).annotations({ description: "default organization" }),
  name: OrganisationName,
  slug: Schema.optional(Slug).annotations({
    description: "of an organization or a project; absent: made from the name"
  }),
  timezone: Schema.optional(TimeZone).annotations({ description: "of an organization; default UTC" }),
  parentId: Schema.optional(Schema.String).annotations({
    description: "of an organization: the calling organisation, which is the default"
  }),
  teams: Schema.optional(Schema.Array(OrganisationName).pipe(Schema.maxItems(mostFirstTeams))).annotations({
    description: "of an organization: the names of its first teams"
  }),
  settings: Schema.optional(
    Schema.Struct({ codeEditing: Schema.optional(Schema.Boolean), dlqAutoReplay: Schema.optional(Schema.Boolean) })
  ).annotations({ description: "of an organization; both are false unless asked for" }),
  memberIds: Schema.optional(Ids).annotations({ description: "of a team: its people" }),
  teamIds: Schema.optional(Ids).annotations({ description: "of a project" }),
  workflowIds: Schema.optional(Ids).annotations({ description: "of a project" })
}).annotations({ identifier: "CreateInOrganisation" })
export type CreateInOrganisation = typeof CreateInOrganisation.Type

type KindMember = Exclude<keyof CreateInOrganisation, "kind" | "name">

/** The members of each kind beside its name. */
const membersOf: { readonly [K in OrganisationKind]: ReadonlyArray<KindMember> } = {
  organization: ["slug", "timezone", "parentId", "teams", "settings"],
  team: ["memberIds"],
  project: ["slug", "teamIds", "workflowIds"]
}

/** The refusal of a body with members of another kind. */
export const foreignMemberRefusal = ({ kind = "organization", ...members }: CreateInOrganisation) => {
  const own: ReadonlyArray<string> = ["name", ...membersOf[kind]]
  const foreign = Object.keys(members).find((member) => !own.includes(member))
  return foreign === undefined
    ? undefined
    : invalid(foreign, "NOT_ALLOWED", `is no member of kind ${kind}, which has ${own.join(", ")}`)
}

/** The refusal of a new organisation below `parent`, which its caller belongs to. */
export const parentRefusal = (
  parent: Pick<Organisation, "id" | "parentId">,
  named: string | undefined
): ValidationFailed | Conflict | undefined => {
  if (parent.parentId !== null)
    return new Conflict({
      code: "CONFLICT",
      message: "an organisation that has a parent is no parent itself: ask that one"
    })
  return named === undefined || named === parent.id
    ? undefined
    : invalid("parentId", "NOT_ALLOWED", "must be the organisation of the calling key, or left out")
}

/**
 * The record of a new organisation, which has the plan of its parent. Names need not be unique: the slug ends with a part of
 * the id unless the body names one.
 */
export const childOrganisation = (
  parent: Organisation,
  id: OrganisationId,
  { name, settings = {}, slug, timezone = "UTC" }: CreateInOrganisation,
  now: string
): Organisation => ({
  id,
  name,
  slug: slug ?? `${slugOf(name).slice(0, 52)}-${id.slice(-10)}`,
  parentId: parent.id,
  timezone,
  plan: parent.plan,
  status: "active",
  defaultEnvironment: "live",
  settings: { codeEditing: settings.codeEditing ?? false, dlqAutoReplay: settings.dlqAutoReplay ?? false },
  createdAt: now,
  updatedAt: now,
  version: 1
})
