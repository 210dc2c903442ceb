/** The encodings of a secret value that redaction searches for. */

/** Shorter values are not redacted, since they occur everywhere by chance. */
export const minSecretLength = 4

/** The forms in which a value can appear: as it is, in JSON, in URLs and forms, hexadecimal, base64; one at a time. */
export function* secretForms(value: string): Generator<string, void> {
  const bytes = new TextEncoder().encode(value)
  const json = jsonEscaped(value)
  // Escaped inside a JSON string, and inside a JSON string of a JSON string: a key may have line breaks.
  for (const written of new Set([value, json, jsonEscaped(json)])) {
    yield written
    yield* urlForms(written)
  }
  yield legacyEscaped(value)
  // `btoa` encodes a text of Latin-1 letters by its Latin-1 bytes.
  for (const encoded of isLatin1(value) ? [bytes, latin1Bytes(value)] : [bytes]) {
    yield* hexForms(encoded)
    yield* base64Forms(encoded)
  }
}

/** Whether the text has letters beyond ASCII, and all of them have one byte in Latin-1. */
const isLatin1 = (text: string): boolean => /^[\0-\xff]*$/.test(text) && /[\x80-\xff]/.test(text)
const latin1Bytes = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0))

/** The encodings of URLs and forms; the last is for a URL inside a URL. */
function* urlForms(value: string): Generator<string, void> {
  const url = encodeURIComponent(value.toWellFormed())
  yield url
  // Forms write a plus for a space and encode more characters than `encodeURIComponent`.
  const form = url.replace(/%20/g, "+")
  yield form
  yield form.replace(/[!'()~]/g, percent)
  yield url.replace(/[!'()*~]/g, percent)
  yield lowerPercent(url)
  yield encodeURIComponent(url)
}

/** What the function `escape` of JavaScript writes. */
const legacyEscaped = (text: string): string =>
  text.replace(/[^\w@*+\-./]/g, (letter) => {
    const code = letter.charCodeAt(0)
    return code < 256 ? `%${hexOf(code, 2)}` : `%u${hexOf(code, 4)}`
  })
const hexOf = (code: number, digits: number): string => code.toString(16).toUpperCase().padStart(digits, "0")

const jsonEscaped = (text: string) => JSON.stringify(text).slice(1, -1)
const percent = (letter: string) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`
const lowerPercent = (text: string) => text.replace(/(?:%[0-9A-F]{2})+/g, (codes) => codes.toLowerCase())

/** Decodes ASCII, many times faster than concatenating characters. */
const ascii = (codes: Uint8Array): string => new TextDecoder().decode(codes)
const codesOf = (letters: string): Uint8Array => new TextEncoder().encode(letters)
const hexDigits = codesOf("0123456789abcdef")

function* hexForms(bytes: Uint8Array): Generator<string, void> {
  const codes = new Uint8Array(2 * bytes.length)
  bytes.forEach((byte, at) => {
    codes[2 * at] = hexDigits[byte >> 4] ?? 0
    codes[2 * at + 1] = hexDigits[byte & 15] ?? 0
  })
  const hex = ascii(codes)
  yield hex
  yield hex.toUpperCase()
}

const base64Digits = codesOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

/**
 * Base64 of the bytes at each of the three offsets in a group, without the letters that also encode neighbouring bytes:
 * the rest appears in the base64 of every longer text that contains the value.
 */
function* base64Forms(bytes: Uint8Array): Generator<string, void> {
  for (const offset of [0, 1, 2]) {
    const encoded = base64(bytes, offset)
    const start = Math.ceil((offset * 8) / 6)
    const end = Math.floor(((offset + bytes.length) * 8) / 6)
    const inner = encoded.slice(start, end)
    // Shorter texts of base64 occur by chance.
    for (const form of [...(offset === 0 ? [encoded] : []), ...(inner.length >= 5 ? [inner] : [])]) {
      yield form
      yield form.replace(/\+/g, "-").replace(/\//g, "_")
    }
  }
}

/** Base64 after `offset` zero bytes. Without padding, so that it is also found in text with padding. */
const base64 = (value: Uint8Array, offset: number): string => {
  const bytes = new Uint8Array(offset + value.length)
  bytes.set(value, offset)
  const codes = new Uint8Array(Math.ceil((bytes.length * 8) / 6))
  for (let at = 0; at < codes.length; at++) {
    const bit = at * 6
    const pair = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0)
    codes[at] = base64Digits[(pair >> (10 - (bit & 7))) & 63] ?? 0
  }
  return ascii(codes)
}
