/**
 * Whether a path that a caller wrote can lead out of the place that it is put below, as any server may read it: servers
 * decode once or twice, cut parameters off segments (`..;x`), and take a backslash for a slash. Pure.
 */

/** As often as anything decodes, and more. */
const maxDecodings = 8

/** Overlong forms of `.`, `/` and `\`, which are not valid UTF-8 and which some decoders take; and `%u002e`. */
const overlong = /%(?:c[01]|e0%80|e0%81|f0%80%8[01]|u[0-9a-f]{4})/i

/** Dots and slashes of full width, which some file systems take for the narrow ones. */
const narrowForms: { readonly [letter: string]: string } = {
  "\uff0e": ".",
  "\uff0f": "/",
  "\uff3c": "\\",
  "\u2024": "."
}

/** One round of percent decoding; bytes that are no UTF-8 stay single characters. */
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

/** In any reading of it. */
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
