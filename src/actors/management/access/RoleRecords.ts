/** Finds roles for use cases. */
import { Effect, Option } from "effect"
import { type Failure, invalid } from "../../../domain/Failure.js"
import type { RoleId } from "../../../domain/Ids.js"
import type { Role } from "../../../domain/access/Person.js"
import type { Tx } from "../../ports/Records.js"

/** Finds a role by id or name. `path`: the member of the request that names it. */
export const findRole = (tx: Tx, path: string, idOrName: string): Effect.Effect<Role, Failure> =>
  Effect.flatMap(
    // Unchecked text from the request: an id of another form matches no row.
    tx.roles.find(idOrName.startsWith("role_") ? { id: idOrName as RoleId } : { name: idOrName }),
    Option.match({ onNone: () => invalid(path, "NOT_FOUND", "names no role"), onSome: Effect.succeed })
  )
