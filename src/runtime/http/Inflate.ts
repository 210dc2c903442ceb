/** Inflates compressed request bodies within their limit, outside the main thread. */
import { brotliDecompress, gunzip, inflate, inflateRaw, type ZlibOptions } from "node:zlib"
import { type Failure, InvalidRequest, PayloadTooLarge } from "../../domain/Failure.js"
import type { Holding } from "../../actors/ports/HeldBytes.js"
import { takeForBody } from "./BodyReceiver.js"
import { inflationRatio } from "../../domain/Limits.js"
import { isZlib } from "../egress/Inflate.js"

type Inflater = (
  body: Uint8Array,
  options: Pick<ZlibOptions, "maxOutputLength">,
  done: (error: NodeJS.ErrnoException | null, inflated: Uint8Array) => void
) => void

const inflateEither: Inflater = (body, options, done) => (isZlib(body) ? inflate : inflateRaw)(body, options, done)

const inflaters: { readonly [encoding: string]: Inflater } = {
  gzip: gunzip,
  "x-gzip": gunzip,
  deflate: inflateEither,
  br: brotliDecompress
}
/** A body this small may become larger by more than the ratio. */
const smallBytes = 64 * 1024

/**
 * Calls `done` once, with the body as its sender wrote it or why it is refused. `limit`: bytes of the inflated body, which
 * are taken from the holding before.
 */
export const inflateBody = (
  body: Uint8Array,
  contentEncoding: string | undefined,
  { holding, limit }: { readonly limit: number; readonly holding: () => Holding },
  done: (inflated: Uint8Array | Failure) => void
): void => {
  const encoding = contentEncoding?.trim().toLowerCase()
  if (encoding === undefined || encoding === "identity" || body.byteLength === 0) return done(body)
  const inflater = Object.hasOwn(inflaters, encoding) ? inflaters[encoding] : undefined
  if (inflater === undefined)
    return done(
      new InvalidRequest({ code: "INVALID_HEADER", message: "content-encoding must be gzip, deflate, br or absent" })
    )
  const most = Math.min(limit, Math.max(smallBytes, body.byteLength * inflationRatio))
  const held = holding()
  const refused = takeForBody(held, most)
  if (refused !== undefined) return done(refused)
  inflater(body, { maxOutputLength: most }, (error, inflated) => {
    if (error === null) {
      held.give(most - inflated.byteLength)
      return done(inflated)
    }
    held.release()
    done(
      error.code === "ERR_BUFFER_TOO_LARGE"
        ? new PayloadTooLarge({ limitBytes: most, ...(most < limit ? { ratio: inflationRatio } : {}) })
        : new InvalidRequest({ code: "INVALID_REQUEST", message: "the body is not what content-encoding says" })
    )
  })
}
