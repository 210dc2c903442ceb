/**
 * Detects paths that could escape from the base path (path traversal) in any server's reading: servers decode once or
 * twice, cut parameters off segments (`..;x`), and read a backslash as a slash. Pure.
 */

/** More rounds of decoding than any server makes. */
const maxDecodings = 8

/** Overlong forms of `.`, `/` and `\`, which are not valid UTF-8 but which some decoders accept; and `%u002e`. */
const overlong = /%(?:c[01]|e0%80|e0%81|f0%80%8[01]|u[0-9a-f]{4})/i

/** Full-width dots and slashes, which some file systems treat as the ASCII ones. */
const narrowForms: { readonly [letter: string]: string } = {
  "\uff0e": ".",
  "\uff0f": "/",
  "\uff3c": "\\",
  "\u2024": "."
}

/** One round of percent decoding; invalid UTF-8 becomes replacement characters. */
const decodeOnce = (text: string): string =>
  text
    .replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
      const bytes = run
        .slice(1)
        .split("%")
        .map((hex) => Number.parseInt(hex, 16))
      return new TextDecoder().decode(Uint8Array.from(bytes))
    })
    .replace(/[\uff0e\uff0f\uff3c\u2024]/g, (letter) => narrowForms[letter] ?? letter)

const hasEscape = (text: string): boolean =>
  /[\\\p{Cc}]/u.test(text) || text.split("/").some((part) => /^\.{1,2}\s*$/.test(part.split(";")[0] ?? ""))

/** Whether the path escapes in any reading. */
export const canEscape = (path: string): boolean => {
  let text = path
  for (let round = 0; round <= maxDecodings; round++) {
    if (overlong.test(text) || hasEscape(text)) return true
    const next = decodeOnce(text)
    if (next === text) return false
    text = next
  }
  return true
}
