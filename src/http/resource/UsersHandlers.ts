/** Answers the endpoints of people and roles from their use cases. */
import { Effect, Redacted } from "effect"
import { Roles } from "../../actors/management/Roles.js"
import { type Invitation, Users } from "../../actors/management/Users.js"
import { Current } from "../auth/Authenticated.js"
import { Origin } from "../../actors/ports/Origin.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"
import { invitationNotice } from "./UsersApi.js"

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

export const UsersLive = group(ResourceApi, "users", (handlers) =>
  Effect.map(Effect.all([Users, Origin]), ([users, origin]) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => users.list(exchange, urlParams)))
      .handle("invite", ({ payload }) =>
        Effect.flatMap(Current, (exchange) => users.invite(exchange, payload)).pipe(
          Effect.map(invitationView(origin)),
          inData
        )
      )
  )
)

export const RolesLive = group(ResourceApi, "roles", (handlers) =>
  Effect.map(Roles, (roles) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => roles.list(exchange, urlParams)))
      .handle("create", ({ payload }) => inData(Effect.flatMap(Current, (exchange) => roles.create(exchange, payload))))
  )
)
