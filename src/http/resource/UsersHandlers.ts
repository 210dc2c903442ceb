/** People are invited by a link of which only the hash is kept; roles narrow the one that they come from. */
import { DateTime, Effect, Option } from "effect"
import { Digests } from "../../actors/ports/Digests.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import type { Tx } from "../../actors/ports/Records.js"
import { grantable } from "../../domain/ApiKey.js"
import { type Failure, invalid } from "../../domain/Failure.js"
import type { CustomerId, RoleId } from "../../domain/Ids.js"
import { inviteLifetime } from "../../domain/Limits.js"
import { checkRole, type InviteUser, type Role, roleView, type User, userView } from "../../domain/Person.js"
import { toMatrix, toSet } from "../../domain/Permission.js"
import { Current } from "../auth/Authenticated.js"
import { type Principal, reaches } from "../../actors/management/Caller.js"
import { Origin } from "../../actors/ports/Origin.js"
import { ResourceApi } from "./Api.js"
import { Changes } from "../../actors/management/Changes.js"
import { Pages } from "../../actors/management/Pages.js"
import { group } from "../pipeline/Dispatch.js"

const inviteLength = 43

/** The role of this id or name. */
const roleOf = (tx: Tx, path: string, named: string): Effect.Effect<Role, Failure> =>
  Effect.flatMap(
    tx.roles.find(named.startsWith("role_") ? { id: named as RoleId } : { name: named }), // any text: no other row matches
    Option.match({ onNone: () => invalid(path, "NOT_FOUND", "names no role"), onSome: Effect.succeed })
  )

const customersOf = (tx: Tx, caller: Principal, ids: ReadonlyArray<string>) =>
  Effect.forEach([...new Set(ids)], (id, i): Effect.Effect<CustomerId, Failure> =>
    Effect.flatMap(
      tx.customers.find({ id: id as CustomerId, deletedAt: null }), // any text: no other row matches
      Option.match({
        onNone: () => invalid(`customerIds[${i}]`, "NOT_FOUND", "names no customer"),
        onSome: (found) =>
          reaches(caller, found.id)
            ? Effect.succeed(found.id)
            : invalid(`customerIds[${i}]`, "NOT_FOUND", "names no customer")
      })
    )
  )

export const UsersLive = group(ResourceApi, "users", (handlers) =>
  Effect.gen(function* () {
    const { change, read: view } = yield* Changes
    const listing = yield* Pages
    const identifiers = yield* Identifiers
    const digests = yield* Digests
    const origin = yield* Origin

    const invite = Effect.fnUntraced(function* (
      tx: Tx,
      caller: Principal,
      input: InviteUser
    ): Effect.fn.Return<User & { readonly token: string; readonly expiresAt: string }, Failure> {
      const role = yield* roleOf(tx, "role", input.role)
      const customerIds = yield* customersOf(tx, caller, input.customerIds ?? [])
      const customers = customerIds.length === 0 ? "all" : customerIds
      const refused = grantable({ permissions: toSet(role.permissions), customers }, caller)
      if (refused !== undefined) return yield* refused
      const now = yield* DateTime.now
      const token = identifiers.token(inviteLength)
      const expiresAt = DateTime.formatIso(DateTime.addDuration(now, inviteLifetime))
      const at = DateTime.formatIso(now)
      return {
        id: identifiers.next("usr"),
        organisationId: caller.organisationId,
        email: input.email,
        name: input.name ?? null,
        roleId: role.id,
        customerIds,
        teams: input.teams ?? [],
        status: "invited",
        inviteHash: digests.keyHash(`invite|${token}`),
        inviteExpiresAt: expiresAt,
        lastActiveAt: null,
        createdAt: at,
        updatedAt: at,
        version: 1,
        token,
        expiresAt
      }
    })

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const { q, status } = urlParams
          const page = yield* view(yield* Current, (tx) =>
            listing.list(tx.users, urlParams, {
              ...(status === undefined ? {} : { where: { status } }),
              ...(q === undefined ? {} : { search: { text: q, in: ["email", "name"] } })
            })
          )
          return { ...page, data: page.data.map(userView) }
        })
      )
      .handle("invite", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const data = yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const { expiresAt, token, ...user } = yield* invite(tx, exchange.caller, payload)
              yield* tx.users.insert(user)
              return {
                value: {
                  userId: user.id,
                  status: "invited" as const,
                  inviteUrl: `${origin}/invite/${token}`,
                  expiresAt
                },
                resource: { id: user.id, name: user.email },
                after: userView(user)
              }
            })
          )
          return { data }
        })
      )
  })
)

export const RolesLive = group(ResourceApi, "roles", (handlers) =>
  Effect.gen(function* () {
    const { change, read: view } = yield* Changes
    const listing = yield* Pages
    const identifiers = yield* Identifiers

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const { q } = urlParams
          const page = yield* view(yield* Current, (tx) =>
            listing.list(tx.roles, urlParams, q === undefined ? {} : { search: { text: q, in: ["name"] } })
          )
          return { ...page, data: page.data.map(roleView) }
        })
      )
      .handle("create", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const now = DateTime.formatIso(yield* DateTime.now)
          const data = yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const parent = yield* roleOf(tx, "parent", payload.parent)
              const wrong = checkRole(payload.permissions, parent)
              if (wrong !== undefined) return yield* wrong
              const role: Role = {
                id: identifiers.next("role"),
                organisationId: exchange.caller.organisationId,
                name: payload.name,
                builtin: false,
                parent: parent.id,
                permissions: toMatrix(toSet(payload.permissions)),
                createdAt: now,
                updatedAt: now,
                version: 1
              }
              yield* tx.roles.insert(role)
              return { value: roleView(role), resource: { id: role.id, name: role.name }, after: roleView(role) }
            })
          )
          return { data }
        })
      )
  })
)
