/** Use cases of users: list, and invite by a token, of which only the hash is stored. Contract: users. */
import { DateTime, Effect, Option, Redacted, Schema } from "effect"
import { grantRefusal } from "../../../domain/access/KeyBounds.js"
import { type Failure, invalid, refuseWith } from "../../../domain/Failure.js"
import type { CustomerId, UserId } from "../../../domain/Ids.js"
import { inviteLifetime } from "../../../domain/Limits.js"
import { invitedUser, type InviteUser, User, UserStatus } from "../../../domain/access/Person.js"
import { toSet } from "../../../domain/access/Permission.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { type Principal, reaches } from "../Caller.js"
import { Changes } from "../Changes.js"
import { listQuery, Pages } from "../Pages.js"
import { findRole } from "./Roles.js"

/** An invitation. Whoever has `token` can accept it; it is shown once. */
export interface Invitation {
  readonly userId: UserId
  readonly token: Redacted.Redacted
  /** RFC 3339. */
  readonly expiresAt: string
}

export const UserList = listQuery({ status: Schema.optional(UserStatus) })
type UserList = typeof UserList.Type

const inviteLength = 43

/** Checks the customers that an invitation names; unknown and unreachable ones are refused alike. */
const checkCustomers = (tx: Tx, caller: Principal, ids: ReadonlyArray<string>) =>
  Effect.forEach([...new Set(ids)], (id, i): Effect.Effect<CustomerId, Failure> =>
    Effect.flatMap(
      tx.customers.find({ id: id as CustomerId, deletedAt: null }), // unchecked text from the request
      Option.match({
        onNone: () => invalid(`customerIds[${i}]`, "NOT_FOUND", "names no customer"),
        onSome: (found) =>
          reaches(caller, found.id)
            ? Effect.succeed(found.id)
            : invalid(`customerIds[${i}]`, "NOT_FOUND", "names no customer")
      })
    )
  )

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers
  const digests = yield* Digests

  const invite = Effect.fnUntraced(function* (tx: Tx, caller: Principal, input: InviteUser) {
    const role = yield* findRole(tx, "role", input.role)
    const customerIds = yield* checkCustomers(tx, caller, input.customerIds ?? [])
    const customers = customerIds.length === 0 ? "all" : customerIds
    yield* refuseWith(grantRefusal({ permissions: toSet(role.permissions), customers }, caller))
    const now = yield* DateTime.now
    const token = identifiers.token(inviteLength)
    const expiresAt = DateTime.formatIso(DateTime.addDuration(now, inviteLifetime))
    const user = invitedUser(
      caller.organisationId,
      identifiers.next("usr"),
      input,
      { roleId: role.id, customerIds, inviteHash: digests.keyHash(`invite|${token}`), inviteExpiresAt: expiresAt },
      DateTime.formatIso(now)
    )
    yield* tx.users.insert(user)
    return {
      value: { userId: user.id, token: Redacted.make(token), expiresAt },
      resource: { id: user.id, name: user.email },
      after: User.show(user)
    }
  })

  return {
    list: (context: CallContext, params: UserList) => {
      const query = { filters: { status: params.status }, searchIn: ["email", "name"] as const }
      return read(context, (tx) => pages.views(tx.users, params, query, (one) => User.show(one)))
    },
    /** Fails if the role or the customers exceed the caller's own. */
    invite: (context: CallContext, input: InviteUser) => change(context, (tx) => invite(tx, context.caller, input))
  }
})

export class Users extends Effect.Service<Users>()("svc/Users", { effect: make }) {}
