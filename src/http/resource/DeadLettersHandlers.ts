/** Handlers of the dead letter queue on surface C. */
import { Effect } from "effect"
import { DeadLetterQueue } from "../../actors/management/DeadLetterQueue.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `DeadLettersApi`. */
export const DeadLettersLive = groupLayer(ResourceApi, "deadLetters", (handlers) =>
  Effect.map(DeadLetterQueue, (letters) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => letters.list(exchange, urlParams))
      )
      .handle("replayMany", ({ payload }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => letters.replayMany(exchange, payload)))
      )
      .handle("getReplay", ({ path }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => letters.getReplay(exchange, path.rpl)))
      )
      .handle("get", ({ path }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => letters.get(exchange, path.dlq)))
      )
      .handle("replay", ({ path, payload }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => letters.replay(exchange, path.dlq, payload)))
      )
      .handle("discard", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => letters.discard(exchange, path.dlq))
      )
  )
)
