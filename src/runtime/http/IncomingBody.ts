/**
 * The body of a request that is handed on before it is here: it comes as fast as it is asked for, so that a client which
 * sends faster than it can be sent on waits, and memory does not depend on its speed.
 */
import { Duration } from "effect"
import type { IncomingMessage } from "node:http"
import { type Failure, InvalidRequest, PayloadTooLarge } from "../../domain/Failure.js"
import type { BodyStream, AbortedBody } from "../../http/Wire.js"

export interface ArrivalOptions {
  /** Largest body, in bytes. */
  readonly limit: number
  /** How long a piece that is asked for may take. */
  readonly stall: Duration.Duration
  /** Takes bytes of what the node holds; answers why not. */
  readonly take?: (bytes: number) => Failure | undefined
  /** Called once, before the first piece is asked for. */
  readonly asked?: () => void
}

/** Why a body breaks off whose sender does. */
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
    // Nothing flows before it is asked for.
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

  /** It cannot be read on: whoever asks is told why. `false`: it had its end before. */
  fail(message: string): boolean {
    const open = this.end !== "whole"
    this.finish(broken(message))
    return open
  }

  /** Nobody wants the rest: it is read and goes nowhere. */
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
