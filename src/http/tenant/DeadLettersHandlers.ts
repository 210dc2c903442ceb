/** Handlers of a tenant's dead letters on surface B: the use cases of surface C, for one customer. */
import { Effect } from "effect"
import { DeadLetterQueue } from "../../actors/management/DeadLetterQueue.js"
import { inData } from "../Envelope.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { TenantApi } from "./Api.js"
import { makeAsTenant } from "./TenantCaller.js"

/** The handlers of `TenantDeadLettersApi`. */
export const TenantDeadLettersLive = groupLayer(TenantApi, "tenantDeadLetters", (handlers) =>
  Effect.map(Effect.all([DeadLetterQueue, makeAsTenant]), ([letters, asTenant]) =>
    handlers
      .handle("list", ({ path, urlParams }) => asTenant(path.tid, (exchange) => letters.list(exchange, urlParams)))
      .handle("replayMany", ({ path, payload }) =>
        inData(asTenant(path.tid, (exchange) => letters.replayMany(exchange, payload)))
      )
      .handle("getReplay", ({ path }) =>
        inData(asTenant(path.tid, (exchange) => letters.getReplay(exchange, path.rpl)))
      )
      .handle("get", ({ path }) => inData(asTenant(path.tid, (exchange) => letters.get(exchange, path.dlq))))
      .handle("replay", ({ path, payload }) =>
        inData(asTenant(path.tid, (exchange) => letters.replay(exchange, path.dlq, payload)))
      )
      .handle("discard", ({ path }) => asTenant(path.tid, (exchange) => letters.discard(exchange, path.dlq)))
  )
)
