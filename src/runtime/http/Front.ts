/** The root handler of the server: health, metrics and documents, the surfaces, and the connect pages. */
import { Effect, Option } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import type { Failure } from "../../domain/Failure.js"
import { errorReply, failureReply, methodRow } from "../../http/ErrorRows.js"
import { pathOf, type RawReply, type RawRequest, type RequestHead } from "../../http/Wire.js"
import { make as makeHealth } from "./Health.js"
import { Settings } from "../configuration/Config.js"
import { countRequest, type Surface } from "../telemetry/Metrics.js"
import { make as makeScrape } from "../telemetry/Scrape.js"
import { returnCallersTrace, traceRequest } from "../telemetry/Tracing.js"
import { make as makeDocs } from "./Docs.js"
import type { Handlers } from "./NodeServer.js"
import { Surfaces } from "./Surfaces.js"

export interface Front extends Handlers {
  /** Makes the node report that it is not ready. */
  readonly drain: () => void
  /** Makes the node report that it is not ready until the returned function is called. */
  readonly markStarting: () => () => void
}

/** What answers requests outside the surfaces. */
interface FrontContext {
  readonly identifiers: Identifiers["Type"]
  readonly health: Effect.Effect.Success<typeof makeHealth>
  readonly pageAt: (path: string, request: RequestHead) => Effect.Effect<RawReply> | undefined
  readonly scrape: Effect.Effect<RawReply>
}

/** The page of a path for operators and readers; `undefined` for other paths. */
const operatorPage = (
  { health, scrape, pageAt }: FrontContext,
  request: RawRequest
): Effect.Effect<RawReply> | undefined => {
  const path = pathOf(request.target)
  switch (path) {
    case "/healthz":
      return health.healthz
    case "/readyz":
      return health.readyz
    case "/metrics":
      return scrape
    default:
      return pageAt(path, request)
  }
}

/** Serves a page: refuses other methods, and adds the request's id. */
const servePage = (
  context: FrontContext,
  request: RawRequest,
  page: Effect.Effect<RawReply>
): Effect.Effect<RawReply> => {
  const requestId = context.identifiers.next("req")
  if (request.method !== "GET" && request.method !== "HEAD") {
    const refused = errorReply(methodRow(["GET", "HEAD"]), requestId)
    return Effect.succeed({ ...refused, headers: { ...refused.headers, allow: "GET, HEAD" } })
  }
  return identified(context, page, requestId)
}

/** Adds the request's id to a page. */
const identified = (
  { identifiers }: FrontContext,
  page: Effect.Effect<RawReply>,
  requestId: string = identifiers.next("req")
) => Effect.map(page, (reply) => ({ ...reply, headers: { ...reply.headers, "x-request-id": requestId } }))

export const make = Effect.gen(function* () {
  const { otlpUrl } = yield* Settings
  const identifiers = yield* Identifiers
  const surfaces = yield* Surfaces
  const health = yield* makeHealth
  const { pageAt } = yield* makeDocs
  const { scrape } = yield* makeScrape

  const context: FrontContext = { identifiers, health, pageAt, scrape }

  /** Counts requests and, with a collector, traces them. */
  const observed = Option.isSome(otlpUrl)
    ? (surface: Surface, request: RequestHead, handled: Effect.Effect<RawReply>) =>
        counted(surface, traceRequest(request, handled), (reply) => reply)
    : (surface: Surface, request: RequestHead, handled: Effect.Effect<RawReply>) =>
        counted(surface, handled, (reply) => returnCallersTrace(request, reply))

  return {
    execute: (request, workflow) => observed("execution", request, surfaces.execute(request, workflow)),
    proxy: (request) => observed("resource", request, surfaces.proxy(request)),
    webhook: (request, address) =>
      Effect.map(surfaces.webhook(request, address), (admission) =>
        admission._tag === "Answered"
          ? admission
          : {
              ...admission,
              handle: (body) => observed("webhook", request, admission.handle(body))
            }
      ),
    identify: surfaces.identify,
    addressOf: surfaces.addressOf,
    handle: (request) => {
      const page = operatorPage(context, request)
      const connecting = page === undefined ? surfaces.connectPage(request) : undefined
      if (connecting !== undefined) return observed("resource", request, identified(context, connecting))
      return page === undefined
        ? observed("resource", request, surfaces.handle(request))
        : observed("operator", request, servePage(context, request, page))
    },
    refused: (failure: Failure, execution: boolean) => {
      const reply = failureReply(failure, identifiers.next("req"), 0)
      countRequest(execution ? "execution" : "resource", reply.status, 0)
      return reply
    },
    drain: health.drain,
    markStarting: health.markStarting
  } satisfies Front
})

const counted = (
  surface: Surface,
  handled: Effect.Effect<RawReply>,
  done: (reply: RawReply) => RawReply
): Effect.Effect<RawReply> =>
  Effect.suspend(() => {
    const started = performance.now()
    return Effect.map(handled, (reply) => {
      countRequest(surface, reply.status, performance.now() - started)
      return done(reply)
    })
  })
