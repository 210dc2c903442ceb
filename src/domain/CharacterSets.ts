/** Decodes bytes from outside by the character set that they or their content type name. What cannot be decoded is told. Pure. */
import { Either } from "effect"

/** A decoder that throws for what is no text of its character set. */
export type Decoder = Pick<InstanceType<typeof TextDecoder>, "decode" | "encoding">

/** The letters of windows-1252 for the bytes from 0x80 to 0x9f, which Node 20 decodes as if it were ISO-8859-1. */
const lettersOf1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

/** The decoder of a character set; `undefined`: it is unknown. */
const decoderOf = (charset: string, ignoreBOM = false): Decoder | undefined => {
  try {
    const decoder = new TextDecoder(charset, { fatal: true, ignoreBOM })
    if (decoder.encoding !== "windows-1252") return decoder
    const letterOf = (control: string) => lettersOf1252[control.charCodeAt(0) - 0x80] ?? control
    return {
      encoding: decoder.encoding,
      decode: (bytes) => decoder.decode(bytes).replace(/[\u0080-\u009f]/g, letterOf)
    }
  } catch {
    return undefined
  }
}

/** The parameter `charset` of a content type; `undefined` without one. */
export const charsetOf = (contentType: string | undefined): string | undefined =>
  /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType ?? "")?.[1]

/**
 * The decoder for a form. Names and values are cut out of its bytes, so that the character set must contain ASCII; it keeps a byte
 * order mark. `undefined`: the character set is unknown, or does not contain ASCII.
 */
export const formDecoder = (charset = "utf-8"): Decoder | undefined => {
  const decoder = decoderOf(charset, true)
  return decoder === undefined || /^(?:utf-16|iso-2022|replacement)/.test(decoder.encoding) ? undefined : decoder
}

/** What a text begins with in a character set that it tells by that: byte order marks, and `<?` in UTF-16. */
const beginnings: ReadonlyArray<readonly [charset: string, bytes: ReadonlyArray<number>]> = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16be", [0xfe, 0xff]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0, 0x3c, 0, 0x3f]],
  ["utf-16le", [0x3c, 0, 0x3f, 0]]
]

const ownCharset = (bytes: Uint8Array): string | undefined =>
  beginnings.find(([, start]) => start.every((byte, at) => bytes[at] === byte))?.[0]

/** Bytes within which the declaration of an XML document ends. */
const declarationLength = 256

/** The character set in the declaration of an XML document: `<?xml version="1.0" encoding="ISO-8859-1"?>`. */
const declaredCharset = (bytes: Uint8Array): string | undefined => {
  if (bytes[0] !== 0x3c || bytes[1] !== 0x3f) return undefined
  const start = String.fromCharCode(...bytes.subarray(0, declarationLength))
  const found = /^<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)["']/.exec(start)?.[1]
  // A declaration that can be read is not in UTF-16.
  return found !== undefined && /^utf-?16/i.test(found) ? "utf-8" : found
}

/**
 * The text of a body: in the character set of its byte order mark, its content type or its XML declaration, else UTF-8. A byte
 * order mark is left out. Left: why it cannot be decoded.
 */
export const decodeText = (bytes: Uint8Array, contentType: string | undefined): Either.Either<string, string> => {
  const charset = ownCharset(bytes) ?? charsetOf(contentType) ?? declaredCharset(bytes) ?? "utf-8"
  const decoder = decoderOf(charset)
  try {
    return Either.right((decoder ?? new TextDecoder("utf-8", { fatal: true })).decode(bytes))
  } catch {
    return Either.left(
      decoder === undefined
        ? `is neither UTF-8 nor in a known character set: its content type names ${charset.slice(0, 40)}`
        : `has bytes that are no text in ${decoder.encoding}`
    )
  }
}

/** Like `decodeText`, with a replacement character for what cannot be decoded: for texts that are only shown. */
export const showText = (bytes: Uint8Array, contentType: string | undefined): string =>
  Either.getOrElse(decodeText(bytes, contentType), () => new TextDecoder().decode(bytes))
