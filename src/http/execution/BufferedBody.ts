/**
 * The body of a request while it comes in: sent on at once, and again from its beginning as often as the request is
 * tried again. What has come is kept for that, which the limit of a body bounds, until no further try can follow.
 */
import { Cause, Effect } from "effect"
import type { Upload } from "../../actors/ports/Egress.js"
import { joined } from "../../domain/connector/Content.js"
import type { Failure } from "../../domain/Failure.js"
import type { BodyToCome } from "../Wire.js"

/** Bodies up to this many bytes are read whole first: they are here almost at once. */
const smallBytes = 64 * 1024

const piecesOfBlock = 1024

export interface Arriving {
  /** All of it, once it is here. Not after `upload`. */
  readonly whole: Effect.Effect<Uint8Array, Failure>
  /** The body to be sent on while it comes; `undefined` where it is to be read whole. */
  readonly upload: () => Replay | undefined
  /** Whether this is what the body broke off with. */
  readonly broke: (failure: Failure) => boolean
}

export const arriving = (body: Uint8Array | BodyToCome): Arriving => {
  if (body instanceof Uint8Array) return { whole: Effect.succeed(body), upload: () => undefined, broke: () => false }
  let read: Uint8Array | undefined
  let broken: Failure | undefined
  const next = async () => {
    const piece = await body.next()
    if (piece !== undefined && !(piece instanceof Uint8Array)) broken = piece.failure
    return piece
  }
  const source: BodyToCome = { length: body.length, next }
  return {
    whole: Effect.suspend(() =>
      read === undefined
        ? Effect.tap(collected(source), (bytes) => Effect.sync(() => (read = bytes)))
        : Effect.succeed(read)
    ),
    upload: () =>
      read === undefined && body.length !== null && body.length > smallBytes
        ? new Replay(source, body.length)
        : undefined,
    // Within a span the library hands a failure on as a view of it.
    broke: (failure) => Cause.originalError(failure) === broken
  }
}

const collected = Effect.fnUntraced(function* (body: BodyToCome): Effect.fn.Return<Uint8Array, Failure> {
  const blocks: Array<Uint8Array> = []
  let pieces: Array<Uint8Array> = []
  for (;;) {
    const piece = yield* Effect.promise(() => body.next())
    if (piece === undefined) return joined([...blocks, ...pieces])
    if (!(piece instanceof Uint8Array)) return yield* Effect.fail(piece.failure)
    pieces.push(piece)
    // A body in very small pieces takes no more memory than another.
    if (pieces.length < piecesOfBlock) continue
    blocks.push(joined(pieces))
    pieces = []
  }
})

export class Replay implements Upload {
  private kept: Array<Uint8Array> = []
  /** Pieces that are not kept any more. */
  private gone = 0
  private keeps = true
  private whole = false
  private readers = 0
  private failure: Failure | undefined
  private tell: (failure: Failure) => void = () => undefined
  private coming: Promise<void> | undefined

  constructor(
    private readonly source: BodyToCome,
    readonly length: number
  ) {}

  /** Fails once the body has broken off, however far it was sent on. */
  readonly lost: Effect.Effect<never, Failure> = Effect.async((resume) => {
    this.tell = (failure) => resume(Effect.fail(failure))
    if (this.failure !== undefined) this.tell(this.failure)
  })

  /** Nothing is tried again: what was sent need not be kept. */
  settle(): void {
    this.keeps = false
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    this.readers += 1
    const nth = this.readers
    for (let at = 0; ; at++) {
      while (at >= this.gone + this.kept.length && !this.whole && this.failure === undefined)
        await (this.coming ??= this.pull())
      // The request ends abnormally where its body does.
      if (nth !== this.readers) throw new Error("the request was tried again")
      const piece = this.kept[at - this.gone]
      if (piece === undefined && this.failure !== undefined) throw new Error("the request's body broke off")
      if (piece === undefined) return
      if (!this.keeps) {
        this.kept.splice(0, at + 1 - this.gone)
        this.gone = at + 1
      }
      yield piece
    }
  }

  private async pull(): Promise<void> {
    const piece = await this.source.next()
    this.coming = undefined
    if (piece === undefined) this.whole = true
    else if (piece instanceof Uint8Array) this.kept.push(piece)
    else {
      this.failure = piece.failure
      this.tell(piece.failure)
    }
  }
}
