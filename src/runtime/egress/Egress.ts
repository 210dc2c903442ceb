/** The port `Egress` over undici: checked connections, redirects by hand, one clock and one size cap per request. */
import { Context, Duration, Effect, Layer } from "effect"
import { Agent } from "undici"
import {
  Egress,
  EgressBlocked,
  type EgressFailure,
  type EgressRequest,
  type EgressResponse,
  EgressTimedOut,
  EgressNoMemory,
  EgressTooLarge,
  EgressUnreachable,
  isRedirect,
  type OpenRequest,
  type OpenResponse
} from "../../actors/ports/Egress.js"
import { AnswerHolding } from "../../actors/ports/HeldBytes.js"
import { MailEgress } from "../../actors/ports/delivery/MailEgress.js"
import { egress, headerBytes } from "../../domain/Limits.js"
import type { AllowList } from "./Address.js"
import {
  BlockedAddress,
  type Connector,
  type ConnectOptions,
  guardedConnector,
  plainConnector,
  type Resolve,
  systemResolve
} from "./Connect.js"
import { ConnectionPlaces } from "./ConnectionPlaces.js"
import { busyFailure, NoConnection, OutOfTime, withPlace } from "./ConnectionWait.js"
import { type ExchangeResponse, BodyTooLarge, exchange, NoMemory } from "./Exchange.js"
import { skippingContinue } from "./InterimAnswers.js"
import { makeMailEgress } from "./MailEgress.js"
import { type OpenExchange, openExchange } from "./OpenExchange.js"
import { networkReasonOf } from "./NetworkReason.js"
import { make as makeNetworks } from "./OperatorNetworks.js"
import { type Hop, isUpload, readHeaders, readMethod, readUrl, redirectHop, tellable } from "./RequestForm.js"
import { Stopwatch } from "./Stopwatch.js"
import { parseUrl } from "../../domain/Url.js"

export interface EgressOptions {
  /** What the operator allows beside public addresses (`SVC_EGRESS_ALLOW`). */
  readonly allow: AllowList
  /** Another resolver than the system's. */
  readonly resolve?: Resolve
  /** Further certificate authorities in PEM form. */
  readonly ca?: ReadonlyArray<string>
  /** Connections of the node. */
  readonly connections?: number
}

const longestTimer = 2 ** 31 - 1

const connectOptions = ({ allow, ca, resolve = systemResolve }: EgressOptions): ConnectOptions => ({
  allow,
  resolve,
  timeoutMillis: Duration.toMillis(egress.connectTimeout),
  ...(ca === undefined ? {} : { ca })
})

const makeAgent = (connect: Connector): Agent =>
  new Agent({
    connect: skippingContinue(connect),
    pipelining: 1,
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 30_000,
    maxHeaderSize: headerBytes,
    // The stopwatch of the exchange limits its time, not undici.
    headersTimeout: 0,
    bodyTimeout: 0
  })

/** The connections of the node; those of all accounts share the resolver and the cache of TLS sessions. */
const makePlaces = (options: EgressOptions): ConnectionPlaces => {
  const connect = connectOptions(options)
  const open = plainConnector(connect)
  const limits = { node: options.connections ?? egress.connections, origin: egress.connectionsPerOrigin }
  return new ConnectionPlaces(limits, (count) => makeAgent(guardedConnector(connect, open, count)))
}

const makeEgress = (
  places: ConnectionPlaces,
  { allow, resolve }: Pick<EgressOptions, "allow" | "resolve">
): typeof Egress.Service => {
  const networks = makeNetworks(allow, resolve)
  const check = (url: string) =>
    Effect.suspend(() => {
      const read = readUrl(url, allow)
      return typeof read === "string" ? Effect.fail(blocked(url, read)) : Effect.succeed(read)
    })

  const ask: typeof Egress.Service.ask = (request, holding, done) => {
    const { maxBytes, owner } = request
    return travel<ExchangeResponse>(
      request,
      allow,
      (hop, follows, arrived) =>
        withPlace(
          places,
          request,
          hop.url.origin,
          ({ dispatcher, release }) =>
            exchange(dispatcher(), hop, { owner, maxBytes, discards: follows, holding }, (result) => {
              release()
              arrived(result)
            }),
          arrived
        ),
      (result) => {
        if ("_tag" in result) return done(result)
        const { body, headers, status } = result.answer
        done({ status, headers, body, url: result.url })
      }
    )
  }

  return Egress.of({
    ask,
    send: (request) =>
      Effect.flatMap(AnswerHolding, (holding) => asEffect<EgressResponse>((done) => ask(request, holding, done))),
    open: (request) => {
      const { maxBytes, owner } = request
      const stallMillis = Math.min(Duration.toMillis(request.stall), longestTimer)
      const sending: Sending<OpenExchange> = (hop, _, done) =>
        withPlace(
          places,
          request,
          hop.url.origin,
          ({ dispatcher, release }) =>
            openExchange(dispatcher(), hop, { owner, maxBytes, stallMillis }, (result) => {
              if (result instanceof Error) release()
              else void result.ended.then(release)
              done(result)
            }),
          done
        )
      return asEffect<Arrived<OpenExchange>>((done) => travel(request, allow, sending, done)).pipe(
        Effect.map(({ answer, url }): OpenResponse => ({ ...answer, url, ended: Effect.promise(() => answer.ended) }))
      )
    },
    check: (url) => Effect.asVoid(check(url)),
    checkTarget: (url) =>
      Effect.flatMap(check(url), ({ protocol }) =>
        protocol === "https:"
          ? Effect.void
          : Effect.flatMap(networks.isEmpty ? Effect.succeed(false) : networks.covers(url), (isCovered) =>
              isCovered ? Effect.void : Effect.fail(blocked(url, withoutTls))
            )
      ),
    readings: Effect.sync(places.readings)
  })
}

const withoutTls = "must begin with https://: http:// is only for servers whose addresses SVC_EGRESS_ALLOW covers"

/** Sends one hop and calls `done` once with its result. */
type Sending<A> = (hop: Hop, follows: (status: number) => boolean, done: (result: A | Error) => void) => GiveUp
type GiveUp = (reason: Error) => void
interface Arrived<A> {
  readonly answer: A
  readonly url: string
}

type Leaving = EgressRequest & Pick<OpenRequest, "upload">

/** Sends the request over all its redirects, and calls `done` once. The returned function gives it up: then it does not. */
const travel = <A extends ExchangeResponse | OpenExchange>(
  request: Leaving,
  allow: AllowList,
  sending: Sending<A>,
  done: (result: Arrived<A> | EgressFailure) => void
): (() => void) => {
  const first = readRequest(request, allow)
  if (typeof first === "string") {
    done(blocked(request.url, first))
    return () => undefined
  }
  const journey = new Journey(request, allow, sending, done)
  journey.travel(first, 0)
  return () => journey.abandon()
}

/** An effect of what calls back once. Its interruption gives that up. */
const asEffect = <A extends object>(
  begin: (done: (result: A | EgressFailure) => void) => () => void
): Effect.Effect<A, EgressFailure> =>
  Effect.async((resume) => {
    const giveUp = begin((result) => resume("_tag" in result ? Effect.fail(result) : Effect.succeed(result)))
    return Effect.sync(giveUp)
  })

const blocked = (url: string, reason: string) => new EgressBlocked({ url: tellable(url), reason })

const readRequest = (request: Leaving, allow: AllowList): Hop | string => {
  const url = readUrl(request.url, allow)
  if (typeof url === "string") return url
  const read = readMethod(request.method)
  if (typeof read === "string") return read
  const headers = readHeaders(request.headers)
  if (typeof headers === "string") return headers
  return { url, method: read.method, headers, body: request.upload ?? request.body }
}

/** A request with all its redirects, up to the final response or failure. */
class Journey<A extends ExchangeResponse | OpenExchange> {
  private readonly millis: number
  private readonly redirects: number
  private readonly clock: Stopwatch
  private hops = 0
  private stop: GiveUp | undefined
  private isAbandoned = false

  constructor(
    private readonly request: EgressRequest,
    private readonly allow: AllowList,
    private readonly sending: Sending<A>,
    private readonly done: (result: Arrived<A> | EgressFailure) => void
  ) {
    this.millis = Math.min(Duration.toMillis(request.timeout), longestTimer)
    this.redirects = Math.min(request.redirects, egress.redirects)
    this.clock = new Stopwatch(this.millis, () => this.giveUp(new OutOfTime()))
  }

  /** Nobody waits for the answer any more. */
  abandon(): void {
    this.isAbandoned = true
    this.giveUp(new Error("interrupted"))
  }

  private giveUp(reason: Error): void {
    this.clock.end()
    this.stop?.(reason)
  }

  travel(hop: Hop, followed: number): void {
    const follows = (status: number) => this.redirects > 0 && isRedirect(status)
    this.hops += 1
    this.clock.goOn()
    this.stop = this.sending(this.timed(hop, this.hops), follows, (result) => {
      if (result instanceof Error) return this.end(this.failureOf(hop, result))
      const location = follows(result.status) ? headerOf(result, "location") : undefined
      if (location === undefined) return this.end({ answer: result, url: hop.url.href })
      // The body of a redirect is not read.
      if ("cancel" in result) result.cancel()
      const next = this.nextHop(hop, result.status, location, followed)
      if ("_tag" in next) this.end(next)
      else this.travel(next, followed + 1)
    })
  }

  /** Pauses the time limit while the sender of the body is slow: it applies to the receiver. */
  private timed(hop: Hop, nth: number): Hop {
    const { body } = hop
    if (!isUpload(body)) return hop
    const wait = () => nth === this.hops && this.clock.pause()
    const goOn = () => nth === this.hops && this.clock.goOn()
    const pieces = async function* () {
      const source = body.pieces()[Symbol.asyncIterator]()
      for (;;) {
        wait()
        const piece = await source.next().finally(goOn)
        if (piece.done === true) return
        yield piece.value
      }
    }
    return { ...hop, body: { ...body, pieces } }
  }

  private nextHop(hop: Hop, status: number, location: string, followed: number): Hop | EgressFailure {
    if (followed >= this.redirects) {
      const reason = `redirected more than ${this.redirects} times`
      return new EgressUnreachable({ url: tellable(this.request.url), reason })
    }
    const absolute = parseUrl(location, hop.url.href)?.href ?? location
    const url = readUrl(absolute, this.allow)
    return typeof url === "string" ? blocked(absolute, `a redirect ${url}`) : redirectHop(hop, status, url)
  }

  private end(result: Arrived<A> | EgressFailure): void {
    this.clock.end()
    if (!this.isAbandoned) this.done(result)
  }

  private failureOf(hop: Hop, error: Error): EgressFailure {
    const url = tellable(hop.url.href)
    if (error instanceof NoConnection) return busyFailure(url, error)
    if (error instanceof OutOfTime) return new EgressTimedOut({ url, afterMillis: this.millis })
    if (error instanceof NoMemory) return new EgressNoMemory({ url })
    if (error instanceof BodyTooLarge) return new EgressTooLarge({ url, limitBytes: this.request.maxBytes })
    if (error instanceof BlockedAddress) return new EgressBlocked({ url, reason: `leads to ${error.message}` })
    return new EgressUnreachable({ url, reason: networkReasonOf(error) })
  }
}

const headerOf = (answer: Pick<ExchangeResponse, "headers">, wanted: string) =>
  answer.headers.find(([name]) => name === wanted)?.[1]

/** Both ports of outgoing traffic, HTTP and SMTP, under the same rules. */
export const layer = (options: EgressOptions): Layer.Layer<Egress | MailEgress> =>
  Layer.scopedContext(
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => makePlaces(options)),
        (places) => Effect.promise(places.destroy)
      ),
      (places) =>
        Context.make(Egress, makeEgress(places, options)).pipe(
          Context.add(MailEgress, makeMailEgress(connectOptions(options), places))
        )
    )
  )
