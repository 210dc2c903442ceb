/**
 * The HTTP server on node:http. It reads each body into memory, up to the limit of its path; larger ones are refused by
 * their head or while they arrive. Requests of the proxy are passed on at their head, with a streamed body.
 * See `BodyReceiver` and `IncomingBody`.
 */
import { Context, Duration, Effect, FiberId, Runtime, type Scope } from "effect"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Server as NetServer } from "node:net"
import type { Duplex } from "node:stream"
import type { HeldBytes } from "../../actors/ports/HeldBytes.js"
import { type Failure, InvalidRequest, PayloadTooLarge, Unavailable } from "../../domain/Failure.js"
import { bodyBytes, headerBytes, headerDeadline, incomingConnections } from "../../domain/Limits.js"
import { subscriberOf } from "../../http/auth/RefusalCounters.js"
import { type CalledWorkflow, calledWorkflow } from "../../http/execution/CalledWorkflow.js"
import { proxyPrefix } from "../../http/execution/Proxy.js"
import {
  type IncomingRequest,
  pathOf,
  type RawReply,
  type RawRequest,
  type RecognisedCaller,
  type RequestHead
} from "../../http/Wire.js"
import { portRefusal } from "../process/Port.js"
import type { OperatorError } from "../process/OperatorError.js"
import { answerSocket, refuse, refuseUpgrade, type Rest, write } from "./Answer.js"
import type { WebhookAddress, WebhookAdmission } from "../../http/webhook/Receive.js"
import { IncomingConnections } from "./IncomingConnections.js"
import { IncomingBody } from "./IncomingBody.js"
import { brokenBy, headOf, malformedAnswer, mistakeIn } from "./IncomingHead.js"
import { inflateBody } from "./Inflate.js"
import { rpcPath } from "../../http/rpc/RpcFront.js"
import type { RpcSockets } from "./rpc/RpcSockets.js"
import { endServing, stopAccepting, stopServer } from "./ServerEnd.js"
import { asksForWebSocket, goOnReading, readAhead, serveAsUsual } from "./Upgrade.js"
import { EndlessReplies } from "./EndlessReplies.js"
import { OpenReplies, type OpenReply } from "./OpenReplies.js"
import { RequestGate } from "./RequestGate.js"
import { UnreadReplies } from "./UnreadReplies.js"
import { declaredLength, hasBody, type Recognised, BodyReceiver, takeForBody } from "./BodyReceiver.js"
import { ownerOfAddress } from "../../domain/share/ShareOwner.js"

export interface Handlers {
  /** `POST …/execute`, `POST …/run`, and `POST /{flow_name}`. */
  readonly execute: (request: RawRequest, called: CalledWorkflow) => Effect.Effect<RawReply>
  /** Requests of the proxy, called at their head. */
  readonly proxy: (request: IncomingRequest) => Effect.Effect<RawReply>
  /** Requests of webhooks, called at their head. */
  readonly webhook: (request: RequestHead, address: WebhookAddress) => Effect.Effect<WebhookAdmission>
  /** All other requests. */
  readonly handle: (request: RawRequest) => Effect.Effect<RawReply>
  /** The reply to a request without a body that is the same for all who ask: it takes no other work than to write it. */
  readonly prepared?: (request: Pick<RequestHead, "method" | "target">) => RawReply | undefined
  /** The sender of a request, by its head; or the reply if its body must not be read. */
  readonly recognise: (request: RequestHead) => Effect.Effect<Recognised>
  /** The client's address; behind trusted proxies, the one that they forward. */
  readonly addressOf: (request: RequestHead) => string
  /** The connections of the typed RPC. */
  readonly rpc?: RpcSockets
  /** The reply to a request whose body was refused. */
  readonly refused: (failure: Failure, request: RequestHead, execution: boolean) => Effect.Effect<RawReply>
}

export interface ServerOptions {
  readonly host: string
  readonly port: number
  /** Bounds the bytes of request bodies in memory. */
  readonly ledger: HeldBytes["Type"]
  /** The most connections of clients. */
  readonly connections?: number
  /** A bound socket, on which other processes accept, too. */
  readonly socket?: NetServer | undefined
  /** Whether other nodes serve as well: when this one leaves, it refuses requests until a balancer sends it none. */
  readonly hasOthers?: boolean
}

export interface RunningServer {
  readonly port: number
  readonly connections: IncomingConnections
  /** What is counted for replies until they end: their number, those that are endless, and bytes that clients have not read. */
  readonly openReplies: () => { readonly all: number; readonly endless: number; readonly unreadBytes: number }
  /**
   * Refuses further requests as `Unavailable`, except probes, and waits at most `patience` for the answers to accepted
   * ones; then refuses probes, too. The server listens until its scope closes.
   */
  readonly leave: (patience: Duration.Duration) => Effect.Effect<void>
  /**
   * Accepts no further connection, and serves those that are open until each has ended with an answer, or was idle for
   * two seconds. Another process accepts on the same socket.
   */
  readonly handOver: Effect.Effect<void>
}

const webhookPath = /^\/api\/v1\/clients\/([^/?]+)\/webhooks\/([^/?]+)(?:\?|$)/
const noBody = new Uint8Array(0)
/** How long a body may send nothing while it is being read. */
const stall = Duration.seconds(30)

const backlog = 1024

const listen = (server: Server, { host, port, socket }: ServerOptions) =>
  Effect.async<number, OperatorError>((resume) => {
    server.once("error", (error) => resume(portRefusal(error, host, port)))
    const onListening = () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    }
    if (socket === undefined) server.listen({ host, port, backlog }, onListening)
    else server.listen(socket, backlog, onListening)
  })

/** A request that is being served. */
interface Served {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly open: OpenReply
  /** Sends `100 Continue` to a client that waits for it. */
  readonly proceed: () => void
}

const stopping = new Unavailable({ reason: "svc is being stopped or restarted", retryAfterSeconds: 1 })

/** How long calls over connections of the typed RPC may take while another process has taken over. */
const longestCall = Duration.seconds(60)

/** Starts the server; it listens until the scope closes. */
export const serve = (
  handlers: Handlers,
  options: ServerOptions
): Effect.Effect<RunningServer, OperatorError, Scope.Scope> =>
  Effect.gen(function* () {
    // Handlers have what they need; a request that provides a service would copy all of the program's.
    const runFork = Runtime.runFork(Runtime.updateContext(yield* Effect.runtime<never>(), () => Context.empty()))
    const gate = new RequestGate()
    const replies = new OpenReplies()
    const receiving = new BodyReceiver(options.ledger)
    /** Streamed bodies by their connection. */
    const arrivals = new WeakMap<Duplex, IncomingBody>()
    /** What clients have not read of answers without a key. */
    const unread = new UnreadReplies()
    const endless = new EndlessReplies()
    const connections = new IncomingConnections(options.connections ?? incomingConnections)

    /** Runs a handler, and ends its request's connection if it is broken. */
    const run = <A>(
      handled: Effect.Effect<A>,
      connection: ServerResponse | Duplex,
      done: (made: A) => void,
      ended: () => void = () => undefined
    ) => {
      const fiber = runFork(handled)
      fiber.addObserver((exit) => {
        if (exit._tag === "Success") done(exit.value)
        else connection.destroy()
        ended()
      })
      return fiber
    }

    /** Replies to a request without reading its body, and closes its connection. */
    const turnAway = ({ request, response }: Served, refusal: Effect.Effect<RawReply>): void => {
      // What is still sent waits for the refusal.
      request.pause()
      run(refusal, response, (made) => refuse(response, made, { request, forget: () => void request.resume() }))
    }

    /** Runs a handler and writes its reply. */
    const answer = (served: Served, handled: Effect.Effect<RawReply>, rest?: Rest) => {
      const endWork = served.open.beginWork()
      return run(handled, served.response, (made) => reply(served, made, rest), endWork)
    }

    const reply = (served: Served, made: RawReply, rest?: Rest): void => {
      const { open, request, response } = served
      // Of an answer without a key, if its address leaves too many of them unread.
      const excess = unread.admit(() => subscriberOf(handlers.addressOf(headOf(request))), made, open)
      if (excess !== undefined) return void answer(served, handlers.refused(excess, headOf(request), false), rest)
      // Requests that were accepted behind this one are answered first.
      if (gate.isLeaving && open.isLast) response.shouldKeepAlive = false
      endless.follow(open, made.body)
      write(response, made, open, rest)
    }

    /** Passes a request of the proxy on at its head, with a streamed body. */
    const pass = (served: Served) => {
      const { open, proceed, request } = served
      const limit = bodyBytes.unified
      const head = headOf(request)
      if ((declaredLength(request) ?? 0) > limit)
        return turnAway(served, handlers.refused(new PayloadTooLarge({ limitBytes: limit }), head, false))
      const holding = receiving.hold(ownerOfAddress(handlers.addressOf(head)), open)
      const take = (bytes: number) => takeForBody(holding, bytes)
      const arrival = hasBody(request) ? new IncomingBody(request, { limit, stall, take, asked: proceed }) : undefined
      if (arrival === undefined) request.resume()
      else arrivals.set(request.socket, arrival)
      const fiber = answer(
        served,
        handlers.proxy({ ...head, body: arrival ?? noBody }),
        arrival === undefined ? undefined : { request, forget: () => arrival.forget() }
      )
      // Interrupts the request when its client disconnects, so that no provider is called in vain.
      open.onEnd(() => fiber.unsafeInterruptAsFork(FiberId.none))
    }

    /** Receives a request of a webhook: its body only once the webhook is found, and up to its limit. */
    const receiveWebhook = (served: Served, address: WebhookAddress) => {
      const { open, proceed, request, response } = served
      const head = headOf(request)
      run(handlers.webhook(head, address), response, (admission) => {
        if (admission._tag === "Answered") return turnAway(served, Effect.succeed(admission.reply))
        const reading = {
          limit: admission.limit,
          from: hasBody(request) ? handlers.addressOf(head) : "",
          recognise: (done: (found: Recognised) => void) => done({ _tag: "Known", holder: admission.holder }),
          proceed
        }
        receiving.receive(request, open, reading, (body) => {
          if (body instanceof Uint8Array) return inflateAndAnswer(served, admission, body)
          turnAway(served, Effect.succeed(body._tag === "Refused" ? body.reply : admission.refused(body.failure)))
        })
      })
    }

    const inflateAndAnswer = (
      served: Served,
      admission: Extract<WebhookAdmission, { _tag: "Admitted" }>,
      body: Uint8Array
    ) => {
      const endWork = served.open.beginWork()
      inflateBody(
        body,
        served.request.headers["content-encoding"],
        { limit: admission.limit, holding: () => receiving.hold(admission.holder, served.open) },
        (inflated) => {
          if (inflated instanceof Uint8Array) answer(served, admission.handle(inflated))
          else turnAway(served, Effect.succeed(admission.refused(inflated)))
          endWork()
        }
      )
    }

    /** Reads a request's body and answers it. */
    const receiveWhole = (served: Served, head: RequestHead, called: CalledWorkflow | undefined) => {
      const { open, proceed, request, response } = served
      let recognised: RecognisedCaller | undefined
      const reading = {
        limit: called !== undefined ? bodyBytes.execute : bodyBytes.management,
        from: hasBody(request) ? handlers.addressOf(head) : "",
        recognise: (done: (found: Recognised) => void) =>
          void run(handlers.recognise(head), response, (found) => {
            if (found._tag === "Known") recognised = found.recognised
            done(found)
          }),
        proceed
      }
      receiving.receive(request, open, reading, (body) => {
        if (!(body instanceof Uint8Array)) {
          const refusal =
            body._tag === "Refused"
              ? Effect.succeed(body.reply)
              : handlers.refused(body.failure, head, called !== undefined)
          return turnAway(served, refusal)
        }
        const raw = (): RawRequest => ({ ...head, recognised, body })
        open.inTurn(() =>
          answer(served, called === undefined ? handlers.handle(raw()) : handlers.execute(raw(), called))
        )
      })
    }

    /** Serves a request once those before it on its connection are answered; the body of most is read before. */
    const onRequest = (request: IncomingMessage, response: ServerResponse, proceed: () => void = () => undefined) => {
      const open = replies.open(request, response)
      if (open === undefined) return
      const served = { open, proceed, request, response }
      const target = request.url ?? "/"
      const { socket } = request
      connections.onRequest(request)
      const isAdmitted = gate.admit(target)
      open.onEnd(() => {
        gate.onClosed(isAdmitted)
        connections.onClosed(socket)
      })
      const mistake = mistakeIn(request)
      if (isAdmitted && mistake === undefined && !hasBody(request)) {
        const prepared = handlers.prepared?.({ method: request.method ?? "GET", target })
        if (prepared !== undefined) return open.inTurn(() => reply(served, prepared))
      }
      const head = headOf(request)
      const called = calledWorkflow(head)
      if (!isAdmitted) return turnAway(served, handlers.refused(stopping, head, called !== undefined))
      if (mistake !== undefined) {
        const failure = new InvalidRequest({ code: "INVALID_REQUEST", message: mistake })
        return turnAway(served, handlers.refused(failure, head, false))
      }
      if (target.startsWith(proxyPrefix)) return open.inTurn(() => pass(served))
      const webhook = webhookPath.exec(target)
      if (webhook === null) return receiveWhole(served, head, called)
      open.inTurn(() => receiveWebhook(served, { client: webhook[1] ?? "", webhook: webhook[2] ?? "" }))
    }

    /** Answers bytes that are not a valid HTTP request, unless the handler of a streamed request answers them. */
    const onClientError = (error: NodeJS.ErrnoException, socket: Duplex) => {
      if (!socket.writable || arrivals.get(socket)?.fail(brokenBy(error)) === true) return
      replies.afterAnswers(socket, () => answerSocket(socket, malformedAnswer(error)))
    }

    const { rpc } = handlers
    const leaveRpc = (patience: Duration.Duration) => rpc?.leave(patience) ?? Effect.void

    /** The refusal of a request that is not to be read, if there is one. */
    const refusalOf = (mistake: string | undefined): Failure | undefined => {
      if (!gate.isOpen) return stopping
      return mistake === undefined ? undefined : new InvalidRequest({ code: "INVALID_REQUEST", message: mistake })
    }

    /** Opens a connection of the typed RPC; what else asks for another protocol is served as usual, except a tunnel. */
    const upgrade = (request: IncomingMessage, socket: Duplex, first: Buffer) => {
      const isTunnel = request.method === "CONNECT"
      const isOpening = rpc !== undefined && pathOf(request.url ?? "/") === rpcPath && asksForWebSocket(request)
      if (!isTunnel && !isOpening) return serveAsUsual(server, request, socket, first)
      connections.onUpgraded(request.socket)
      const head = headOf(request)
      const failure = refusalOf(isTunnel ? "CONNECT is not served: this server is no proxy" : mistakeIn(request))
      if (failure === undefined) rpc?.upgrade(request, socket, first, head)
      else run(handlers.refused(failure, head, false), socket, (refusal) => refuseUpgrade(socket, refusal))
    }

    /** Takes over a socket that node:http hands over, after the answers to what came before on it. */
    const onHandedOver = (request: IncomingMessage, socket: Duplex, first: Buffer) => {
      // node:http no longer listens to it.
      socket.on("error", () => socket.destroy())
      goOnReading(socket)
      let takeOver = (): Buffer => first
      const waits = replies.afterAnswers(socket, () => upgrade(request, socket, takeOver()))
      if (waits) takeOver = readAhead(socket, first)
    }

    const expiry = setInterval(() => receiving.expire(performance.now()), 1_000).unref()
    yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(expiry)))

    const server = createServer(
      {
        maxHeaderSize: headerBytes,
        keepAliveTimeout: 65_000,
        headersTimeout: Duration.toMillis(headerDeadline),
        // Bounds reading a request, not answering it: a provider behind the proxy may take longer.
        requestTimeout: 60_000,
        connectionsCheckingInterval: 1_000,
        // Its absence is refused in the form of errors.
        requireHostHeader: false
      },
      (request, response) => onRequest(request, response)
    )
    server.on("connection", connections.onConnection)
    server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) =>
      onRequest(request, response, () => response.writeContinue())
    )
    // Another expectation: the request is served like all others, which refuse it.
    server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => onRequest(request, response))
    server.on("upgrade", onHandedOver)
    server.on("connect", onHandedOver)
    server.on("clientError", (error, socket) => onClientError(error, socket))
    yield* Effect.addFinalizer(() =>
      Effect.zipRight(
        gate.isLeaving ? endServing(server, gate, options.hasOthers === true) : Effect.void,
        stopServer(server)
      )
    )
    const port = yield* listen(server, options)
    return {
      port,
      connections,
      openReplies: () => ({ all: gate.open, endless: endless.size, unreadBytes: unread.bytes }),
      handOver: Effect.suspend(() => {
        gate.finish()
        endless.end()
        stopAccepting(server)
        return Effect.zipRight(leaveRpc(longestCall), connections.settled)
      }),
      leave: (patience) =>
        Effect.zipRight(
          Effect.zipRight(
            Effect.sync(() => endless.end()),
            Effect.all([gate.leave(patience), leaveRpc(patience)], { concurrency: "unbounded", discard: true })
          ),
          Effect.sync(() => gate.close())
        )
    }
  })
