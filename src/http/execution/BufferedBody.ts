/**
 * Forwards the body of a proxied request while it is received, and replays it from its beginning when the request is
 * retried. Received chunks are kept in memory, bounded by the limit of a body, until no retry can follow.
 */
import { Cause, Effect } from "effect"
import type { Upload } from "../../actors/ports/Egress.js"
import type { Failure } from "../../domain/Failure.js"
import { GatheredBytes } from "../../domain/GatheredBytes.js"
import type { BodyStream } from "../Wire.js"

/** Bodies of at most this many bytes are read completely before anything is sent. */
const smallBytes = 64 * 1024

/** A request's body, to be read whole or streamed to the provider. */
export interface BufferedBody {
  /** Reads the whole body. Not to be called after `upload`. */
  readonly readAll: Effect.Effect<Uint8Array, Failure>
  /** The body as a stream; `undefined` if it must be read whole, since it is small or of unknown length. */
  readonly upload: () => ReplayableUpload | undefined
  /** Whether receiving the body failed with this failure. */
  readonly isAbortedWith: (failure: Failure) => boolean
}

/** Wraps a body that was read already, or is still being received. */
export const bufferBody = (body: Uint8Array | BodyStream): BufferedBody => {
  if (body instanceof Uint8Array)
    return { readAll: Effect.succeed(body), upload: () => undefined, isAbortedWith: () => false }
  let bytes: Uint8Array | undefined
  let abortFailure: Failure | undefined
  const next = async () => {
    const chunk = await body.next()
    if (chunk !== undefined && !(chunk instanceof Uint8Array)) abortFailure = chunk.failure
    return chunk
  }
  const source: BodyStream = { length: body.length, next }
  return {
    readAll: Effect.suspend(() =>
      bytes === undefined
        ? Effect.tap(collectBody(source), (all) => Effect.sync(() => (bytes = all)))
        : Effect.succeed(bytes)
    ),
    upload: () =>
      bytes === undefined && body.length !== null && body.length > smallBytes
        ? new ReplayableUpload(source, body.length)
        : undefined,
    // Within a span the library wraps a failure in a proxy object.
    isAbortedWith: (failure) => Cause.originalError(failure) === abortFailure
  }
}

const collectBody = Effect.fnUntraced(function* (body: BodyStream): Effect.fn.Return<Uint8Array, Failure> {
  const all = new GatheredBytes(body.length ?? undefined)
  for (;;) {
    const chunk = yield* Effect.promise(() => body.next())
    if (chunk === undefined) return all.whole()
    if (!(chunk instanceof Uint8Array)) return yield* Effect.fail(chunk.failure)
    all.add(chunk)
  }
})

/** An upload whose chunks can be read again from the beginning. A new reader ends the one before. */
export class ReplayableUpload implements Upload {
  private chunks: Array<Uint8Array> = []
  /** The number of chunks that were dropped from the front. */
  private droppedChunks = 0
  private isReplayable = true
  private isComplete = false
  private readers = 0
  private failure: Failure | undefined
  private notifyAborted: (failure: Failure) => void = () => undefined
  private pendingRead: Promise<void> | undefined

  constructor(
    private readonly source: BodyStream,
    readonly length: number
  ) {}

  /** Fails when receiving the body fails, however much of it was forwarded. */
  readonly aborted: Effect.Effect<never, Failure> = Effect.async((resume) => {
    this.notifyAborted = (failure) => resume(Effect.fail(failure))
    if (this.failure !== undefined) this.notifyAborted(this.failure)
  })

  /** No retry follows: chunks are dropped once they are forwarded. */
  stopReplaying(): void {
    this.isReplayable = false
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    this.readers += 1
    const reader = this.readers
    for (let at = 0; ; at++) {
      while (at >= this.droppedChunks + this.chunks.length && !this.isComplete && this.failure === undefined)
        await (this.pendingRead ??= this.readChunk())
      // A thrown error aborts the request to the provider.
      if (reader !== this.readers) throw new Error("the request was retried")
      const chunk = this.chunks[at - this.droppedChunks]
      if (chunk === undefined && this.failure !== undefined)
        throw new Error("the request's body was not received completely")
      if (chunk === undefined) return
      if (!this.isReplayable) {
        this.chunks.splice(0, at + 1 - this.droppedChunks)
        this.droppedChunks = at + 1
      }
      yield chunk
    }
  }

  private async readChunk(): Promise<void> {
    const chunk = await this.source.next()
    this.pendingRead = undefined
    if (chunk === undefined) this.isComplete = true
    else if (chunk instanceof Uint8Array) this.chunks.push(chunk)
    else {
      this.failure = chunk.failure
      this.notifyAborted(chunk.failure)
    }
  }
}
