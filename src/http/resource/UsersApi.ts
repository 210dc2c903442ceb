/** People and their roles. Specification: Surface C; contract: presets and roles. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { CreateRole, InviteUser } from "../../domain/Person.js"
import { PermissionMatrix } from "../../domain/Permission.js"
import { Audited, audited, NoStore, Permit, read, Scoped, Shared } from "../Endpoint.js"
import { closedToNarrowedKeys } from "./NarrowedKeys.js"
import { created, listParams, NullableTime, Page, strict, Time } from "./Shapes.js"

const UserStatus = Schema.Literal("active", "invited", "disabled")

const UserView = Schema.Struct({
  id: Schema.String,
  email: Schema.String,
  name: Schema.NullOr(Schema.String),
  roleId: Schema.String,
  customerIds: Schema.Array(Schema.String).annotations({ description: "empty: all customers" }),
  teams: Schema.Array(Schema.String),
  status: UserStatus,
  lastActiveAt: NullableTime,
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}).annotations({ identifier: "User" })

/** What an invitation can do now: the page behind its link comes with the console. */
export const invitationNotice =
  "the person is listed with the role; nobody can sign in yet, so the link opens no page and no access follows from it"

/** The link is shown once. */
const Invitation = Schema.Struct({
  userId: Schema.String,
  status: Schema.Literal("invited"),
  inviteUrl: Schema.String,
  expiresAt: Time,
  canSignIn: Schema.Literal(false).annotations({ description: "whether people can sign in with the link" }),
  notice: Schema.String.annotations({ description: "what the invitation can do now" })
}).annotations({ identifier: "Invitation" })

const RoleView = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  builtin: Schema.Boolean,
  parent: Schema.NullOr(Schema.String),
  permissions: PermissionMatrix,
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}).annotations({ identifier: "Role" })

export const UsersApi = HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/users")
      .setUrlParams(Schema.Struct({ ...listParams, status: Schema.optional(UserStatus) }))
      .addSuccess(Page(UserView))
      .annotate(Permit, "users:read")
      .annotate(Audited, read("user"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.post("invite", "/api/v1/users/invite")
      .setPayload(strict(InviteUser))
      .addSuccess(created(Invitation))
      .annotate(Permit, "users:invite")
      .annotate(Audited, audited("user.invite"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
      .annotate(NoStore, true)
  )

export const RolesApi = HttpApiGroup.make("roles")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/roles")
      .setUrlParams(Schema.Struct(listParams))
      .addSuccess(Page(RoleView))
      .annotate(Permit, "users:read")
      .annotate(Audited, read("role"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.post("create", "/api/v1/roles")
      .setPayload(strict(CreateRole))
      .addSuccess(created(RoleView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, audited("role.create"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
