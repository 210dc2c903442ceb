/** Decompresses the bodies of responses. */
import type { Transform } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib"

export type Encoding = "gzip" | "deflate" | "br"
const encodingNames: ReadonlyMap<string, Encoding> = new Map([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
  ["br", "br"]
])
const mostEncodings = 2

/** The encodings of a body, in the order in which they were applied; none if one of them is unknown. */
export const encodingsOf = (headers: ReadonlyArray<readonly [string, string]>): ReadonlyArray<Encoding> => {
  const names = headers
    .filter(([name]) => name === "content-encoding")
    .flatMap(([, value]) => value.toLowerCase().split(","))
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity")
  const known = names.flatMap((name) => encodingNames.get(name) ?? [])
  return known.length === names.length && known.length <= mostEncodings ? known : []
}

export interface Inflater {
  /** False when its buffer is full; `drained` is called when it accepts more. */
  readonly write: (chunk: Uint8Array, drained: () => void) => boolean
  readonly end: (complete: () => void) => void
  readonly destroy: () => void
}

export const inflate = (
  encodings: ReadonlyArray<Encoding>,
  start: Uint8Array,
  collect: (chunk: Uint8Array) => void,
  fail: (error: Error) => void
): Inflater => {
  const stages = decoders(encodings, start)
  const [first] = stages
  const last = stages.at(-1)
  if (first === undefined || last === undefined) throw new Error("an inflater needs an encoding")
  for (const stage of stages)
    stage.on("error", (error: Error) => fail(new Error(`the compressed body is broken: ${error.message}`)))
  for (let i = 1; i < stages.length; i++) stages[i - 1]?.pipe(stages[i] ?? last)
  last.on("data", collect)
  return {
    write: (chunk, drained) => {
      const takesMore = first.write(chunk)
      if (!takesMore) first.once("drain", drained)
      return takesMore
    },
    end: (complete) => {
      last.once("end", complete)
      first.end()
    },
    destroy: () => {
      for (const stage of stages) stage.destroy()
    }
  }
}

/** One decoder for each encoding, the last applied one first. `start`: the first bytes of the body. */
export const decoders = (encodings: ReadonlyArray<Encoding>, start: Uint8Array): ReadonlyArray<Transform> =>
  encodings.toReversed().map((encoding, at) => decoder(encoding, at === 0 ? start : undefined))

const decoder = (encoding: Encoding, start: Uint8Array | undefined): Transform => {
  if (encoding === "gzip") return createGunzip()
  if (encoding === "br") return createBrotliDecompress()
  return start === undefined || isZlib(start) ? createInflate() : createInflateRaw()
}

/** Whether a body in "deflate" has a zlib header, on which senders disagree; its first byte tells. */
export const isZlib = (start: Uint8Array): boolean => ((start[0] ?? 8) & 15) === 8
