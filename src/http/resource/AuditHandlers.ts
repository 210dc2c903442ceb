/** Handlers of the audit trail on surface C. */
import { Effect } from "effect"
import { AuditLog } from "../../actors/management/AuditLog.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `AuditApi`. */
export const AuditLive = groupLayer(ResourceApi, "audit", (handlers) =>
  Effect.map(AuditLog, (log) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(CurrentExchange, (exchange) => log.list(exchange, urlParams)))
      .handle("verify", ({ urlParams }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => log.verify(exchange, urlParams)))
      )
  )
)
