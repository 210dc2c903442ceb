/** Use cases of users' roles: list, and create a custom role from a wider one. Contract: presets and roles. */
import { Effect, Option } from "effect"
import { type Failure, invalid, refuseWith } from "../../../domain/Failure.js"
import type { RoleId } from "../../../domain/Ids.js"
import { checkRole, type CreateRole, newRole, Role } from "../../../domain/access/Person.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { type PageRequest, Pages } from "../Pages.js"
import { currentTimestamp } from "../Timestamp.js"

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers

  return {
    list: (context: CallContext, params: PageRequest) =>
      read(context, (tx) => pages.views(tx.roles, params, { searchIn: ["name"] }, (one) => Role.show(one))),

    /** Fails if the new role has more permissions than its parent. */
    create: (context: CallContext, input: CreateRole) =>
      change(context, function* (tx) {
        const now = yield* currentTimestamp
        const parent = yield* findRole(tx, "parent", input.parent)
        yield* refuseWith(checkRole(input.permissions, parent))
        const role = newRole(context.caller.organisationId, identifiers.next("role"), input, parent.id, now)
        yield* tx.roles.insert(role)
        return { value: Role.show(role), resource: { id: role.id, name: role.name }, after: Role.show(role) }
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
