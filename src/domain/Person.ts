/** People and their roles, as records: signing in comes with the console. Contract: users and roles. */
import { Schema } from "effect"
import type { CustomerId, OrganisationId, RoleId, UserId } from "./Ids.js"
import { allPermissions, PermissionMatrix, presetPermissions, toMatrix } from "./Permission.js"

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

/** The roles that every organisation has. Owner and admin hold everything; the others what the key preset of that name holds. */
export const builtinRoles: ReadonlyArray<{ readonly name: string; readonly permissions: PermissionMatrix }> = [
  { name: "owner", permissions: toMatrix(new Set(allPermissions)) },
  { name: "admin", permissions: toMatrix(new Set(allPermissions)) },
  ...(["developer", "operator", "viewer", "end_user"] as const).map((name) => ({ name, permissions: toMatrix(presetPermissions(name)) }))
]

export const InviteUser = Schema.Struct({
  email: Schema.String.pipe(Schema.pattern(/^[^\s@]+@[^\s@]+$/), Schema.maxLength(254)),
  role: Schema.String,
  customerIds: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(1_000))),
  teams: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(100)))
}).annotations({ identifier: "InviteUser" })
export type InviteUser = typeof InviteUser.Type

export const CreateRole = Schema.Struct({
  name: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100)),
  parent: Schema.String,
  permissions: PermissionMatrix
}).annotations({ identifier: "CreateRole" })
export type CreateRole = typeof CreateRole.Type
