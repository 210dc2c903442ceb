/** Use cases of users: list, read, change, remove, and invite by a token, of which only the hash is stored. Contract: users. */
import { DateTime, Effect, Option, Redacted, Schema } from "effect"
import { changeRefusal, grantRefusal } from "../../../domain/access/KeyBounds.js"
import { type Failure, invalid, InvalidState, refuseWith } from "../../../domain/Failure.js"
import type { CustomerId, UserId } from "../../../domain/Ids.js"
import { inviteLifetime } from "../../../domain/Limits.js"
import {
  changedUser,
  invitedAgain,
  invitedUser,
  type InviteUser,
  lastOwnerRefusal,
  type Role,
  statusRefusal,
  UpdateUser,
  User,
  UserStatus
} from "../../../domain/access/Person.js"
import { toSet } from "../../../domain/access/Permission.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { Origin } from "../../ports/Origin.js"
import type { Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { type Principal, reaches } from "../Caller.js"
import { Changes } from "../Changes.js"
import { listQuery, Pages } from "../Pages.js"
import { findReached } from "../ReachedRecord.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"
import { inviteHash } from "./InvitationAcceptance.js"
import { findRole, lockPeople } from "./Roles.js"
import { SignInMails } from "./SignInMails.js"

/** An invitation. Whoever has `token` can accept it; it is shown once. */
export interface Invitation {
  readonly userId: UserId
  readonly token: Redacted.Redacted
  /** RFC 3339. */
  readonly expiresAt: string
  /** Whether it is also sent by mail. */
  readonly mailed: boolean
}

/** The path of the page on which an invitation is accepted; its token is in the fragment. */
export const invitePath = "/invite"

interface InvitedPerson {
  readonly email: string
  readonly invitation: Invitation
}

const mailText = (link: string, origin: string): string =>
  `You are invited to ${origin}. Open this link within 7 days, and accept:

${link}

It works once. If you do not expect an invitation, do nothing.
`

export const UserList = listQuery({ status: Schema.optional(UserStatus) })
type UserList = typeof UserList.Type

/** Checks the customers that a request names; unknown and unreachable ones are refused alike. */
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

/** Active owners that are read to find one who stays: the newest. */
const ownersRead = 1_000

const resourceOf = ({ email, id }: User) => ({ id, name: email })

/** What a person may do. */
const rightsOf = ({ permissions }: Role, customerIds: User["customerIds"]) => ({
  permissions: toSet(permissions),
  customers: customerIds.length === 0 ? ("all" as const) : customerIds
})

/** A person whom the caller may change. */
const lockUser = Effect.fnUntraced(function* (tx: Tx, caller: Principal, id: string): Effect.fn.Return<User, Failure> {
  yield* lockPeople(tx)
  const user = yield* findReached(tx.users, caller, "user", { id: id as UserId }, true) // unchecked text from the request
  const role = yield* findRole(tx, "roleId", user.roleId)
  yield* refuseWith(changeRefusal("person", rightsOf(role, user.customerIds), caller))
  return user
})

/** Fails if the person is the last active owner for all customers, and `after` (`undefined`: removed) is none. */
const checkOwnerLeft = Effect.fnUntraced(function* (
  tx: Tx,
  before: User,
  after: User | undefined
): Effect.fn.Return<void, Failure> {
  const { id: roleId } = yield* findRole(tx, "roleId", "owner")
  // Who is for some customers only can change nothing that all customers share.
  const isOwner = (user: User | undefined) =>
    user?.roleId === roleId && user.status === "active" && user.customerIds.length === 0
  if (!isOwner(before) || isOwner(after)) return
  const owners = yield* tx.users.list({ where: { roleId, status: "active" }, limit: ownersRead })
  if (!owners.some((one) => one.id !== before.id && isOwner(one))) return yield* lastOwnerRefusal()
})

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers
  const digests = yield* Digests
  const mails = yield* SignInMails
  const origin = yield* Origin

  /** A token, its hash, and when it expires. */
  const makeInvitation = Effect.map(DateTime.now, (now) => {
    const token = identifiers.secret()
    return {
      token: Redacted.make(token),
      hash: inviteHash(digests, token),
      expiresAt: DateTime.formatIso(DateTime.addDuration(now, inviteLifetime)),
      now: DateTime.formatIso(now)
    }
  })

  /** Whether a mail is to be sent, of which there are some an hour. */
  const takeMail = (tx: Tx, { email }: User) => (mails.isConfigured ? tx.takeInviteMail(email) : Effect.succeed(false))

  /** Sends the mail of an invitation that was made. */
  const send = (context: CallContext, { email, invitation }: InvitedPerson) =>
    Effect.as(
      invitation.mailed
        ? mails.send({
            organisationId: context.caller.organisationId,
            to: email,
            subject: "You are invited",
            text: mailText(`${origin}${invitePath}#token=${Redacted.value(invitation.token)}`, origin)
          })
        : Effect.void,
      invitation
    )

  const invite = Effect.fnUntraced(function* (tx: Tx, caller: Principal, input: InviteUser) {
    yield* lockPeople(tx)
    const role = yield* findRole(tx, "role", input.role)
    const customerIds = yield* checkCustomers(tx, caller, input.customerIds ?? [])
    yield* refuseWith(grantRefusal(rightsOf(role, customerIds), caller))
    const { expiresAt, hash, now, token } = yield* makeInvitation
    const user = invitedUser(
      caller.organisationId,
      identifiers.next("usr"),
      input,
      { roleId: role.id, customerIds, inviteHash: hash, inviteExpiresAt: expiresAt },
      now
    )
    yield* tx.users.insert(user)
    yield* tx.noteInviter(user.id, caller.id)
    const mailed = yield* takeMail(tx, user)
    const invitation: Invitation = { userId: user.id, token, expiresAt, mailed }
    return { value: { email: user.email, invitation }, resource: resourceOf(user), after: User.show(user) }
  })

  const inviteAgain = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const before = yield* lockUser(tx, context.caller, id)
      if (before.status !== "invited")
        return yield* new InvalidState({
          state: before.status,
          message: `only who is invited can be invited again: this person is ${before.status}`
        })
      const { expiresAt, hash, now, token } = yield* makeInvitation
      const after = invitedAgain(before, hash, expiresAt, now)
      yield* tx.users.update(after)
      yield* tx.noteInviter(after.id, context.caller.id)
      const mailed = yield* takeMail(tx, after)
      const invitation: Invitation = { userId: after.id, token, expiresAt, mailed }
      return {
        value: { email: after.email, invitation },
        resource: resourceOf(after),
        before: User.show(before),
        after: User.show(after)
      }
    })

  const update = (context: CallContext, id: string, input: UpdateUser) =>
    change(context, function* (tx) {
      const { caller } = context
      const before = yield* lockUser(tx, caller, id)
      yield* checkVersion(context, input.version, before.version)
      const shown = User.show(before)
      const changes = yield* pickChanges(UpdateUser, input, shown, ["lastActiveAt"])
      const role = yield* findRole(tx, "roleId", changes.roleId ?? before.roleId)
      const customerIds =
        changes.customerIds === undefined ? before.customerIds : yield* checkCustomers(tx, caller, changes.customerIds)
      yield* refuseWith(grantRefusal(rightsOf(role, customerIds), caller))
      const after = changedUser(before, changes, { roleId: role.id, customerIds }, yield* currentTimestamp)
      yield* refuseWith(statusRefusal(after))
      yield* checkOwnerLeft(tx, before, after)
      yield* tx.users.update(after)
      return { value: User.show(after), resource: resourceOf(after), before: shown, after: User.show(after) }
    })

  const remove = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const before = yield* lockUser(tx, context.caller, id)
      yield* checkVersion(context, undefined, before.version)
      yield* checkOwnerLeft(tx, before, undefined)
      yield* tx.users.remove({ id: before.id })
      return { value: undefined, resource: resourceOf(before), before: User.show(before), after: null }
    })

  return {
    list: (context: CallContext, params: UserList) => {
      const query = { filters: { status: params.status }, searchIn: ["email", "name"] as const }
      return read(context, (tx) => pages.views(tx.users, params, query, (one) => User.show(one)))
    },
    get: (context: CallContext, id: string) =>
      read(context, (tx) =>
        Effect.map(
          findReached(tx.users, context.caller, "user", { id: id as UserId }), // unchecked text from the request
          (one) => User.show(one)
        )
      ),
    /** Fails if the role or the customers exceed the caller's own. */
    invite: (context: CallContext, input: InviteUser) =>
      Effect.flatMap(
        change(context, (tx) => invite(tx, context.caller, input)),
        (made) => send(context, made)
      ),
    /** Makes a new link, and the one before invalid. */
    inviteAgain: (context: CallContext, id: string) =>
      Effect.flatMap(inviteAgain(context, id), (made) => send(context, made)),
    /** Holds on every node within a second. Fails for whoever may do more than the caller, and for the last owner. */
    update,
    /** As `update`. What the person has made stays. */
    remove
  }
})

export class Users extends Effect.Service<Users>()("svc/Users", { effect: make }) {}
