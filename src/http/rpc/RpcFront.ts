/**
 * The typed RPC: the methods of `RpcMethods` over the connections of a server. Each call takes the pipeline of the
 * REST surfaces, with the credential that its connection was opened with. Streams are served by the library's server;
 * calls are not: it would decode and encode them again, in two more fibers. Specification: typed RPC.
 */
import { Rpc, RpcGroup, RpcServer } from "@effect/rpc"
import { Cause, Clock, Context, Effect, Either, type Mailbox, Schema, type Scope } from "effect"
import { HeldBytes } from "../../actors/ports/HeldBytes.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { RunEnds } from "../../actors/management/run/RunEnds.js"
import type { OpenWatch } from "../../actors/management/watch/Watcher.js"
import { Watches } from "../../actors/management/watch/Watches.js"
import { type Failure, Forbidden, InvalidRequest } from "../../domain/Failure.js"
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { connectedCall } from "../../domain/Limits.js"
import { defectRow, failureReply } from "../ErrorRows.js"
import type { make as makeExecute } from "../execution/Execute.js"
import { bufferBody } from "../execution/BufferedBody.js"
import { type make as makeProxy, timeoutOf } from "../execution/Proxy.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { OperationHandlers } from "../pipeline/OperationHandlers.js"
import { defaultRules, type make as makePipeline } from "../pipeline/Pipeline.js"
import { jsonReply, type RawReply, type RecognisedCaller, type RequestHead } from "../Wire.js"
import { awaitMethod, isStream, type RpcMethod, rpcMethods } from "./RpcMethods.js"
import { askedBy, type AskedOperation, connectionHeaders } from "./RpcRequest.js"
import {
  answerOf,
  failureIn,
  type ProviderBodyTerms,
  providerValue,
  recordedOutcome,
  type RpcAnswer,
  rpcFailure,
  rpcRules,
  runSurface,
  startSurface
} from "./RpcReplies.js"
import { rpcBounds, watchItems } from "./RpcWatch.js"
import { ownerOfAccount } from "../../domain/share/ShareOwner.js"

/** Where the connections of the typed RPC are opened. */
export const rpcPath = "/api/v1/rpc"

type Ways = Pick<Effect.Effect.Success<typeof makePipeline>, "serve" | "recognise"> &
  Pick<Effect.Effect.Success<typeof makeExecute>, "execute"> &
  Pick<Effect.Effect.Success<typeof makeProxy>, "proxy">

/** Counts the calls, as requests are counted. */
export type Observe = (head: RequestHead, call: Effect.Effect<RawReply>) => Effect.Effect<RawReply>

/** A call, or what of it is left. */
export interface RpcCall {
  /** Whether it is broken off when its client leaves: what changes something goes on. */
  readonly endsWithClient: boolean
  /** Comes to the answer, or to what follows. */
  readonly work: Effect.Effect<RpcAnswer | RpcCall>
}

export interface RpcFront {
  /** The caller who opens a connection, or the reply that refuses it; asked again while the connection is open. */
  readonly admit: (head: RequestHead) => Effect.Effect<RecognisedCaller | RawReply>
  /** A call of a method that is no stream. `opened`: the request that opened its connection. */
  readonly call: (method: RpcMethod, opened: RequestHead, payload: unknown, observe: Observe) => RpcCall
  /** Serves streams until it is interrupted. `headOf`: the request that opened a connection. */
  readonly serveStreams: (
    headOf: (connectionId: number) => RequestHead,
    observe: Observe
  ) => Effect.Effect<never, never, RpcServer.Protocol>
  /** A failure as clients get it. */
  readonly failureOf: (failure: Failure) => unknown
}

const unknownValues = { payload: Schema.Unknown, success: Schema.Unknown, error: Schema.Unknown }

const noBody = new Uint8Array()

/** The payload of the await that follows a start. */
const awaited = ({ headers }: RawReply, payload: unknown): JsonObject => {
  const { customer = null, user = null } = payload as JsonObject
  return { customer, user, id: headers["x-svc-execution-id"] ?? "" }
}

/** The provider has as long to end its answer as it had to begin it. */
const bodyTerms = ({ caller, request, subject }: Exchange): ProviderBodyTerms => ({
  connector: subject?.name ?? "",
  timeoutMillis: Either.getOrElse(timeoutOf(request), () => connectedCall.proxyMillis),
  owner: ownerOfAccount(caller)
})

/** Where a watch continues; `undefined`: it begins. */
const cursorIn = (payload: unknown): Either.Either<string | undefined, InvalidRequest> => {
  const cursor = isObject(payload as Json) ? (payload as JsonObject)["cursor"] : undefined
  return cursor === undefined || cursor === null || typeof cursor === "string"
    ? Either.right(cursor || undefined)
    : Either.left(new InvalidRequest({ code: "INVALID_REQUEST", message: "cursor must be a text" }))
}

/** The streams without their types: each operation decodes its own input. */
const streams = [...rpcMethods].filter(([, method]) => isStream(method))
const group = RpcGroup.make(...streams.map(([name]) => Rpc.make(name, { ...unknownValues, stream: true })))

/** Makes the front of the node. */
export const make = Effect.fnUntraced(function* ({ execute, proxy, recognise, serve }: Ways) {
  const handlers = yield* OperationHandlers
  const identifiers = yield* Identifiers
  const ledger = yield* HeldBytes
  const runEnds = yield* RunEnds
  const watches = yield* Watches
  const clock = yield* Effect.clock

  const failureOf = (failure: Failure) => rpcFailure(failure, identifiers.next("req"), clock.unsafeCurrentTimeMillis())

  // --- What handles a request in the pipeline ---

  const handlerOf =
    ({ contract, kind }: RpcMethod, { params, request }: AskedOperation) =>
    (exchange: Exchange): Effect.Effect<RawReply, unknown> => {
      switch (kind) {
        case "start":
          return execute(exchange, request, startSurface)
        case "run":
          return execute(exchange, request, runSurface)
        case "await":
          return Effect.map(runEnds.awaitEnd(exchange, params["eid"] ?? ""), recordedOutcome)
        case "proxy":
          return Effect.flatMap(proxy(exchange, bufferBody(request.body)), (answer) =>
            Effect.map(providerValue(ledger, bodyTerms(exchange), answer), (value) => jsonReply(200, value))
          )
        default: {
          const operation = handlers.get(contract)
          return operation === undefined
            ? Effect.die(new Error(`${contract.path} has no handler`))
            : operation(exchange)
        }
      }
    }

  /** Sends a request through the pipeline; one that cannot be read is refused there, so that it counts as every other. */
  const throughPipeline = (
    method: RpcMethod,
    head: RequestHead,
    asked: Either.Either<AskedOperation, Failure>,
    handle: (asked: AskedOperation) => (exchange: Exchange) => Effect.Effect<RawReply, unknown>
  ): Effect.Effect<RawReply> =>
    Either.match(asked, {
      onLeft: (mistake) =>
        serve({ rules: rpcRules, route: method.contract, params: {}, request: { ...head, body: noBody } }, () =>
          Effect.fail(mistake)
        ),
      onRight: (found) =>
        serve({ rules: rpcRules, route: found.contract, params: found.params, request: found.request }, handle(found))
    })

  // --- Calls and streams ---

  /** The answer to what failed by a mistake of the service. */
  const replyToDefect = (defect: unknown): Effect.Effect<RawReply> => {
    const requestId = identifiers.next("req")
    const reply = rpcRules.errorReply(defectRow, requestId)
    return Effect.as(Effect.annotateLogs(Effect.logError("rpc.failed", Cause.die(defect)), { requestId }), reply)
  }

  const heads = new WeakMap<RequestHead, RequestHead>()
  /** The same for all messages of a connection. */
  const headOfMessages = (opened: RequestHead): RequestHead => {
    const head = heads.get(opened) ?? { ...opened, headers: connectionHeaders(opened.headers) }
    heads.set(opened, head)
    return head
  }

  const call: RpcFront["call"] = (method, opened, payload, observe) => {
    const head = headOfMessages(opened)
    const work = Effect.suspend(() => {
      const asked = askedBy(method, head, payload)
      const served = throughPipeline(method, head, asked, (found) => handlerOf(method, found))
      return Effect.map(observe(head, served), (reply) =>
        // The run goes on after the answer to its start.
        method.kind === "run" && reply.status === 202
          ? call(awaitMethod, opened, awaited(reply, payload), observe)
          : answerOf(method, reply)
      )
    })
    return {
      endsWithClient: method.kind === "proxy" || method.contract.method === "GET",
      work: Effect.catchAllDefect(work, (defect) =>
        Effect.map(replyToDefect(defect), (reply) => answerOf(method, reply))
      )
    }
  }

  const watch = (
    method: RpcMethod,
    topic: string,
    head: RequestHead,
    payload: unknown,
    observe: Observe
  ): Effect.Effect<Mailbox.ReadonlyMailbox<unknown, unknown>, unknown, Scope.Scope> =>
    Effect.gen(function* () {
      let opened: OpenWatch | undefined
      const cursor = cursorIn(payload)
      const asked = Either.flatMap(askedBy(method, head, payload), (found) => Either.map(cursor, () => found))
      const open = (exchange: Exchange) =>
        Effect.map(watches.open(exchange, topic, Either.getOrUndefined(cursor), rpcBounds), (found) => {
          opened = found
          return jsonReply(200, null)
        })
      const reply = yield* observe(
        head,
        throughPipeline(method, head, asked, () => open)
      )
      return opened === undefined
        ? yield* Effect.fail(failureIn(reply))
        : yield* watchItems(opened, watches.positionText, failureOf)
    }).pipe(
      Effect.catchAllDefect((defect) => Effect.flatMap(replyToDefect(defect), (reply) => Effect.fail(failureIn(reply))))
    )

  return {
    failureOf,
    admit: (head) => {
      if ((head.headers["origin"] ?? "") === "") return recognise({ ...defaultRules, isOpenToPages: false }, head)
      const refusal = new Forbidden({
        code: "FORBIDDEN",
        message: "pages of a browser cannot open this connection, which needs a key that they must not have"
      })
      return Effect.map(Clock.currentTimeMillis, (now) => failureReply(refusal, identifiers.next("req"), now))
    },
    call,
    serveStreams: (headOf, observe) => {
      const answers = Object.fromEntries(
        streams.flatMap(([name, method]) => {
          const { kind } = method
          return typeof kind === "object"
            ? [
                [
                  name,
                  (payload: unknown, { clientId }: { readonly clientId: number }) =>
                    watch(method, kind.topic, headOfMessages(headOf(clientId)), payload, observe)
                ]
              ]
            : []
        })
      )
      return Effect.flatMap(RpcServer.Protocol, (protocol) =>
        Effect.flatMap(group.toHandlersContext(answers as never), (context) =>
          RpcServer.make(group, { disableTracing: true, disableFatalDefects: true }).pipe(Effect.provide(context))
        ).pipe(
          // What is provided to a call is copied with it: handlers have what they need, and need none of the program's services.
          Effect.mapInputContext(() => Context.make(RpcServer.Protocol, protocol))
        )
      )
    }
  } satisfies RpcFront
})
