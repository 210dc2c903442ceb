/** Gives handlers of the typed API the exchange that the pipeline handles. */
import { HttpApiMiddleware } from "@effect/platform"
import { Context } from "effect"
import type { Exchange } from "../pipeline/Exchange.js"

/** The exchange being handled: the caller, the request's head and the headers of the reply. */
export class CurrentExchange extends Context.Tag("svc/CurrentExchange")<CurrentExchange, Exchange>() {}

/** The middleware of every group: its handlers have `CurrentExchange`. */
export class Authenticated extends HttpApiMiddleware.Tag<Authenticated>()("svc/Authenticated", {
  provides: CurrentExchange
}) {}
