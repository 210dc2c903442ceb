/** Records of people and roles. People cannot sign in yet. Contract: users and roles. */
import { Schema } from "effect"
import { invalid, type ValidationFailed } from "../Failure.js"
import type { CustomerId, OrganisationId, RoleId, UserId } from "../Ids.js"
import {
  allPermissions,
  missingPermissions,
  PermissionMatrix,
  presetPermissions,
  toMatrix,
  toSet
} from "./Permission.js"

/** The stored role. Times are RFC 3339. */
export interface Role {
  readonly id: RoleId
  readonly organisationId: OrganisationId
  readonly name: string
  readonly builtin: boolean
  readonly parent: RoleId | null
  readonly permissions: PermissionMatrix
  readonly createdAt: string
  readonly updatedAt: string
  readonly version: number
}

/** The stored person. Times are RFC 3339. */
export interface User {
  readonly id: UserId
  readonly organisationId: OrganisationId
  readonly email: string
  readonly name: string | null
  readonly roleId: RoleId
  readonly customerIds: ReadonlyArray<CustomerId>
  readonly teams: ReadonlyArray<string>
  readonly status: "active" | "invited" | "disabled"
  readonly inviteHash: string | null
  readonly inviteExpiresAt: string | null
  readonly lastActiveAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
  readonly version: number
}

/** The roles of every organisation. Owner and admin have all permissions, the others those of the key preset of the same name. */
export const builtinRoles: ReadonlyArray<{ readonly name: string; readonly permissions: PermissionMatrix }> = [
  { name: "owner", permissions: toMatrix(new Set(allPermissions)) },
  { name: "admin", permissions: toMatrix(new Set(allPermissions)) },
  ...(["developer", "operator", "viewer", "end_user"] as const).map((name) => ({
    name,
    permissions: toMatrix(presetPermissions(name))
  }))
]

/** A role as the API shows it. */
export const roleView = (role: Role) => ({
  id: role.id,
  name: role.name,
  builtin: role.builtin,
  parent: role.parent,
  permissions: role.permissions,
  createdAt: role.createdAt,
  updatedAt: role.updatedAt,
  version: role.version
})

/** A person as the API shows it, without the invitation. */
export const userView = (user: User) => ({
  id: user.id,
  email: user.email,
  name: user.name,
  roleId: user.roleId,
  customerIds: user.customerIds,
  teams: user.teams,
  status: user.status,
  lastActiveAt: user.lastActiveAt,
  createdAt: user.createdAt,
  updatedAt: user.updatedAt,
  version: user.version
})

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

/** The body that invites a person. */
export const InviteUser = Schema.Struct({
  email: Schema.String.pipe(
    Schema.pattern(/^[^\s@]+@[^\s@]+$/, { message: () => "must be an e-mail address" }),
    Schema.maxLength(254)
  ),
  role: Schema.String.annotations({ description: "the id or the name of a role" }),
  name: Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))),
  customerIds: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(1_000))),
  teams: Schema.optional(Schema.Array(Schema.String.pipe(Schema.maxLength(200))).pipe(Schema.maxItems(100)))
}).annotations({ identifier: "InviteUser" })
export type InviteUser = typeof InviteUser.Type

/** The body that creates a role. */
export const CreateRole = Schema.Struct({
  name: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100)),
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
): Role => ({
  id,
  organisationId,
  name: input.name,
  builtin: false,
  parent,
  permissions: toMatrix(toSet(input.permissions)),
  createdAt: now,
  updatedAt: now,
  version: 1
})

/** The record of an invited person. `now`: RFC 3339. */
export const invitedUser = (
  organisationId: OrganisationId,
  id: UserId,
  input: InviteUser,
  invitation: Pick<User, "roleId" | "customerIds" | "inviteHash" | "inviteExpiresAt">,
  now: string
): User => ({
  id,
  organisationId,
  email: input.email,
  name: input.name ?? null,
  teams: input.teams ?? [],
  status: "invited",
  ...invitation,
  lastActiveAt: null,
  createdAt: now,
  updatedAt: now,
  version: 1
})
