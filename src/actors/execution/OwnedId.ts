/** Draws ids of runs whose shard is at hand. */
import type { ExecutionId } from "../../domain/Ids.js"
import type { Identifiers } from "../ports/Identifiers.js"
import type { Ownership } from "../ports/Ownership.js"

/** Ids that are drawn until one belongs to such a shard. */
const idTries = 64

/**
 * An id of a shard that this node owns, if it owns any, so that the run needs no message to another node; and of none that
 * moves, where the run would wait for its next owner.
 */
export const nextOwnedId = (identifiers: Identifiers["Type"], ownership: Ownership["Type"]): ExecutionId => {
  let id = identifiers.next("exec")
  for (let tries = 0; tries < idTries && !isAtHand(ownership, ownership.shardOf(id)); tries++)
    id = identifiers.next("exec")
  return id
}

const isAtHand = ({ isMoving, isRunner, owns }: Ownership["Type"], shard: number): boolean =>
  (!isRunner || owns(shard)) && !isMoving(shard)
