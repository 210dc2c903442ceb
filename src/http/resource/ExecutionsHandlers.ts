/** Handlers of execution records on surface C. */
import { Effect } from "effect"
import { ExecutionControl } from "../../actors/management/ExecutionControl.js"
import { ExecutionHistory } from "../../actors/management/ExecutionHistory.js"
import { Digests } from "../../actors/ports/Digests.js"
import { canonicalJson } from "../../domain/Json.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { runClaim } from "../RunClaim.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `ExecutionsApi`. */
export const ExecutionsLive = groupLayer(ResourceApi, "executions", (handlers) =>
  Effect.map(Effect.all([ExecutionHistory, ExecutionControl, Digests]), ([history, control, digests]) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => history.list(exchange, urlParams))
      )
      .handle("get", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(history.get(exchange, path.eid)))
      )
      .handle("cancel", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(control.cancel(exchange, path.eid)))
      )
      .handle("rerun", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* CurrentExchange
          const { caller, replyHeaders, request } = exchange
          const claim = runClaim(digests, caller, request, canonicalJson(exchange.body ?? null))
          if (claim instanceof Error) return yield* claim
          const traceparent = request.headers["traceparent"] ?? null
          const { execution, isRepeated } = yield* control.rerun(exchange, path.eid, { ...payload, claim, traceparent })
          replyHeaders["location"] = `/api/v1/executions/${execution.id}`
          if (isRepeated) replyHeaders["idempotent-replayed"] = "true"
          return { data: execution }
        })
      )
      .handle("fixtures", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(history.fixtures(exchange, path.eid)))
      )
      .handle("logs", ({ path, urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => history.logs(exchange, path.eid, urlParams))
      )
      .handle("blob", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => history.blob(exchange, path.eid, path.id))
      )
  )
)
