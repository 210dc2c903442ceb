/** What handlers of the typed API are given of their request: the pipeline provides it. */
import { HttpApiMiddleware } from "@effect/platform"
import { Context } from "effect"
import type { Exchange } from "../pipeline/Exchange.js"

/** The request being handled: its caller and the headers of its reply. */
export class Current extends Context.Tag("svc/Current")<Current, Exchange>() {}

/** Says of a group of endpoints that its handlers have `Current`. */
export class Authenticated extends HttpApiMiddleware.Tag<Authenticated>()("svc/Authenticated", { provides: Current }) {}
