/**
 * Fast path: calls the connection's owner in process, without a message, when it lives on this node and its cached state
 * suffices; anything else goes to the actor. The owner is the actor's own, so the actor's guarantees hold. The cached
 * connector expires after a second, so that an actor in use still gets messages and is not evicted as idle.
 */
import { Clock, Effect, Scope } from "effect"
import type { ConnectionId } from "../../domain/Ids.js"
import { InPlace } from "../ports/InPlace.js"
import { Ownership } from "../ports/Ownership.js"
import type { GrantRequest, GrantSettlement } from "../ports/connection/Connections.js"
import { tryGrant, trySettle } from "./CallGrant.js"
import type { ConnectionOwner } from "./ConnectionOwner.js"
import { LastUse } from "./LastUse.js"

const make = Effect.gen(function* () {
  const ownership = yield* Ownership
  const uses = yield* LastUse
  const inPlace = yield* InPlace
  const owners = new Map<ConnectionId, ConnectionOwner>()

  /** The owner, unless this node has lost the shard, even when the actor has not yet ended. */
  const find = (id: ConnectionId): ConnectionOwner | undefined => {
    const owner = owners.get(id)
    return inPlace && owner !== undefined && ownership.owns(owner.shard) ? owner : undefined
  }

  return {
    /** Registers an actor's owner until the actor's scope closes. */
    register: (owner: ConnectionOwner, scope: Scope.Scope) =>
      Effect.suspend(() => {
        owners.set(owner.id, owner)
        return Scope.addFinalizer(
          scope,
          Effect.sync(() => {
            // A new actor on this node may have registered its owner already.
            if (owners.get(owner.id) === owner) owners.delete(owner.id)
          })
        )
      }),
    /** `undefined`: the caller must ask the actor. */
    tryGrant: (id: ConnectionId, request: GrantRequest) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const owner = find(id)
        const answer = owner === undefined ? undefined : tryGrant(owner, request, now)
        return answer === undefined ? Effect.succeed(answer) : Effect.as(uses.record(id), answer)
      }),
    /** `false`: the caller must send the settlement to the actor. */
    trySettle: (id: ConnectionId, settlement: GrantSettlement) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const owner = find(id)
        const settled = owner === undefined ? undefined : trySettle(owner, settlement, now)
        return settled === undefined ? Effect.succeed(false) : Effect.as(settled, true)
      })
  }
})

export class LocalOwners extends Effect.Service<LocalOwners>()("svc/connection/LocalOwners", { effect: make }) {}
