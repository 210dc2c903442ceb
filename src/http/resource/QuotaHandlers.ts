/** Handlers of quotas on surface C. */
import { Effect } from "effect"
import { Quotas } from "../../actors/management/Quotas.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `QuotaApi`. */
export const QuotaLive = groupLayer(ResourceApi, "quota", (handlers) =>
  Effect.map(Quotas, (quotas) =>
    handlers
      .handle("usage", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(quotas.usage(exchange, urlParams)))
      )
      .handle("summary", () => Effect.flatMap(CurrentExchange, (exchange) => inData(quotas.summary(exchange))))
      .handle("daily", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(quotas.daily(exchange, urlParams)))
      )
  )
)
