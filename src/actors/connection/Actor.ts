/**
 * The connection actor: the only owner of a credential in the whole cluster. Its messages run concurrently; only writes
 * (`Owner.writing`) and the refresh are serial, so that a slow provider delays only the calls that need its answer.
 */
import { Entity, Sharding } from "@effect/cluster"
import { Context, Duration, Effect, Layer, Scope } from "effect"
import type { ConnectionId } from "../../domain/Ids.js"
import { make as makeAuthorizing } from "./CallAuthorizer.js"
import { make as makeOrders } from "./Commands.js"
import { layer as candidates } from "./CredentialBuilder.js"
import { layer as probe } from "./CredentialTest.js"
import { layer as proofs } from "./StoredCredentialTest.js"
import { layer as renewal } from "./TokenRefresh.js"
import { layer as sessions } from "./ConnectSessions.js"
import { layer as owners, newOwner, type ConnectionOwner } from "./ConnectionOwner.js"
import { Connection } from "./Protocol.js"
import { LocalOwners } from "./LocalOwners.js"
import { LastUse } from "./LastUse.js"

/** After this time without a message the actor is evicted. Longer than any refresh takes. */
const idleTime = Duration.minutes(1)

export const layer = Layer.unwrapEffect(
  Effect.gen(function* () {
    const calls = yield* makeAuthorizing
    const orders = yield* makeOrders
    const uses = yield* LastUse
    const residents = yield* LocalOwners

    const handlers = (self: ConnectionOwner, scope: Scope.Scope) =>
      Connection.of({
        Authorize: ({ payload }) => Effect.zipLeft(calls.authorize(self, payload, scope), uses.note(self.id)),
        Settle: ({ payload }) =>
          Effect.catchAllCause(calls.settle(self, payload.organisationId, payload, scope), (cause) =>
            Effect.annotateLogs(Effect.logDebug("connection.settle_failed", cause), { connectionId: self.id })
          ),
        CarryOut: ({ payload: { order } }) => {
          switch (order._tag) {
            case "Sign":
              return Effect.map(calls.sign(self, order), (headers) => ({ _tag: "Signed", headers }))
            case "RenewRefused":
              return Effect.map(calls.renewRefused(self, order, scope), (newer) => ({ _tag: "Renewed", newer }))
            default:
              return orders.carryOut(self, order, scope)
          }
        }
      })

    const entity = Effect.flatMap(Entity.CurrentAddress, ({ entityId, shardId }) =>
      Effect.flatMap(Effect.scope, (scope) => {
        // Entities of this kind are addressed by connection ids only.
        const self = newOwner(entityId as string as ConnectionId, shardId.id)
        return Effect.as(residents.move(self, scope), handlers(self, scope))
      })
    )
    const sharding = yield* Sharding.Sharding
    // Every entity keeps the context of its registration and copies it for each message: it holds as little as possible.
    return Layer.scopedDiscard(
      Effect.mapInputContext(
        sharding.registerEntity(Connection, entity, {
          concurrency: "unbounded",
          maxIdleTime: idleTime,
          disableFatalDefects: true
        }),
        (all: Context.Context<Scope.Scope>) => Context.pick(Scope.Scope)(all)
      )
    )
  })
).pipe(
  Layer.provide(sessions),
  Layer.provide(Layer.merge(candidates, proofs)),
  Layer.provide(Layer.merge(probe, renewal)),
  Layer.provide(owners)
)
