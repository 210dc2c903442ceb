/** Handlers of people and roles on surface C. */
import { Effect, Redacted } from "effect"
import { Roles } from "../../actors/management/Roles.js"
import { type Invitation, Users } from "../../actors/management/Users.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { Origin } from "../../actors/ports/Origin.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
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

/** The handlers of `UsersApi`. */
export const UsersLive = groupLayer(ResourceApi, "users", (handlers) =>
  Effect.map(Effect.all([Users, Origin]), ([users, origin]) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(CurrentExchange, (exchange) => users.list(exchange, urlParams)))
      .handle("invite", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => users.invite(exchange, payload)).pipe(
          Effect.map(invitationView(origin)),
          inData
        )
      )
  )
)

/** The handlers of `RolesApi`. */
export const RolesLive = groupLayer(ResourceApi, "roles", (handlers) =>
  Effect.map(Roles, (roles) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(CurrentExchange, (exchange) => roles.list(exchange, urlParams)))
      .handle("create", ({ payload }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => roles.create(exchange, payload)))
      )
  )
)
