/** The endpoints of people and roles. Specification: Surface C; contract: presets and roles. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { CreateRole, InviteUser } from "../../domain/Person.js"
import { PermissionMatrix } from "../../domain/Permission.js"
import { Audited, auditAction, NoStore, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { closedToNarrowedKeys } from "./ClosedScope.js"
import { CreatedData, listParams, NullableTime, Page, strictPayload, Time } from "./Shapes.js"

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

/** The limits of an invitation in this release, which has no sign-in page. */
export const invitationNotice =
  "the person is listed with the role; people cannot sign in yet, so the link opens no page and gives no access"

/** The answer to an invitation, the only one that has its link. */
const Invitation = Schema.Struct({
  userId: Schema.String,
  status: Schema.Literal("invited"),
  inviteUrl: Schema.String,
  expiresAt: Time,
  canSignIn: Schema.Literal(false).annotations({ description: "whether people can sign in with the link" }),
  notice: Schema.String.annotations({ description: "the limits of the invitation in this release" })
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

/** People on surface C. */
export const UsersApi = HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/users")
      .setUrlParams(Schema.Struct({ ...listParams, status: Schema.optional(UserStatus) }))
      .addSuccess(Page(UserView))
      .annotate(Permit, "users:read")
      .annotate(Audited, auditRead("user"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.post("invite", "/api/v1/users/invite")
      .setPayload(strictPayload(InviteUser))
      .addSuccess(CreatedData(Invitation))
      .annotate(Permit, "users:invite")
      .annotate(Audited, auditAction("user.invite"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
      .annotate(NoStore, true)
  )

/** Roles on surface C. */
export const RolesApi = HttpApiGroup.make("roles")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/roles")
      .setUrlParams(Schema.Struct(listParams))
      .addSuccess(Page(RoleView))
      .annotate(Permit, "users:read")
      .annotate(Audited, auditRead("role"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.post("create", "/api/v1/roles")
      .setPayload(strictPayload(CreateRole))
      .addSuccess(CreatedData(RoleView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("role.create"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
