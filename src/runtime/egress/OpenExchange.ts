/**
 * One request on undici's dispatcher, answered as soon as the head is there: the body flows on as it is taken. The
 * provider is asked to wait while enough lies here, so that memory does not depend on the length of a body.
 */
import { pipeline, Readable } from "node:stream"
import type { Dispatcher } from "undici"
import { BodyTooLarge, dispatchOptions, headerPairs } from "./Exchange.js"
import { decoders, encodingsOf, type Encoding } from "./Inflate.js"
import type { Hop } from "./RequestForm.js"
import { egress } from "../../domain/Limits.js"

export interface OpenExchange {
  readonly status: number
  /** Names in lower case, in the order in which they came. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** Fails with `BodyTooLarge`, `Stalled`, or what broke the connection. */
  readonly body: AsyncIterable<Uint8Array>
  readonly cancel: () => void
  readonly ended: Promise<void>
}

/** Nothing of the body moved. */
export class Stalled extends Error {}

export interface OpenExchangeOptions {
  /** Largest body in bytes, after decompression. */
  readonly maxBytes: number
  readonly stallMillis: number
}

/** Sends the hop and tells `done` once: the answer's head, or the error before it. The function gives up before that. */
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

/** Bytes that wait here before the sender is asked to wait. */
const waitingBytes = 64 * 1024

class Receiver implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined
  private told = false
  private complete = false
  private patience: NodeJS.Timeout | undefined
  private readonly source: Readable
  private begin: (first: Uint8Array) => void = () => undefined
  private readonly beginning = new Promise<Uint8Array>((resolve) => {
    this.begin = resolve
  })

  constructor(
    private readonly method: string,
    private readonly options: OpenExchangeOptions,
    private readonly done: (result: OpenExchange | Error) => void
  ) {
    this.source = new Readable({
      highWaterMark: waitingBytes,
      read: () => {
        this.moved()
        this.controller?.resume()
      },
      destroy: (error, closed) => {
        clearTimeout(this.patience)
        this.begin(new Uint8Array(0))
        if (!this.complete) this.controller?.abort(error ?? new Error("nobody takes the rest"))
        closed(error)
      }
    })
    // Whoever reads hears of it; without a reader nobody needs to.
    this.source.on("error", () => undefined)
  }

  giveUp(reason: Error): void {
    if (this.told) return
    this.told = true
    this.complete = true
    this.controller?.abort(reason)
    this.source.destroy()
    this.done(reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    // Given up while it waited for a connection: it must not be sent any more.
    if (this.told) controller.abort(new Error("given up before it was sent"))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200 || this.told) return
    const headers = headerPairs(controller.rawHeaders)
    if (headers.length > egress.responseHeaders)
      return this.giveUp(new Error(`the answer has more than ${egress.responseHeaders} headers`))
    const bodiless = this.method === "HEAD" || status === 204 || status === 304
    const encodings = bodiless ? [] : encodingsOf(headers)
    const announced = headers.find(([name]) => name === "content-length")?.[1]
    if (!bodiless && encodings.length === 0 && Number(announced) > this.options.maxBytes)
      return this.giveUp(new BodyTooLarge(`more than ${this.options.maxBytes} bytes`))
    this.told = true
    this.patience = setTimeout(
      () => this.source.destroy(new Stalled(`nothing moved within ${this.options.stallMillis} ms`)),
      this.options.stallMillis
    )
    this.done({
      status,
      // What describes the compressed form is not true of the body that the caller gets.
      headers:
        encodings.length === 0
          ? headers
          : headers.filter(([name]) => name !== "content-encoding" && name !== "content-length"),
      body: capped(
        encodings.length === 0 ? this.source : inflated(this.source, encodings, this.beginning),
        this.options.maxBytes
      ),
      cancel: () => void this.source.destroy(),
      ended: new Promise((resolve) => this.source.once("close", resolve))
    })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.moved()
    this.begin(chunk)
    if (!this.source.push(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    this.complete = true
    this.source.push(null)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.complete = true
    if (this.told) this.source.destroy(error)
    else this.giveUp(error)
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

/** What the body begins with tells what some encodings leave open. */
async function* inflated(
  source: Readable,
  encodings: ReadonlyArray<Encoding>,
  beginning: Promise<Uint8Array>
): AsyncGenerator<Uint8Array> {
  const stages = decoders(encodings, await beginning)
  const last: Readable = stages.at(-1) ?? source
  // It destroys all of them with the first error; whoever reads the last hears of it.
  pipeline([source, ...stages], () => undefined)
  yield* last
}
