/** Draws ids of runs that this node owns. */
import type { ExecutionId } from "../../domain/Ids.js"
import type { Identifiers } from "../ports/Identifiers.js"
import type { Ownership } from "../ports/Ownership.js"

/** Ids that are drawn until one belongs to a shard of this node. */
const idTries = 64

/** An id of a shard that this node owns, if it owns any, so that the run needs no message to another node. */
export const nextOwnedId = (identifiers: Identifiers["Type"], ownership: Ownership["Type"]): ExecutionId => {
  let id = identifiers.next("exec")
  const tries = ownership.isRunner ? idTries : 0
  for (let i = 0; i < tries && !ownership.owns(ownership.shardOf(id)); i++) id = identifiers.next("exec")
  return id
}
