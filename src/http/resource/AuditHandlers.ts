/** Answers the endpoints of the audit trail from its use cases. */
import { Effect } from "effect"
import { AuditLog } from "../../actors/management/AuditLog.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

export const AuditLive = group(ResourceApi, "audit", (handlers) =>
  Effect.map(AuditLog, (log) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => log.list(exchange, urlParams)))
      .handle("verify", ({ urlParams }) =>
        inData(Effect.flatMap(Current, (exchange) => log.verify(exchange, urlParams)))
      )
  )
)
