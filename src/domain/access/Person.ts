/** Records of people and roles. A person of an organisation signs in as an identity. Contract: users and roles. */
import { Either, Schema } from "effect"
import { Conflict, invalid, InvalidState, type ValidationFailed } from "../Failure.js"
import { CustomerId, IdentityId, OrganisationId, RoleId, UserId } from "../Ids.js"
import {
  allPermissions,
  missingPermissions,
  PermissionMatrix,
  presetPermissions,
  StoredMatrix,
  toMatrix,
  toSet
} from "./Permission.js"
import { generatedValue, hidden, nextVersion, owner, recordOf } from "../Record.js"
import { Counter } from "../Scalars.js"
import { AnsweredTime } from "../Time.js"

/** Whether a person has accepted the invitation, and may act. */
export const UserStatus = Schema.Literal("active", "invited", "disabled")

/** A role: its record and view. Times are RFC 3339. */
export const Role = recordOf("Role", {
  id: generatedValue(RoleId, Schema.String),
  organisationId: owner(OrganisationId),
  name: generatedValue(Schema.String),
  builtin: generatedValue(Schema.Boolean),
  parent: generatedValue(Schema.NullOr(RoleId), Schema.NullOr(Schema.String)),
  permissions: generatedValue(StoredMatrix, PermissionMatrix),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  version: generatedValue(Schema.Number)
})
/** The stored role. */
export type Role = typeof Role.stored.Type

/** A person: its record and view, without the invitation. Times are RFC 3339. */
export const User = recordOf("User", {
  id: generatedValue(UserId, Schema.String),
  organisationId: owner(OrganisationId),
  email: generatedValue(Schema.String),
  name: generatedValue(Schema.NullOr(Schema.String)),
  roleId: generatedValue(RoleId, Schema.String),
  customerIds: generatedValue(
    Schema.Array(CustomerId),
    Schema.Array(Schema.String).annotations({ description: "empty: all customers" })
  ),
  teams: generatedValue(Schema.Array(Schema.String)),
  status: generatedValue(UserStatus),
  identityId: hidden(Schema.NullOr(IdentityId)),
  inviteHash: hidden(Schema.NullOr(Schema.String)),
  inviteExpiresAt: hidden(Schema.NullOr(AnsweredTime)),
  lastActiveAt: generatedValue(Schema.NullOr(AnsweredTime)),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  version: generatedValue(Schema.Number)
})
/** The stored person. */
export type User = typeof User.stored.Type

/** The roles of every organisation. Owner and admin have all permissions, the others those of the key preset of the same name. */
export const builtinRoles: ReadonlyArray<{ readonly name: string; readonly permissions: PermissionMatrix }> = [
  { name: "owner", permissions: toMatrix(new Set(allPermissions)) },
  { name: "admin", permissions: toMatrix(new Set(allPermissions)) },
  ...(["developer", "operator", "viewer", "end_user"] as const).map((name) => ({
    name,
    permissions: toMatrix(presetPermissions(name))
  }))
]

/** The refusal of a role with permissions that its parent does not have. */
export const checkRole = (matrix: PermissionMatrix, parent: Role): ValidationFailed | undefined => {
  const requested = toSet(matrix)
  if (requested.size === 0) return invalid("permissions", "REQUIRED", "must grant at least one permission")
  const [outside] = missingPermissions(requested, toSet(parent.permissions))
  return outside === undefined
    ? undefined
    : invalid(
        `permissions.${outside.split(":")[0]}`,
        "NOT_ALLOWED",
        `has ${outside}, which the parent ${parent.name} does not have`
      )
}

const RoleName = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100))
const PersonName = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))
const IdOrNameOfRole = Schema.String.annotations({ description: "the id or the name of a role" })
const reachAndTeams = {
  customerIds: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(1_000))),
  teams: Schema.optional(Schema.Array(Schema.String.pipe(Schema.maxLength(200))).pipe(Schema.maxItems(100)))
}

/** The body that invites a person. */
export const InviteUser = Schema.Struct({
  email: Schema.String.pipe(
    Schema.pattern(/^[^\s@]+@[^\s@]+$/, { message: () => "must be an e-mail address" }),
    Schema.maxLength(254)
  ),
  role: IdOrNameOfRole,
  name: Schema.optional(PersonName),
  ...reachAndTeams
}).annotations({ identifier: "InviteUser" })
export type InviteUser = typeof InviteUser.Type

/** The body that changes a person. */
export const UpdateUser = Schema.Struct({
  name: Schema.optional(Schema.NullOr(PersonName)),
  roleId: Schema.optional(IdOrNameOfRole),
  ...reachAndTeams,
  status: Schema.optional(
    UserStatus.annotations({
      description: "disabled: may not act; active, or invited while the person has never signed in: may act again"
    })
  ),
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateUser" })
export type UpdateUser = typeof UpdateUser.Type

/** The body that changes a role of the organisation. */
export const UpdateRole = Schema.Struct({
  name: Schema.optional(RoleName),
  permissions: Schema.optional(PermissionMatrix),
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateRole" })
export type UpdateRole = typeof UpdateRole.Type

/** The body that creates a role. */
export const CreateRole = Schema.Struct({
  name: RoleName,
  parent: Schema.String.annotations({ description: "the id or the name of the role whose permissions limit it" }),
  permissions: PermissionMatrix
}).annotations({ identifier: "CreateRole" })
export type CreateRole = typeof CreateRole.Type

/** The record of a new role. `now`: RFC 3339. */
export const newRole = (
  organisationId: OrganisationId,
  id: RoleId,
  input: CreateRole,
  parent: RoleId,
  now: string
): Role => {
  const permissions = toMatrix(toSet(input.permissions))
  return Role.create({}, { id, organisationId, name: input.name, builtin: false, parent, permissions }, now)
}

/** The record of an invited person. `now`: RFC 3339. */
export const invitedUser = (
  organisationId: OrganisationId,
  id: UserId,
  input: InviteUser,
  invitation: Pick<User, "roleId" | "customerIds" | "inviteHash" | "inviteExpiresAt">,
  now: string
): User => {
  const { email, name = null, teams = [] } = input
  return User.create({}, { id, organisationId, email, name, teams, status: "invited", ...invitation }, now)
}

/** A role of the organisation after a change. `now`: RFC 3339. */
export const changedRole = (role: Role, { name, permissions }: UpdateRole, now: string): Role => ({
  ...role,
  name: name ?? role.name,
  permissions: permissions === undefined ? role.permissions : toMatrix(toSet(permissions)),
  ...nextVersion(role, now)
})

/** The refusal of a change to a role that every organisation has. */
export const builtinRefusal = ({ builtin, name }: Role): InvalidState | undefined =>
  builtin
    ? new InvalidState({
        state: "builtin",
        message: `every organisation has the role ${name} as it is: create a role with it as parent instead`
      })
    : undefined

/** A person after a change. `role`, `customerIds`: those of the request, checked. `now`: RFC 3339. */
export const changedUser = (
  user: User,
  { name, status, teams }: UpdateUser,
  { customerIds, roleId }: Pick<User, "customerIds" | "roleId">,
  now: string
): User => ({
  ...user,
  name: name === undefined ? user.name : name,
  teams: teams ?? user.teams,
  status: status ?? user.status,
  customerIds,
  roleId,
  ...nextVersion(user, now)
})

/** A person with a new invitation, which replaces the one before. `now`: RFC 3339. */
export const invitedAgain = (user: User, inviteHash: string, inviteExpiresAt: string, now: string): User => ({
  ...user,
  inviteHash,
  inviteExpiresAt,
  ...nextVersion(user, now)
})

/** The refusal of a status that the person cannot have: only who has signed in is active, and is not invited any more. */
export const statusRefusal = ({ identityId, status }: User): ValidationFailed | undefined => {
  if (status === "active" && identityId === null)
    return invalid("status", "NOT_ALLOWED", "cannot be active: the person has never signed in; send invited")
  if (status === "invited" && identityId !== null)
    return invalid("status", "NOT_ALLOWED", "cannot be invited: the person has signed in already; send active")
  return undefined
}

/**
 * The address of the person who has signed in, whom a request may name by `actor`. Left: the request names somebody else,
 * as whom this person may not act.
 */
export const claimedPerson = (
  { email, id }: User,
  actor: string | undefined
): Either.Either<string, ValidationFailed> =>
  actor === undefined || actor === id || actor.toLowerCase() === email.toLowerCase()
    ? Either.right(email)
    : Either.left(
        invalid("actor", "NOT_ALLOWED", `is you, ${email}, since you have signed in: send that, or leave it out`)
      )

/** The refusal of a change to the last active owner who reaches all customers. */
export const lastOwnerRefusal = (): Conflict => {
  const message = "this is the last active owner for all customers: make another person owner first"
  return new Conflict({ code: "CONFLICT", message, details: [{ path: "", code: "LAST_OWNER", message }] })
}
