/** The operations on people and roles. Specification: Surface C; contract: presets and roles. */
import { Schema, Effect, Redacted } from "effect"
import { CreateRole, InviteUser, Role, UpdateRole, UpdateUser, User } from "../../../domain/access/Person.js"
import { auditAction } from "../../operation/Contract.js"
import { operationsOf } from "../../operation/Operation.js"
import { closedToNarrowedKeys } from "../../ClosedScope.js"
import { Time } from "../../Shapes.js"
import { listParams } from "../../../actors/management/Pages.js"
import { putPayload, strictPayload } from "../../PayloadSchema.js"
import { Roles } from "../../../actors/management/access/Roles.js"
import { type Invitation, invitePath, UserList, Users } from "../../../actors/management/access/Users.js"
import { Origin } from "../../../actors/ports/Origin.js"
import { empty, newRecord, page, record } from "../../operation/Output.js"

/** The answer to an invitation, the only one that has its link. */
const Invitation = Schema.Struct({
  userId: Schema.String,
  status: Schema.Literal("invited"),
  inviteUrl: Schema.String,
  expiresAt: Time,
  mailed: Schema.Boolean.annotations({
    description: "whether the link is also sent to the address; otherwise it is passed on by hand"
  })
}).annotations({ identifier: "Invitation" })

const invitationView =
  (origin: string) =>
  ({ expiresAt, mailed, token, userId }: Invitation) => ({
    userId,
    status: "invited" as const,
    inviteUrl: `${origin}${invitePath}#token=${Redacted.value(token)}`,
    expiresAt,
    mailed
  })

const parameters = { uid: "The id of the person." }

const ofUsers = operationsOf({
  parameters,
  with: Users,
  resource: "user",
  sharing: "hidden",
  scoped: closedToNarrowedKeys
})

/** The operations that make the link of an invitation. */
const ofInvitations = operationsOf({
  parameters,
  with: Effect.all([Users, Origin]),
  resource: "user",
  audit: auditAction("user.invite"),
  sharing: "hidden",
  scoped: closedToNarrowedKeys,
  permit: "users:invite",
  noStore: true
})

const ofRoles = operationsOf({
  parameters: { rid: "The id of the role." },
  with: Roles,
  resource: "role",
  sharing: "hidden",
  scoped: {}
})

/** The operations of the group `users`, in the order of the documents. */
export const usersOperations = [
  ofUsers({
    name: "users.list",
    summary: "List people",
    description: "Lists the people of the organisation with their roles.",
    answers: { 200: "A page of people." },
    route: "GET /api/v1/users",
    query: UserList,
    output: page(User.View),
    permit: "users:read",
    scoped: {},
    use: (users, { context, query }) => users.list(context, query)
  }),
  ofInvitations({
    name: "users.invite",
    summary: "Invite a person",
    description:
      "Lists a person with a role, who signs in with the link of the answer: once, within 7 days. With `SVC_SMTP_URL` it is also sent to the address, once an hour for an address and 100 times for an organisation.",
    answers: { 201: "The invitation. Its link is shown in this answer only." },
    example: { email: "ada@example.com", role: "developer", name: "Ada Lovelace" },
    route: "POST /api/v1/users/invite",
    body: strictPayload(InviteUser),
    output: newRecord(Invitation),
    use: ([users, origin], { context, body }) => Effect.map(users.invite(context, body), invitationView(origin))
  }),
  ofUsers({
    name: "users.get",
    summary: "Read a person",
    description: "Reads a person of the organisation.",
    answers: { 200: "The person." },
    route: "GET /api/v1/users/:uid",
    output: record(User.View),
    permit: "users:read",
    scoped: {},
    use: (users, { context, path }) => users.get(context, path.uid)
  }),
  ofUsers({
    name: "users.update",
    summary: "Change a person",
    description:
      "Changes the members that are sent. It holds everywhere within a second. Nobody grants more than they have, or changes who has more; of the owners one stays (`LAST_OWNER`).",
    answers: { 200: "The person after the change." },
    example: { roleId: "operator" },
    route: "PUT /api/v1/users/:uid",
    body: putPayload(UpdateUser, User.View),
    output: record(User.View),
    permit: "users:update",
    use: (users, { context, path, body }) => users.update(context, path.uid, body)
  }),
  ofUsers({
    name: "users.remove",
    summary: "Remove a person",
    description:
      "Removes a person, who can do nothing in the organisation any more within a second. What the person has made stays. The last owner cannot be removed (`LAST_OWNER`).",
    answers: { 204: "The person is removed." },
    route: "DELETE /api/v1/users/:uid",
    output: empty,
    permit: "users:remove",
    use: (users, { context, path }) => users.remove(context, path.uid)
  }),
  ofInvitations({
    name: "users.inviteAgain",
    summary: "Invite a person again",
    description: "Makes a new link for who is invited. The link before is not valid any more.",
    answers: { 200: "The invitation. Its link is shown in this answer only." },
    route: "POST /api/v1/users/:uid/invite",
    output: record(Invitation),
    use: ([users, origin], { context, path }) =>
      Effect.map(users.inviteAgain(context, path.uid), invitationView(origin))
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
    description: "Creates a role with some of the permissions of its parent, and of the caller.",
    answers: { 201: "The role is created." },
    example: { name: "Support", parent: "viewer", permissions: { workflows: ["read"] } },
    route: "POST /api/v1/roles",
    body: strictPayload(CreateRole),
    output: newRecord(Role.View),
    permit: "settings:manage",
    use: (roles, { context, body }) => roles.create(context, body)
  }),
  ofRoles({
    name: "roles.update",
    summary: "Change a role",
    description:
      "Changes a role of the organisation: at most to the permissions of its parent, and of the caller. Whoever has the role has its permissions within a second. Built-in roles stay as they are.",
    answers: { 200: "The role after the change." },
    example: { name: "Support", permissions: { workflows: ["read"] } },
    route: "PUT /api/v1/roles/:rid",
    body: putPayload(UpdateRole, Role.View),
    output: record(Role.View),
    permit: "settings:manage",
    use: (roles, { context, path, body }) => roles.update(context, path.rid, body)
  }),
  ofRoles({
    name: "roles.delete",
    summary: "Delete a role",
    description: "Deletes a role of the organisation that nobody has, and that is no other role's parent.",
    answers: { 204: "The role is deleted." },
    route: "DELETE /api/v1/roles/:rid",
    output: empty,
    permit: "settings:manage",
    use: (roles, { context, path }) => roles.remove(context, path.rid)
  })
] as const
