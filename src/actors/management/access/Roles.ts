/** Use cases of users' roles: list, and create, change and delete a role with less than another one. Contract: presets and roles. */
import { Effect, Option } from "effect"
import { changeRefusal, grantRefusal } from "../../../domain/access/KeyBounds.js"
import { toSet } from "../../../domain/access/Permission.js"
import { Conflict, type Failure, invalid, refuseWith } from "../../../domain/Failure.js"
import type { RoleId } from "../../../domain/Ids.js"
import {
  builtinRefusal,
  changedRole,
  checkRole,
  type CreateRole,
  newRole,
  Role,
  UpdateRole
} from "../../../domain/access/Person.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { type PageRequest, Pages } from "../Pages.js"
import { findReached } from "../ReachedRecord.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"

const resourceOf = ({ id, name }: Role) => ({ id, name })

/** A role that is the parent of more cannot change: each of them is checked. */
const mostChildren = 1_000

/**
 * Until the transaction ends, no other one gives anybody a role or changes a role of the organisation: so a role that is
 * deleted has no people, no role has more than its parent, and an owner is left.
 */
export const lockPeople = (tx: Tx) => tx.lockKey("people")

/** A role of the organisation that the caller may change. Fails for those that every organisation has. */
const lockOwn = Effect.fnUntraced(function* (
  tx: Tx,
  { caller }: CallContext,
  id: string
): Effect.fn.Return<Role, Failure> {
  yield* lockPeople(tx)
  const role = yield* findReached(tx.roles, caller, "role", { id: id as RoleId }) // unchecked text from the request
  yield* refuseWith(builtinRefusal(role))
  yield* refuseWith(changeRefusal("role", { permissions: toSet(role.permissions), customers: [] }, caller))
  return role
})

const childrenOf = (tx: Tx, { id }: Role, limit: number) => tx.roles.list({ where: { parent: id }, limit })
const conflict = (message: string) => new Conflict({ code: "CONFLICT", message })

/**
 * The role, which may be stored. Fails if it would have more than its parent or the caller, or less than a role that it is
 * the parent of. Every new or changed role passes it.
 */
const checkedRole = Effect.fnUntraced(function* (
  tx: Tx,
  { caller }: CallContext,
  role: Role
): Effect.fn.Return<Role, Failure> {
  if (role.parent !== null) yield* refuseWith(checkRole(role.permissions, yield* findRole(tx, "parent", role.parent)))
  yield* refuseWith(grantRefusal({ permissions: toSet(role.permissions), customers: [] }, caller))
  const children = yield* childrenOf(tx, role, mostChildren + 1)
  if (children.length > mostChildren)
    return yield* conflict(`more than ${mostChildren} roles have it as parent: delete some of them first`)
  const wider = children.find(({ permissions }) => checkRole(permissions, role) !== undefined)
  if (wider !== undefined)
    return yield* conflict(`the role ${wider.name} has permissions that its parent would lose: change that role first`)
  return role
})

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers

  return {
    list: (context: CallContext, params: PageRequest) =>
      read(context, (tx) => pages.views(tx.roles, params, { searchIn: ["name"] }, (one) => Role.show(one))),

    /** Fails if the new role has more permissions than its parent or the caller. */
    create: (context: CallContext, input: CreateRole) =>
      change(context, function* (tx) {
        yield* lockPeople(tx)
        const now = yield* currentTimestamp
        const parent = yield* findRole(tx, "parent", input.parent)
        const id = identifiers.next("role")
        const role = yield* checkedRole(tx, context, newRole(context.caller.organisationId, id, input, parent.id, now))
        yield* tx.roles.insert(role)
        return { value: Role.show(role), resource: resourceOf(role), after: Role.show(role) }
      }),

    /** Whoever has the role has the new permissions within a second. */
    update: (context: CallContext, id: string, input: UpdateRole) =>
      change(context, function* (tx) {
        const before = yield* lockOwn(tx, context, id)
        yield* checkVersion(context, input.version, before.version)
        const shown = Role.show(before)
        const changes = yield* pickChanges(UpdateRole, input, shown)
        const after = changedRole(before, changes, yield* currentTimestamp)
        if (changes.permissions !== undefined) yield* checkedRole(tx, context, after)
        yield* tx.roles.update(after)
        return { value: Role.show(after), resource: resourceOf(after), before: shown, after: Role.show(after) }
      }),

    /** Fails while a person has the role, or another role has it as parent. */
    remove: (context: CallContext, id: string) =>
      change(context, function* (tx) {
        const before = yield* lockOwn(tx, context, id)
        yield* checkVersion(context, undefined, before.version)
        const held = yield* tx.users.count({ roleId: before.id })
        if (held > 0)
          return yield* conflict(
            `${held} ${held === 1 ? "person has" : "people have"} this role: give them another one first`
          )
        const [child] = yield* childrenOf(tx, before, 1)
        if (child !== undefined)
          return yield* conflict(`it is the parent of the role ${child.name}: delete that role first`)
        yield* tx.roles.remove({ id: before.id })
        return { value: undefined, resource: resourceOf(before), before: Role.show(before), after: null }
      })
  }
})

export class Roles extends Effect.Service<Roles>()("svc/Roles", { effect: make }) {}

/** Finds a role by id or name. `path`: the member of the request that names it. */
export const findRole = (tx: Tx, path: string, idOrName: string): Effect.Effect<Role, Failure> =>
  Effect.flatMap(
    // Unchecked text from the request: an id of another form matches no row.
    tx.roles.find(idOrName.startsWith("role_") ? { id: idOrName as RoleId } : { name: idOrName }),
    Option.match({ onNone: () => invalid(path, "NOT_FOUND", "names no role"), onSome: Effect.succeed })
  )
