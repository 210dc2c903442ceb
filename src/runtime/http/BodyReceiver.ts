/**
 * Reads request bodies into memory. Only a small part is read before the request's key is checked. The bytes count in
 * the node's ledger until the request is answered and no work for it runs, and a body that is too slow is refused.
 */
import { Duration } from "effect"
import type { IncomingMessage } from "node:http"
import type { HeldBytes, Holding } from "../../actors/ports/HeldBytes.js"
import { type Failure, InvalidRequest, PayloadTooLarge, Unavailable } from "../../domain/Failure.js"
import { GatheredBytes } from "../../domain/GatheredBytes.js"
import { incomingBody } from "../../domain/Limits.js"
import type { RawReply, RecognisedCaller } from "../../http/Wire.js"
import type { OpenReply } from "./OpenReplies.js"
import { ownerOfAddress, type ShareOwner } from "../../domain/share/ShareOwner.js"

/** The holder of a body, by the request's head; or the reply to a request that is refused. */
export type Recognised =
  | { readonly _tag: "Known"; readonly holder: ShareOwner; readonly recognised?: RecognisedCaller }
  | RefusedBody

/** Why a body is refused. */
export type RefusedBody =
  | { readonly _tag: "Refused"; readonly reply: RawReply }
  | { readonly _tag: "Failed"; readonly failure: Failure }

export interface ReceiveOptions {
  /** Largest body, in bytes. */
  readonly limit: number
  /** The address of the client. */
  readonly from: string
  /** Called when the body is larger than what is read before the key is checked. */
  readonly recognise: (done: (found: Recognised) => void) => void
  /** Sends `100 Continue` to a client that waits for it. */
  readonly proceed: () => void
}

const noBody = new Uint8Array(0)
const failed = (failure: Failure): RefusedBody => ({ _tag: "Failed", failure })

/** The `content-length`; `undefined` for a chunked body. */
export const declaredLength = ({ headers }: IncomingMessage): number | undefined =>
  headers["transfer-encoding"] !== undefined ? undefined : Number(headers["content-length"] ?? 0)

export const hasBody = (request: IncomingMessage): boolean => declaredLength(request) !== 0

/** Takes bytes of a request's holding, or returns why there is no room for them. */
export const takeForBody = (holding: Holding, bytes: number): Unavailable | undefined =>
  holding.tryTake(bytes)
    ? undefined
    : new Unavailable({ reason: "too many request bodies are held at once", retryAfterSeconds: 1 })

export class BodyReceiver {
  private readonly open = new Set<Reader>()

  constructor(private readonly ledger: HeldBytes["Type"]) {}

  /** The holding of a request's body, released when its reply has ended and no work for it runs. */
  hold(owner: ShareOwner, reply: OpenReply): Holding {
    const holding = this.ledger.open(owner, "bodies")
    reply.onRelease(holding.release)
    return holding
  }

  /** Calls `done` once, or never if the client disconnects first. */
  receive(
    request: IncomingMessage,
    reply: OpenReply,
    options: ReceiveOptions,
    done: (body: Uint8Array | RefusedBody) => void
  ): void {
    const length = declaredLength(request)
    if (length === 0) {
      request.resume()
      return done(noBody)
    }
    if (length !== undefined && length > options.limit)
      return done(failed(new PayloadTooLarge({ limitBytes: options.limit })))
    const reader = new Reader(request, length, options, {
      arriving: () => this.ledger.open(ownerOfAddress(options.from), "arriving"),
      held: (owner) => this.hold(owner, reply),
      finish: (outcome) => {
        this.open.delete(reader)
        done(outcome)
      },
      leave: () => this.open.delete(reader)
    })
    this.open.add(reader)
    reader.begin()
  }

  /** Refuses the bodies that have taken too long. `now`: of `performance`. */
  expire(now: number): void {
    const oldest = now - Duration.toMillis(incomingBody.deadline)
    // Oldest first.
    for (const reader of this.open) {
      if (reader.started > oldest) return
      reader.giveUp()
    }
  }
}

interface Ways {
  /** For the bytes that come before the key is checked. */
  readonly arriving: () => Holding
  readonly held: (owner: ShareOwner) => Holding
  readonly finish: (outcome: Uint8Array | RefusedBody) => void
  readonly leave: () => void
}

class Reader {
  readonly started = performance.now()
  private readonly bytes: GatheredBytes
  private size = 0
  private ended = false
  /** Set once the key is checked. */
  private share: Holding | undefined
  /** Of the bytes before that; opened by the first that are counted. */
  private arriving: Holding | undefined
  /** The key is being checked, and the body is paused. */
  private asking = false
  private proceeded = false

  constructor(
    private readonly request: IncomingMessage,
    private readonly length: number | undefined,
    private readonly options: ReceiveOptions,
    private readonly ways: Ways
  ) {
    this.bytes = new GatheredBytes(length)
  }

  begin(): void {
    this.request
      .on("data", (chunk: Buffer) => this.arrive(chunk))
      .on("end", () => this.complete())
      .on("close", () => this.drop())
      .on("error", () => this.drop())
    if (this.length !== undefined && this.length > incomingBody.unrecognisedBytes) this.recognise()
    else this.proceed()
  }

  giveUp(): void {
    const seconds = Duration.toSeconds(incomingBody.deadline)
    const message = `the body did not come within ${seconds} s`
    this.fail(new InvalidRequest({ code: "INVALID_REQUEST", message }))
  }

  private arrive(chunk: Buffer): void {
    if (this.ended) return
    this.size += chunk.length
    if (this.size > this.options.limit) return this.fail(new PayloadTooLarge({ limitBytes: this.options.limit }))
    const refused = this.count(chunk.length)
    if (refused !== undefined) return this.fail(refused)
    this.bytes.add(chunk)
    if (this.share === undefined && this.size > incomingBody.unrecognisedBytes) this.recognise()
  }

  /** Does not count a small body in one chunk: its request starts at once. */
  private count(bytes: number): Failure | undefined {
    if (this.share !== undefined) return this.length === undefined ? takeForBody(this.share, bytes) : undefined
    return this.size === this.length && this.size === bytes
      ? undefined
      : takeForBody((this.arriving ??= this.ways.arriving()), bytes)
  }

  private recognise(): void {
    if (this.asking) return
    this.asking = true
    this.request.pause()
    this.options.recognise((found) => {
      if (this.ended) return
      if (found._tag !== "Known") return this.end(found)
      this.asking = false
      this.share = this.ways.held(found.holder)
      const refused = takeForBody(this.share, this.length ?? this.size)
      if (refused !== undefined) return this.fail(refused)
      this.arriving?.release()
      this.proceed()
      this.request.resume()
    })
  }

  private proceed(): void {
    if (!this.proceeded) this.options.proceed()
    this.proceeded = true
  }

  private complete(): void {
    if (this.ended) return
    if (this.share === undefined && this.size > incomingBody.countedBytes) {
      const refused = takeForBody(this.ways.held(ownerOfAddress(this.options.from)), this.size)
      if (refused !== undefined) return this.fail(refused)
    }
    this.end(this.bytes.whole())
  }

  private fail(failure: Failure): void {
    // Its response may take a while, until the rest of the body is discarded.
    this.share?.release()
    this.end(failed(failure))
  }

  private end(outcome: Uint8Array | RefusedBody): void {
    if (this.ended) return
    this.close()
    this.ways.finish(outcome)
  }

  /** The client disconnected. */
  private drop(): void {
    if (this.ended) return
    this.close()
    this.ways.leave()
  }

  private close(): void {
    this.ended = true
    this.bytes.drop()
    this.arriving?.release()
  }
}
