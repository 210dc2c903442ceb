/**
 * The connection actor: the only owner of a credential in the cluster. Its messages run concurrently; only changes
 * (`ConnectionOwner.writeLock`) and the refresh are serial, so that a slow provider delays only the calls that wait for it.
 */
import { Entity, Sharding } from "@effect/cluster"
import { Context, Duration, Effect, Layer, Scope } from "effect"
import type { ConnectionId } from "../../domain/Ids.js"
import { make as makeAuthorizer } from "./CallAuthorizer.js"
import { make as makeCommands } from "./Commands.js"
import { CredentialBuilder } from "./credential/CredentialBuilder.js"
import { CredentialTest } from "./credential/CredentialTest.js"
import { StoredCredentialTest } from "./credential/StoredCredentialTest.js"
import { TokenRefresh } from "./credential/TokenRefresh.js"
import { TokenRequests } from "./credential/TokenRequests.js"
import { ConnectSessions } from "./ConnectSessions.js"
import { ConnectionOwners } from "./ConnectionOwners.js"
import { newOwner, type ConnectionOwner } from "./ConnectionOwner.js"
import { Connection } from "./Protocol.js"
import { LocalOwners } from "./LocalOwners.js"
import { LastUse } from "./LastUse.js"

/** Time without a message after which the actor is evicted. Longer than any refresh. */
const idleTime = Duration.minutes(1)

export const layer = Layer.unwrapEffect(
  Effect.gen(function* () {
    const authorizer = yield* makeAuthorizer
    const commands = yield* makeCommands
    const lastUse = yield* LastUse
    const localOwners = yield* LocalOwners

    const handlers = (self: ConnectionOwner, scope: Scope.Scope) =>
      Connection.of({
        Authorize: ({ payload }) => Effect.zipLeft(authorizer.grant(self, payload, scope), lastUse.record(self.id)),
        Settle: ({ payload }) =>
          Effect.catchAllCause(authorizer.settle(self, payload.organisationId, payload, scope), (cause) =>
            Effect.annotateLogs(Effect.logDebug("connection.settle_failed", cause), { connectionId: self.id })
          ),
        Execute: ({ payload: { command } }) => {
          switch (command._tag) {
            case "Sign":
              return Effect.map(authorizer.sign(self, command), (headers) => ({ _tag: "Signed", headers }))
            case "RenewRefused":
              return Effect.map(authorizer.renewRefused(self, command, scope), (newer) => ({ _tag: "Renewed", newer }))
            default:
              return commands.execute(self, command, scope)
          }
        }
      })

    const entity = Effect.flatMap(Entity.CurrentAddress, ({ entityId, shardId }) =>
      Effect.flatMap(Effect.scope, (scope) => {
        // Entities of this kind are addressed by connection ids only.
        const self = newOwner(entityId as string as ConnectionId, shardId.id)
        return Effect.as(localOwners.register(self, scope), handlers(self, scope))
      })
    )
    const sharding = yield* Sharding.Sharding
    // Every entity keeps the context of its registration and copies it for each message, so it is kept small.
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
  Layer.provide(ConnectSessions.Default),
  Layer.provide(Layer.merge(CredentialBuilder.Default, StoredCredentialTest.Default)),
  Layer.provide(Layer.merge(CredentialTest.Default, TokenRefresh.Default)),
  Layer.provide(TokenRequests.Default),
  Layer.provide(ConnectionOwners.Default)
)
