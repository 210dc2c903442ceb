/** Gives handlers the exchange that the gate opened for their request. */
import { HttpApiMiddleware, HttpServerRequest } from "@effect/platform"
import { Context, Effect, Layer } from "effect"
import { type Exchange, exchangeOf } from "../Exchange.js"

/** The request being handled: its caller, its bytes, and the headers of its reply. */
export class Current extends Context.Tag("svc/Current")<Current, Exchange>() {}

export class Authenticated extends HttpApiMiddleware.Tag<Authenticated>()("svc/Authenticated", { provides: Current }) {}

/** The gate admits no request without an exchange: one that has none did not come through it. */
export const layer = Layer.succeed(
  Authenticated,
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const exchange = exchangeOf(request)
    return exchange === undefined
      ? Effect.dieMessage("a request reached the API without passing the gate")
      : Effect.succeed(exchange)
  })
)
