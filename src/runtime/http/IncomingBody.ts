/**
 * A streamed request body. It is read only as fast as its consumer pulls it: back-pressure slows a fast client, and
 * memory does not depend on the body's length.
 */
import { Duration } from "effect"
import type { IncomingMessage } from "node:http"
import { type Failure, InvalidRequest, PayloadTooLarge } from "../../domain/Failure.js"
import type { BodyStream, AbortedBody } from "../../http/Wire.js"

export interface ArrivalOptions {
  /** Largest body, in bytes. */
  readonly limit: number
  /** How long a requested chunk may take. */
  readonly stall: Duration.Duration
  /** Takes bytes of the node's budget, or returns why there are none left. */
  readonly take?: (bytes: number) => Failure | undefined
  /** Called once, before the first chunk is requested. */
  readonly asked?: () => void
}

/** The error of a body whose client disconnects. */
export const callerGone = "the caller went away"

type Next = Uint8Array | undefined | AbortedBody

const broken = (message: string) => new InvalidRequest({ code: "INVALID_REQUEST", message })

export class IncomingBody implements BodyStream {
  readonly length: number | null
  private readonly waiting: Array<Uint8Array> = []
  private asked: ((next: Next) => void) | undefined
  private end: "whole" | AbortedBody | undefined
  private bytes = 0
  private begun = false
  private patience: NodeJS.Timeout | undefined

  constructor(
    private readonly request: IncomingMessage,
    private readonly options: ArrivalOptions
  ) {
    const told = request.headers["content-length"]
    this.length = told === undefined ? null : Number(told)
    const leave = () => this.finish(broken(callerGone))
    // Nothing is read before the consumer pulls.
    request.pause()
    request
      .on("data", (piece: Buffer) => this.arrive(piece))
      .once("end", () => this.finish("whole"))
      .once("error", leave)
      .once("close", leave)
  }

  next(): Promise<Next> {
    const piece = this.waiting.shift()
    if (piece !== undefined) return Promise.resolve(piece)
    if (this.end !== undefined) return Promise.resolve(this.end === "whole" ? undefined : this.end)
    if (!this.begun) this.options.asked?.()
    this.begun = true
    return new Promise((resolve) => {
      this.asked = resolve
      const { stall } = this.options
      this.patience = setTimeout(
        () => this.finish(broken(`nothing of the body came within ${Duration.format(stall)}`)),
        Duration.toMillis(stall)
      )
      this.request.resume()
    })
  }

  /** Fails the body for its consumer; `false` if it had ended before. */
  fail(message: string): boolean {
    const open = this.end !== "whole"
    this.finish(broken(message))
    return open
  }

  /** Reads and discards the rest. */
  forget(): void {
    this.finish(broken("the request was answered before its body was whole"))
    this.waiting.length = 0
    this.request.resume()
  }

  private arrive(piece: Buffer): void {
    if (this.end !== undefined) return
    this.bytes += piece.length
    this.request.pause()
    const refused = this.bytes > this.options.limit ? undefined : this.options.take?.(piece.length)
    if (this.bytes > this.options.limit) this.finish(new PayloadTooLarge({ limitBytes: this.options.limit }))
    else if (refused !== undefined) this.finish(refused)
    else if (this.asked === undefined) this.waiting.push(piece)
    else this.answer(piece)
  }

  private finish(end: "whole" | Failure): void {
    if (this.end !== undefined) return
    this.end = end === "whole" ? end : { failure: end }
    this.answer(this.end === "whole" ? undefined : this.end)
  }

  private answer(next: Next): void {
    clearTimeout(this.patience)
    const { asked } = this
    this.asked = undefined
    asked?.(next)
  }
}
