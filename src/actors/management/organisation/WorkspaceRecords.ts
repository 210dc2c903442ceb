/** Finds workspaces for use cases. */
import { nounOf } from "../../../domain/access/CallerKind.js"
import { Effect, Option } from "effect"
import { type Failure, Forbidden, invalid } from "../../../domain/Failure.js"
import type { SpaceId } from "../../../domain/Ids.js"
import type { Workspace } from "../../../domain/organisation/Organisation.js"
import type { Tx } from "../../ports/Records.js"
import type { Principal } from "../Caller.js"
import { findReached } from "../ReachedRecord.js"

// Unchecked text from the request: an id of another form matches no row.
const idOf = (text: string) => text as SpaceId

/** The workspace with this id. `lock`: locks the row until the transaction ends. */
export const findWorkspace = (tx: Tx, caller: Principal, id: string, lock = false): Effect.Effect<Workspace, Failure> =>
  findReached(tx.workspaces, caller, "workspace", { id: idOf(id) }, lock)

const isOrganisationWide = ({ bounds, customers }: Principal): boolean =>
  customers === "all" && bounds.resourceScope.length === 0

/**
 * The workspace of a new key; absent: the caller's own. A narrowed key may not create keys for another workspace, because
 * its scope lies in its own.
 */
export const findKeyWorkspace = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  workspace: string | undefined
): Effect.fn.Return<SpaceId, Failure> {
  if (workspace === undefined || workspace === caller.spaceId) return caller.spaceId
  if (!isOrganisationWide(caller))
    return yield* new Forbidden({
      code: "FORBIDDEN",
      path: "spaceId",
      needs: "WIDER_THAN_CALLER",
      message: `spaceId must be the calling ${nounOf(caller)}'s own workspace: that ${nounOf(caller)} is narrowed to some customers or resources`
    })
  const found = yield* tx.workspaces.find({ id: idOf(workspace) })
  return Option.isSome(found) ? found.value.id : yield* invalid("spaceId", "NOT_FOUND", "names no workspace")
})
