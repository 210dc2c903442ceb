/** One request and its answer on undici's dispatcher: collects the body under a cap, inflating as it comes. */
import type { Readable } from "node:stream"
import type { Dispatcher } from "undici"
import { type Encoding, encodingsOf, inflate, type Inflater } from "./Inflate.js"
import { type Hop, isUpload } from "./RequestForm.js"
import { GatheredBytes } from "../../domain/GatheredBytes.js"
import { egress } from "../../domain/Limits.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
import type { Holding } from "../../actors/ports/HeldBytes.js"
import { BodyMemory } from "./BodyMemory.js"
import { ReadingTurns } from "./ReadingTurns.js"

export interface ExchangeResponse {
  readonly status: number
  /** Names in lower case, in the order of the response. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Uint8Array
}

/** The body, after decompression, is larger than `maxBytes`. */
export class BodyTooLarge extends Error {}

/** There was no memory for the body in time. */
export class NoMemory extends Error {}

export interface ExchangeOptions {
  /** Who asks. */
  readonly owner: ShareOwner
  /** Largest body in bytes, after decompression. */
  readonly maxBytes: number
  /** Whether the body of a response with this status is discarded; the result's body is then empty. */
  readonly discards: (status: number) => boolean
  /** Counts the bytes of the body. */
  readonly holding: Holding
}

/** Sends the hop and calls `done` once, with the response or an error. The returned function cancels it. */
export const exchange = (
  dispatcher: Dispatcher,
  hop: Hop,
  options: ExchangeOptions,
  done: (result: ExchangeResponse | Error) => void
): ((reason: Error) => void) => {
  const receiver = new Receiver(hop.method, options, done)
  dispatcher.dispatch(dispatchOptions(hop), receiver)
  return (reason) => receiver.finish(reason)
}

/** The hop as options of undici, which sends exactly as many bytes of the body as `content-length` says. */
export const dispatchOptions = (hop: Hop): Dispatcher.DispatchOptions => {
  const { body } = hop
  const incoming = isUpload(body)
  return {
    origin: hop.url.origin,
    path: hop.url.pathname + hop.url.search,
    // undici's types allow some methods, mutable arrays and node streams only; undici itself accepts any iterable.
    method: hop.method as Dispatcher.HttpMethod,
    headers: incoming ? [...hop.headers, "content-length", String(body.length)] : (hop.headers as Array<string>),
    body: incoming ? (body.pieces() as unknown as Readable) : body
  }
}

/** A discarded body is read up to this size, to keep the connection. */
const discardBytes = 64 * 1024

class Receiver implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined
  private finished = false
  private discarding = false
  private status = 0
  private headers: ReadonlyArray<readonly [string, string]> = []
  private encodings: ReadonlyArray<Encoding> = []
  private inflater: Inflater | undefined
  private inflaterIsFull = false
  private isBodiless = false
  private body = new GatheredBytes()
  private memory: BodyMemory | undefined
  private discarded = 0
  private readonly turns: ReadingTurns

  constructor(
    private readonly method: string,
    private readonly options: ExchangeOptions,
    private readonly done: (result: ExchangeResponse | Error) => void
  ) {
    this.turns = new ReadingTurns(options.owner, {
      pause: () => this.controller?.pause(),
      resume: () => this.goOn()
    })
  }

  /** Ends the exchange with its first result, and destroys what is still open. */
  finish(result: ExchangeResponse | Error): void {
    if (this.finished) return
    this.finished = true
    this.inflater?.destroy()
    if (result instanceof Error) this.memory?.cancel()
    if (result instanceof Error) this.controller?.abort(result)
    this.done(result)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    // Cancelled while it waited for a connection: it must not be sent.
    if (this.finished) controller.abort(new Error("given up before it was sent"))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return
    this.status = status
    this.headers = headerPairs(controller.rawHeaders)
    if (this.headers.length > egress.responseHeaders)
      return this.finish(new Error(`the answer has more than ${egress.responseHeaders} headers`))
    this.discarding = this.options.discards(status)
    this.isBodiless = hasNoBody(this.method, status)
    if (this.discarding || this.isBodiless) return
    this.encodings = encodingsOf(this.headers)
    const announced = this.headers.find(([name]) => name === "content-length")?.[1]
    const length = Number(announced ?? Number.NaN)
    if (this.encodings.length > 0 || Number.isNaN(length)) return
    if (length > this.options.maxBytes) return this.tooLarge()
    this.body = new GatheredBytes(length)
  }

  private memoryOf(): BodyMemory {
    this.memory ??= new BodyMemory(this.options.holding, {
      pause: () => this.controller?.pause(),
      resume: () => this.goOn(),
      refuse: () => this.finish(new NoMemory())
    })
    return this.memory
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.finished) return
    this.turns.countPiece(chunk.length)
    if (this.discarding) {
      this.discarded += chunk.length
      if (this.discarded > discardBytes) {
        this.complete()
        controller.abort(new Error("the rest is of no interest"))
      }
    } else if (this.encodings.length === 0) {
      this.collect(chunk)
    } else {
      this.inflater ??= inflate(
        this.encodings,
        chunk,
        (part) => this.collect(part),
        (error) => this.finish(error)
      )
      this.inflaterIsFull = !this.inflater.write(chunk, () => {
        this.inflaterIsFull = false
        this.goOn()
      })
      if (this.inflaterIsFull) controller.pause()
    }
  }

  onResponseEnd(): void {
    if (this.inflater === undefined) this.complete()
    else this.inflater.end(() => this.complete())
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // undici waits for the bytes that the headers announce, and closes the connection; the answer is complete without.
    if (this.isBodiless || this.discarding) this.complete()
    else this.finish(error)
  }

  /** Reads on, unless the body waits for memory, for its turn, or for what inflates it. */
  private goOn(): void {
    const isWaiting = this.memory?.isWaiting === true || this.turns.isWaiting || this.inflaterIsFull
    if (!isWaiting && !this.finished) this.controller?.resume()
  }

  private collect(chunk: Uint8Array): void {
    if (this.finished) return
    if (this.body.bytes + chunk.length > this.options.maxBytes) return this.tooLarge()
    this.body.add(chunk)
    this.memoryOf().take(chunk.length)
  }

  private tooLarge(): void {
    this.finish(new BodyTooLarge(`more than ${this.options.maxBytes} bytes`))
  }

  private complete(): void {
    if (this.memory?.isWaiting === true) return this.memory.whenHeld(() => this.complete())
    // These headers describe the compressed body, not the one that the caller gets.
    const headers =
      this.inflater === undefined
        ? this.headers
        : this.headers.filter(([name]) => name !== "content-encoding" && name !== "content-length")
    this.finish({ status: this.status, headers, body: this.body.whole() })
  }
}

/** Whether the answer has no body, even if its headers announce a length (RFC 9112, section 6.3). */
export const hasNoBody = (method: string, status: number): boolean =>
  method === "HEAD" || status === 204 || status === 304

export const headerPairs = (
  raw: Dispatcher.DispatchController["rawHeaders"]
): ReadonlyArray<readonly [string, string]> => {
  const pairs: Array<readonly [string, string]> = []
  if (!Array.isArray(raw)) return pairs
  const text = (part: Buffer | string | undefined) =>
    typeof part === "string" ? part : (part?.toString("latin1") ?? "")
  for (let i = 0; i < raw.length; i += 2) pairs.push([text(raw[i]).toLowerCase(), withoutBlanks(text(raw[i + 1]))])
  return pairs
}

/** The value of a header, to which the blanks around it do not belong (RFC 9110, 5.5). */
const withoutBlanks = (value: string): string => {
  let end = value.length
  while (end > 0 && (value[end - 1] === " " || value[end - 1] === "\t")) end--
  return value.slice(0, end)
}
