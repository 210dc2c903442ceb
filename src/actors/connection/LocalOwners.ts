/**
 * The short way to a connection whose actor lives on this node: its owner is asked in place, without a message. It is
 * the same owner, with the same permits and the same refresh, so all that the actor guarantees holds; whatever is not
 * at hand goes to the actor. A second at most: then what is held of the connector has aged and a message renews it,
 * which is also how the cluster learns that the actor is in use.
 */
import { Clock, Context, Effect, type Either, Layer, Scope } from "effect"
import type { ConnectionId } from "../../domain/Ids.js"
import { Ownership } from "../ports/Ownership.js"
import { authorizeAtOnce, type Asked, type Authorized, settleAtOnce, type GrantSettlement } from "./CallGrant.js"
import type { ConnectionOwner } from "./ConnectionOwner.js"
import type { CommandRefusal } from "./Protocol.js"
import { LastUse } from "./LastUse.js"

export class LocalOwners extends Context.Tag("svc/connection/Residents")<
  LocalOwners,
  {
    /** The owner is found here until the scope, which is its actor's, ends. */
    readonly move: (owner: ConnectionOwner, scope: Scope.Scope) => Effect.Effect<void>
    /** `undefined`: ask the actor. */
    readonly authorize: (
      id: ConnectionId,
      asked: Asked
    ) => Effect.Effect<Either.Either<Authorized, CommandRefusal> | undefined>
    /** `false`: tell the actor. */
    readonly settle: (id: ConnectionId, settlement: GrantSettlement) => Effect.Effect<boolean>
  }
>() {}

export const layer = Layer.effect(
  LocalOwners,
  Effect.gen(function* () {
    const ownership = yield* Ownership
    const uses = yield* LastUse
    const residents = new Map<ConnectionId, ConnectionOwner>()

    /** Never the owner of a shard that this node has lost, however far its actor is with its end. */
    const find = (id: ConnectionId): ConnectionOwner | undefined => {
      const owner = residents.get(id)
      return owner !== undefined && ownership.owns(owner.shard) ? owner : undefined
    }

    return LocalOwners.of({
      move: (owner, scope) =>
        Effect.suspend(() => {
          residents.set(owner.id, owner)
          return Scope.addFinalizer(
            scope,
            Effect.sync(() => {
              // A successor on this node may be there already.
              if (residents.get(owner.id) === owner) residents.delete(owner.id)
            })
          )
        }),
      authorize: (id, asked) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const owner = find(id)
          const answer = owner === undefined ? undefined : authorizeAtOnce(owner, asked, now)
          return answer === undefined ? Effect.succeed(answer) : Effect.as(uses.note(id), answer)
        }),
      settle: (id, settlement) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const owner = find(id)
          const settled = owner === undefined ? undefined : settleAtOnce(owner, settlement, now)
          return settled === undefined ? Effect.succeed(false) : Effect.as(settled, true)
        })
    })
  })
)
