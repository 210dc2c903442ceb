/** The operations on people and roles. Specification: Surface C; contract: presets and roles. */
import { Schema, Effect, Redacted } from "effect"
import { CreateRole, InviteUser, Role, User } from "../../../domain/access/Person.js"
import { auditAction, auditRead } from "../../operation/Contract.js"
import { operation, operationsOf } from "../../operation/Operation.js"
import { closedToNarrowedKeys } from "../../ClosedScope.js"
import { Time } from "../../Shapes.js"
import { listParams } from "../../../actors/management/Pages.js"
import { strictPayload } from "../../PayloadSchema.js"
import { Roles } from "../../../actors/management/access/Roles.js"
import { UserList, type Invitation, Users } from "../../../actors/management/access/Users.js"
import { Origin } from "../../../actors/ports/Origin.js"
import { newRecord, page } from "../../operation/Output.js"

/** The limits of an invitation in this release, which has no page for it. */
const invitationNotice =
  "the person is listed with the role; this link opens no page yet: whoever runs the service signs the person in, with svc console --email"

/** The answer to an invitation, the only one that has its link. */
const Invitation = Schema.Struct({
  userId: Schema.String,
  status: Schema.Literal("invited"),
  inviteUrl: Schema.String,
  expiresAt: Time,
  canSignIn: Schema.Literal(false).annotations({ description: "whether people can sign in with the link" }),
  notice: Schema.String.annotations({ description: "the limits of the invitation in this release" })
}).annotations({ identifier: "Invitation" })

const invitationView =
  (origin: string) =>
  ({ expiresAt, token, userId }: Invitation) => ({
    userId,
    status: "invited" as const,
    inviteUrl: `${origin}/invite/${Redacted.value(token)}`,
    expiresAt,
    canSignIn: false as const,
    notice: invitationNotice
  })

const ofRoles = operationsOf({ with: Roles, resource: "role", sharing: "hidden", scoped: {} })

/** The operations of the group `users`, in the order of the documents. */
export const usersOperations = [
  operation({
    name: "users.list",
    summary: "List people",
    description: "Lists the people of the organisation with their roles.",
    answers: { 200: "A page of people." },
    route: "GET /api/v1/users",
    query: UserList,
    output: page(User.View),
    permit: "users:read",
    audit: auditRead("user"),
    sharing: "hidden",
    scoped: {},
    with: Users,
    use: (users, { context, query }) => users.list(context, query)
  }),
  operation({
    name: "users.invite",
    summary: "Invite a person",
    description: "Lists a person with a role. `notice` says what the invitation can do now.",
    answers: { 201: "The invitation. Its link is shown in this answer only." },
    example: { email: "ada@example.com", role: "developer", name: "Ada Lovelace" },
    route: "POST /api/v1/users/invite",
    body: strictPayload(InviteUser),
    output: newRecord(Invitation),
    permit: "users:invite",
    audit: auditAction("user.invite"),
    sharing: "hidden",
    scoped: closedToNarrowedKeys,
    noStore: true,
    with: Effect.all([Users, Origin]),
    use: ([users, origin], { context, body }) => Effect.map(users.invite(context, body), invitationView(origin))
  })
] as const

/** The operations of the group `roles`, in the order of the documents. */
export const rolesOperations = [
  ofRoles({
    name: "roles.list",
    summary: "List roles",
    description: "Lists the built-in roles and those of the organisation.",
    answers: { 200: "A page of roles." },
    route: "GET /api/v1/roles",
    query: Schema.Struct(listParams),
    output: page(Role.View),
    permit: "users:read",
    use: (roles, { context, query }) => roles.list(context, query)
  }),
  ofRoles({
    name: "roles.create",
    summary: "Create a role",
    description: "Creates a role with some of the permissions of its parent.",
    answers: { 201: "The role is created." },
    example: { name: "Support", parent: "viewer", permissions: { workflows: ["read"] } },
    route: "POST /api/v1/roles",
    body: strictPayload(CreateRole),
    output: newRecord(Role.View),
    permit: "settings:manage",
    use: (roles, { context, body }) => roles.create(context, body)
  })
] as const
