/**
 * The connection actor: the one owner of a credential in the whole cluster. Messages run beside one another; what must
 * not is in `Owner.writing` and the one refresh under way, so that a slow provider delays only who needs its answer.
 */
import { Entity } from "@effect/cluster"
import { Duration, Effect, Layer } from "effect"
import type { ConnectionId } from "../../domain/Ids.js"
import { make as makeAuthorizing } from "./Authorizing.js"
import { make as makeOrders } from "./Orders.js"
import { layer as owners, owner } from "./Owner.js"
import { Connection } from "./Protocol.js"
import type { SessionOptions } from "./Sessions.js"
import { Uses } from "./Uses.js"

/** Longer than any refresh takes; then it leaves memory until somebody asks again. */
const idleTime = Duration.minutes(1)

export const layer = (options: SessionOptions) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const calls = yield* makeAuthorizing
      const orders = yield* makeOrders(options)
      const uses = yield* Uses

      return Connection.toLayer(
        Effect.gen(function* () {
          const { entityId } = yield* Entity.CurrentAddress
          const scope = yield* Effect.scope
          // Entities of this kind are addressed by connection ids only.
          const self = owner(entityId as string as ConnectionId)
          const quietly = <A, E>(effect: Effect.Effect<A, E>) =>
            Effect.catchAllCause(effect, (cause) => Effect.logDebug(`The connection ${self.id} did nothing`, cause))

          return Connection.of({
            Authorize: ({ payload }) => Effect.zipLeft(calls.authorize(self, payload, scope), uses.note(self.id)),
            Settle: ({ payload }) => quietly(calls.settle(self, payload.organisationId, payload, scope)),
            Sign: ({ payload }) => calls.sign(self, payload),
            Create: ({ payload }) => orders.create(self, payload),
            StoreCredential: ({ payload }) => orders.storeCredential(self, payload),
            Reconnect: ({ payload }) => orders.reconnect(self, payload),
            Test: ({ payload }) => orders.test(self, payload, scope),
            Refresh: ({ payload }) => orders.refresh(self, payload, scope),
            Enable: ({ payload }) => orders.enable(self, payload),
            Disable: ({ payload }) => Effect.asVoid(orders.disable(self, payload)),
            Edit: ({ payload }) => Effect.asVoid(orders.edit(self, payload)),
            Reveal: ({ payload }) => orders.reveal(self, payload),
            Disconnect: ({ payload }) => orders.disconnect(self, payload),
            Submit: ({ payload }) => orders.submit(self, payload),
            Complete: ({ payload }) => orders.complete(self, payload),
            Look: ({ payload }) => quietly(orders.look(self, payload.organisationId, scope)),
            Abandon: ({ payload }) => quietly(orders.abandon(self, payload.organisationId))
          })
        }),
        { concurrency: "unbounded", maxIdleTime: idleTime, disableFatalDefects: true }
      )
    })
  ).pipe(Layer.provide(owners))
