/** Handlers of notifications on surface C. */
import { Effect } from "effect"
import { Notifications } from "../../actors/management/Notifications.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `NotificationsApi`. */
export const NotificationsLive = groupLayer(ResourceApi, "notifications", (handlers) =>
  Effect.map(Notifications, (notifications) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => notifications.list(exchange, urlParams))
      )
      .handle("create", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(notifications.create(exchange, payload)))
      )
      .handle("get", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(notifications.get(exchange, path.ntf)))
      )
      .handle("markRead", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(notifications.markRead(exchange, payload)))
      )
  )
)
