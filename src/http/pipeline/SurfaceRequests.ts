/** Serves the operations of a surface: finds the route of a request and sends it through the pipeline. */
import { Clock, Effect } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { type Failure, NotFound } from "../../domain/Failure.js"
import { rateLimitHeaders } from "../RateLimitHeaders.js"
import { methodRow } from "../ErrorRows.js"
import { pathOf, type RawReply, type RawRequest, type RequestHead } from "../Wire.js"
import { OperationHandlers } from "./OperationHandlers.js"
import type { make as makePipeline, SurfaceRules } from "./Pipeline.js"
import { makeMatcher, type Route } from "./Routes.js"

type Pipeline = Effect.Effect.Success<typeof makePipeline>

/** The reply to a request. */
export interface FoundReply {
  readonly reply: Effect.Effect<RawReply>
  /** Whether an operation gives it, to those who have a key. */
  readonly isRouted: boolean
}

/** Makes the functions that serve a surface. `operations`: of the surface. `otherRoutes`: routes that are served elsewhere; their paths answer 405 and not 404 to other methods. */
export const makeSurfaceRequests = Effect.fnUntraced(function* (
  { recognise, serve }: Pick<Pipeline, "recognise" | "serve">,
  rules: SurfaceRules,
  operations: ReadonlyArray<Route>,
  otherRoutes: ReadonlyArray<Route> = []
) {
  const identifiers = yield* Identifiers
  const handlers = yield* OperationHandlers
  const findRoute = makeMatcher([...operations, ...otherRoutes])

  /** The reply to a request without a route. */
  const replyWithoutRoute = (reply: (requestId: string, now: number) => RawReply): Effect.Effect<RawReply> =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const requestId = identifiers.next("req")
      const refused = reply(requestId, now)
      return {
        ...refused,
        headers: { "x-request-id": requestId, ...rateLimitHeaders(null, now), ...refused.headers }
      }
    })

  const replyNotFound = (meant?: string) =>
    replyWithoutRoute((requestId, now) => rules.failureReply(new NotFound({ what: "path", meant }), requestId, now))

  const replyMethodNotAllowed = (methods: ReadonlyArray<string>) =>
    replyWithoutRoute((requestId) => {
      const allow = methods.join(", ")
      const reply = rules.errorReply(methodRow(methods), requestId)
      return { ...reply, headers: { ...reply.headers, allow } }
    })

  return {
    /** Whether a path has a route, of any method. */
    hasPath: (path: string): boolean => findRoute("GET", path)._tag !== "Unknown",
    /** Whether a request has a route. */
    hasRoute: (method: string, path: string): boolean => findRoute(method, path)._tag === "Found",
    /** The reply to a request that is refused before it is read. */
    refused: (failure: Failure, requestId: string, now: number): RawReply =>
      rules.failureReply(failure, requestId, now),
    find: (request: RawRequest): FoundReply => {
      const found = findRoute(request.method, pathOf(request.target))
      if (found._tag === "OtherMethod") return { isRouted: false, reply: replyMethodNotAllowed(found.methods) }
      const handler = found._tag === "Found" ? handlers.get(found.route) : undefined
      return found._tag === "Unknown" || handler === undefined
        ? { isRouted: false, reply: replyNotFound(found._tag === "Unknown" ? found.meant : undefined) }
        : { isRouted: true, reply: serve({ rules, route: found.route, params: found.params, request }, handler) }
    },
    /** The request's caller, by its head alone. */
    recognise: (request: RequestHead) => {
      const found = findRoute(request.method, pathOf(request.target))
      return recognise(rules, request, found._tag === "Found" ? found.route : undefined)
    }
  }
})
