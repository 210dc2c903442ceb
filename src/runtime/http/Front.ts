/** The root handler of the server: what needs no key (health, metrics, documents, the panel, connect pages), and the surfaces. */
import { Effect, Option } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import type { Failure } from "../../domain/Failure.js"
import { errorReply, failureReply, methodRow } from "../../http/ErrorRows.js"
import { isGatewayPath } from "../../http/mcp/GatewayAddress.js"
import { pathOf, type RawReply, type RawRequest, type RequestHead } from "../../http/Wire.js"
import { Settings } from "../configuration/Config.js"
import { countRequest, type Surface } from "../telemetry/Metrics.js"
import { returnCallersTrace, traceRequest } from "../telemetry/Tracing.js"
import { make as makeConsole } from "./Console.js"
import { make as makePanel } from "./Panel.js"
import { make as makeDocs } from "./Docs.js"
import type { Recognised } from "./BodyReceiver.js"
import type { Handlers } from "./NodeServer.js"
import { makeProbes } from "./Probes.js"
import { forAnyone, makePublicAnswers, type PublicAnswer } from "./PublicAnswers.js"
import { HeldBytes } from "../../actors/ports/HeldBytes.js"
import type { Observe } from "../../http/rpc/RpcFront.js"
import { makeRpcSockets } from "./rpc/RpcSockets.js"
import { Surfaces } from "./Surfaces.js"

export interface Front extends Handlers {
  /** Gives this reply, which needs no key, to a request that nothing here serves; a refusal to who asks too often. */
  readonly refuseUnserved: (request: RequestHead, reply: Effect.Effect<RawReply>) => Effect.Effect<RawReply>
  /** Makes the node report that it is not ready. */
  readonly drain: () => void
  /** Makes the node report that it is not ready until the returned function is called. */
  readonly markStarting: () => () => void
}

/** An answer without a key, and as what it is counted. */
type OpenAnswer = PublicAnswer & { readonly surface: Surface }

const pageMissing = { status: 404, code: "NOT_FOUND", message: "there is no such page: /docs lists them all" }

/** Refuses other methods than those that read. */
const readOnly = ({ method }: RawRequest, page: Effect.Effect<RawReply>, requestId: string) => {
  if (method === "GET" || method === "HEAD") return page
  const refused = errorReply(methodRow(["GET", "HEAD"]), requestId)
  return Effect.succeed({ ...refused, headers: { ...refused.headers, allow: "GET, HEAD" } })
}

/** Adds the request's id to a page. */
const identified = (page: Effect.Effect<RawReply>, requestId: string) =>
  Effect.map(page, (reply) => ({ ...reply, headers: { ...reply.headers, "x-request-id": requestId } }))

export const make = Effect.gen(function* () {
  const { otlpUrl } = yield* Settings
  const identifiers = yield* Identifiers
  const surfaces = yield* Surfaces
  const { cors } = surfaces
  const clock = yield* Effect.clock
  const { health, probes } = yield* makeProbes(surfaces.addressOf)
  const { pageAt: documentAt } = yield* makeDocs
  const { consoleAt } = yield* makeConsole
  const { entry: panelEntry, panelAt } = yield* makePanel

  /** The answer without a key, other than refusals and webhooks; `undefined` where a key is needed. */
  const openAnswer = (request: RawRequest): OpenAnswer | undefined => {
    const path = pathOf(request.target)
    const requestId = identifiers.next("req")
    const answer = (kind: OpenAnswer["kind"], surface: Surface, reply: Effect.Effect<RawReply>): OpenAnswer => ({
      kind,
      surface,
      reply: identified(reply, requestId),
      refused: (failure, now) => failureReply(failure, requestId, now)
    })
    const probe = probes[path]
    if (probe !== undefined) {
      const { kind, replyTo } = probe
      return answer(kind, "operator", readOnly(request, replyTo(request, requestId), requestId))
    }
    const document = documentAt(path, request) ?? consoleAt(path, request) ?? panelAt(path, request)
    if (document !== undefined) {
      const found = Effect.map(document, (reply) => reply ?? errorReply(pageMissing, requestId))
      return answer("document", "operator", readOnly(request, found, requestId))
    }
    const frame = surfaces.framePage(request, panelEntry)
    const page = frame === undefined ? surfaces.connectPage(request) : readOnly(request, frame, requestId)
    if (page === undefined) return undefined
    const refused: OpenAnswer["refused"] = ({ resetAt }, now) =>
      surfaces.limitedConnectPage(Math.max(1, Math.ceil(resetAt - now / 1000)))
    return { ...answer("page", "resource", page), refused }
  }

  const open = makePublicAnswers(surfaces.addressOf)
  const refuseUnserved: Front["refuseUnserved"] = (request, reply) =>
    open.serve(request, {
      kind: "missing",
      reply,
      refused: (failure, now) => surfaces.refused(failure, request, identifiers.next("req"), now)
    })

  /** Counts requests and, with a collector, traces them. */
  const observed = Option.isSome(otlpUrl)
    ? (surface: Surface, request: RequestHead, handled: Effect.Effect<RawReply>) =>
        counted(surface, traceRequest(request, handled), (reply) => reply)
    : (surface: Surface, request: RequestHead, handled: Effect.Effect<RawReply>) =>
        counted(surface, handled, (reply) => returnCallersTrace(request, reply))

  const refusal = (failure: Failure, request: RequestHead, execution: boolean) => {
    const reply = surfaces.refused(failure, request, identifiers.next("req"), clock.unsafeCurrentTimeMillis())
    countRequest(execution ? "execution" : "resource", reply.status, 0)
    return reply
  }

  /** Answers preflights, each counted for its address; what is none of a named origin is served as usual. */
  const withPreflight = (request: RequestHead, handled: Effect.Effect<RawReply>) => {
    const answer = cors.preflight(request)
    if (answer === undefined) return handled
    const reply = Effect.matchEffect(answer, {
      onFailure: (failure) => Effect.sync(() => refusal(failure, request, false)),
      onSuccess: (found) =>
        found === undefined
          ? handled
          : observed("resource", request, identified(Effect.succeed(found), identifiers.next("req")))
    })
    return open.serve(request, { kind: "preflight", reply, refused: (failure) => refusal(failure, request, false) })
  }

  const recognised = (request: RequestHead): Effect.Effect<Recognised> =>
    !surfaces.isLinked(request)
      ? surfaces.recognise(request)
      : Effect.flatMap(open.exceeded(request, "page"), (failure) =>
          failure === undefined ? surfaces.recognise(request) : Effect.succeed({ _tag: "Failed", failure })
        )

  const handled = (request: RawRequest): Effect.Effect<RawReply> => {
    const answer = openAnswer(request)
    if (answer !== undefined) return observed(answer.surface, request, open.serve(request, answer))
    const { isRouted, reply } = surfaces.find(request)
    const surface = isGatewayPath(pathOf(request.target)) ? "mcp" : "resource"
    return observed(surface, request, isRouted ? reply : refuseUnserved(request, reply))
  }

  const observedCall: Observe = (head, call) => observed("rpc", head, call)
  const rpc = yield* makeRpcSockets({
    ...surfaces.rpc,
    call: (method, opened, payload) => surfaces.rpc.call(method, opened, payload, observedCall),
    serveStreams: (headOf) => surfaces.rpc.serveStreams(headOf, observedCall),
    ledger: yield* HeldBytes
  })

  return {
    execute: (request, called) =>
      cors.share(request, observed("execution", request, surfaces.execute(request, called))),
    proxy: (request) =>
      cors.share(request, withPreflight(request, observed("resource", request, surfaces.proxy(request)))),
    // What a webhook's sender authenticates by is no token of a session.
    webhook: (request, address) =>
      Effect.map(surfaces.webhook(request, address), (admission) =>
        admission._tag === "Answered"
          ? { ...admission, reply: forAnyone(admission.reply) }
          : {
              ...admission,
              handle: (body) => observed("webhook", request, admission.handle(body))
            }
      ),
    refuseUnserved,
    rpc,
    recognise: (request) =>
      Effect.flatMap(recognised(request), (found): Effect.Effect<Recognised> =>
        found._tag === "Refused"
          ? Effect.map(cors.share(request, Effect.succeed(found.reply)), (reply) => ({ ...found, reply }))
          : Effect.succeed(found)
      ),
    addressOf: surfaces.addressOf,
    prepared: ({ method, target }) => {
      if (method !== "GET" || target !== "/healthz") return undefined
      countRequest("operator", health.healthz.status, 0)
      return health.healthz
    },
    handle: (request) => cors.share(request, withPreflight(request, handled(request))),
    refused: (failure, request, execution) =>
      cors.share(
        request,
        Effect.sync(() => refusal(failure, request, execution))
      ),
    drain: health.drain,
    markStarting: health.markStarting
  } satisfies Front
})

const counted = (surface: Surface, handled: Effect.Effect<RawReply>, done: (reply: RawReply) => RawReply) =>
  Effect.suspend(() => {
    const started = performance.now()
    return Effect.map(handled, (reply) => {
      countRequest(surface, reply.status, performance.now() - started)
      return done(reply)
    })
  })
