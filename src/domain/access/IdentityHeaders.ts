/**
 * The headers that say on whose behalf a request acts, and how their values carry text. The server has a header's value as
 * the bytes that were sent, one character each; text beyond ASCII is sent in UTF-8.
 */

/** In the order of the message that `x-identity-hmac` signs. */
export const identityHeaders = [
  "x-org-id",
  "x-user-id",
  "x-end-org-id",
  "x-end-org-ref",
  "x-installation-id",
  "x-svc-connections",
  "x-svc-installation-config",
  "x-svc-space-tenantid"
] as const

const names: ReadonlySet<string> = new Set(identityHeaders)

/** `name`: in lower case. */
export const isIdentityHeader = (name: string): boolean => names.has(name)

const beyondAscii = /[^\0-\x7f]/
const beyondBytes = /[^\0-\xff]/

// A byte order mark is a part of the text: the value is that of the sender, and no file.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()

/** The bytes of a header's value or of several with line breaks; text that is not of bytes is written in UTF-8. */
export const bytesOfHeader = (value: string): Uint8Array =>
  beyondBytes.test(value) ? encoder.encode(value) : Uint8Array.from(value, (letter) => letter.charCodeAt(0))

/** The text of a header's value: of bytes that are valid UTF-8, else of Latin-1. Nothing is percent-decoded. */
export const textOfHeader = (value: string): string => {
  if (!beyondAscii.test(value) || beyondBytes.test(value)) return value
  try {
    return decoder.decode(bytesOfHeader(value))
  } catch {
    return value
  }
}

/** The value that a header carries for a text, of which `textOfHeader` is the inverse. The text must be well-formed. */
export const headerOfText = (text: string): string => {
  if (!beyondAscii.test(text)) return text
  let value = ""
  for (const byte of encoder.encode(text)) value += String.fromCharCode(byte)
  return value
}
