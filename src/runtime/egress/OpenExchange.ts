/**
 * One request on undici's dispatcher that returns at the response's head and streams the body. Back-pressure on the
 * provider bounds the memory, however long the body is.
 */
import { pipeline, Readable } from "node:stream"
import type { Dispatcher } from "undici"
import { BodyTooLarge, dispatchOptions, hasNoBody, headerPairs } from "./Exchange.js"
import { decoders, encodingsOf, type Encoding } from "./Inflate.js"
import { ReadingTurns } from "./ReadingTurns.js"
import type { Hop } from "./RequestForm.js"
import { egress } from "../../domain/Limits.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"

export interface OpenExchange {
  readonly status: number
  /** Names in lower case, in the order of the response. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** Fails with `BodyTooLarge`, `Stalled`, or the error of the connection. */
  readonly body: AsyncIterable<Uint8Array>
  readonly cancel: () => void
  readonly ended: Promise<void>
}

/** No byte of the body arrived in time. */
export class Stalled extends Error {}

export interface OpenExchangeOptions {
  /** Who asks. */
  readonly owner: ShareOwner
  /** Largest body in bytes, after decompression. */
  readonly maxBytes: number
  readonly stallMillis: number
}

/**
 * Sends the hop and calls `done` once, with the response's head or an error. The returned function cancels it before.
 */
export const openExchange = (
  dispatcher: Dispatcher,
  hop: Hop,
  options: OpenExchangeOptions,
  done: (result: OpenExchange | Error) => void
): ((reason: Error) => void) => {
  const receiver = new Receiver(hop.method, options, done)
  dispatcher.dispatch(dispatchOptions(hop), receiver)
  return (reason) => receiver.giveUp(reason)
}

/** Bytes that are buffered before back-pressure begins. */
const maxBufferedBytes = 64 * 1024

class Receiver implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined
  private isDone = false
  private complete = false
  private patience: NodeJS.Timeout | undefined
  private readonly source: Readable
  private isFull = false
  private isBodiless = false
  private readonly turns: ReadingTurns
  private begin: (first: Uint8Array) => void = () => undefined
  private readonly beginning = new Promise<Uint8Array>((resolve) => {
    this.begin = resolve
  })

  constructor(
    private readonly method: string,
    private readonly options: OpenExchangeOptions,
    private readonly done: (result: OpenExchange | Error) => void
  ) {
    this.turns = new ReadingTurns(options.owner, {
      pause: () => this.controller?.pause(),
      resume: () => this.goOn()
    })
    this.source = new Readable({
      highWaterMark: maxBufferedBytes,
      read: () => {
        this.moved()
        this.isFull = false
        this.goOn()
      },
      destroy: (error, closed) => {
        clearTimeout(this.patience)
        this.begin(new Uint8Array(0))
        if (!this.complete) this.controller?.abort(error ?? new Error("the rest of the answer is not read"))
        closed(error)
      }
    })
    // The reader of the body gets the error; without a listener it would end the process.
    this.source.on("error", () => undefined)
  }

  giveUp(reason: Error): void {
    if (this.isDone) return
    this.isDone = true
    this.complete = true
    this.controller?.abort(reason)
    this.source.destroy()
    this.done(reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    // Cancelled while it waited for a connection: it must not be sent.
    if (this.isDone) controller.abort(new Error("given up before it was sent"))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200 || this.isDone) return
    const headers = headerPairs(controller.rawHeaders)
    if (headers.length > egress.responseHeaders)
      return this.giveUp(new Error(`the answer has more than ${egress.responseHeaders} headers`))
    this.isBodiless = hasNoBody(this.method, status)
    const encodings = this.isBodiless ? [] : encodingsOf(headers)
    const announced = headers.find(([name]) => name === "content-length")?.[1]
    if (!this.isBodiless && encodings.length === 0 && Number(announced) > this.options.maxBytes)
      return this.giveUp(new BodyTooLarge(`more than ${this.options.maxBytes} bytes`))
    this.isDone = true
    this.patience = setTimeout(
      () => this.source.destroy(new Stalled(`nothing moved within ${this.options.stallMillis} ms`)),
      this.options.stallMillis
    )
    this.done({
      status,
      // These headers describe the compressed body, not the one that the caller gets.
      headers:
        encodings.length === 0
          ? headers
          : headers.filter(([name]) => name !== "content-encoding" && name !== "content-length"),
      body: capped(
        encodings.length === 0 ? this.source : inflateBody(this.source, encodings, this.beginning),
        this.options.maxBytes
      ),
      cancel: () => void this.source.destroy(),
      ended: new Promise((resolve) => this.source.once("close", resolve))
    })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.moved()
    this.begin(chunk)
    this.turns.countPiece(chunk.length)
    this.isFull = !this.source.push(chunk)
    if (this.isFull) controller.pause()
  }

  onResponseEnd(): void {
    this.complete = true
    this.source.push(null)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // undici waits for the bytes that the headers announce, and closes the connection; the answer is complete without.
    if (this.isBodiless) return this.onResponseEnd()
    this.complete = true
    if (this.isDone) this.source.destroy(error)
    else this.giveUp(error)
  }

  private goOn(): void {
    if (!this.isFull && !this.turns.isWaiting && !this.complete) this.controller?.resume()
  }

  private moved(): void {
    this.patience?.refresh()
  }
}

async function* capped(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new BodyTooLarge(`more than ${maxBytes} bytes`)
    yield chunk
  }
}

/** Decompresses the body; its first bytes decide between variants of an encoding. */
async function* inflateBody(
  source: Readable,
  encodings: ReadonlyArray<Encoding>,
  beginning: Promise<Uint8Array>
): AsyncGenerator<Uint8Array> {
  const stages = decoders(encodings, await beginning)
  const last: Readable = stages.at(-1) ?? source
  // The first error destroys all stages; the reader of the last one gets it.
  pipeline([source, ...stages], () => undefined)
  yield* last
}
