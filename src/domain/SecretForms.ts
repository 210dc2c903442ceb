/** The encodings of a secret value that redaction searches for. */

/** Shorter values are not redacted, since they occur everywhere by chance. */
export const minSecretLength = 4

/** The forms in which a value can appear: as it is, in JSON, in URLs and forms, hexadecimal, base64. */
export const secretForms = (value: string): ReadonlyArray<string> => {
  const bytes = new TextEncoder().encode(value)
  const json = jsonWritten(value)
  // Escaped inside a JSON string, and inside a JSON string of a JSON string: a key may have line breaks.
  const written = [...new Set([value, json, jsonWritten(json)])]
  return [...written, ...written.flatMap(urlForms), ...hexForms(bytes), ...base64Forms(bytes)].filter(
    (form) => form.length >= minSecretLength
  )
}

/** The encodings of URLs and forms; the last is for a URL inside a URL. */
const urlForms = (value: string): ReadonlyArray<string> => {
  const url = encodeURIComponent(value.toWellFormed())
  return [
    url,
    // Forms write a plus for a space and encode more characters than encodeURIComponent.
    url.replace(/%20/g, "+"),
    url.replace(/%20/g, "+").replace(/[!'()~]/g, percent),
    url.replace(/[!'()*~]/g, percent),
    lowerPercent(url),
    encodeURIComponent(url)
  ]
}

const jsonWritten = (text: string) => JSON.stringify(text).slice(1, -1)
const percent = (letter: string) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`
const lowerPercent = (text: string) => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())

const hexForms = (bytes: Uint8Array): ReadonlyArray<string> => {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
  return [hex, hex.toUpperCase()]
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/**
 * Base64 of the bytes at each of the three offsets in a group, without the letters that also encode neighbouring bytes:
 * the rest appears in the base64 of every longer text that contains the value.
 */
const base64Forms = (bytes: Uint8Array): ReadonlyArray<string> =>
  [0, 1, 2].flatMap((offset) => {
    const encoded = base64([...Array.from({ length: offset }, () => 0), ...bytes])
    const start = Math.ceil((offset * 8) / 6)
    const end = Math.floor(((offset + bytes.length) * 8) / 6)
    const inner = encoded.slice(start, end)
    const exact = offset === 0 ? [encoded] : []
    // Shorter texts of base64 occur by chance.
    return [...exact, ...(inner.length >= 5 ? [inner] : [])].flatMap((form) => [
      form,
      form.replace(/\+/g, "-").replace(/\//g, "_")
    ])
  })

/** Without padding, so that it is also found in text with padding. */
const base64 = (bytes: ReadonlyArray<number>): string => {
  let out = ""
  let buffered = 0
  let bits = 0
  for (const byte of bytes) {
    buffered = (buffered << 8) | byte
    for (bits += 8; bits >= 6;) {
      bits -= 6
      out += alphabet.charAt((buffered >> bits) & 63)
    }
    buffered &= (1 << bits) - 1
  }
  return bits === 0 ? out : out + alphabet.charAt((buffered << (6 - bits)) & 63)
}
