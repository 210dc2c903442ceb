/** Parses URLs. */

/**
 * The parsed URL; `undefined` for other text. `URL.canParse` is not used: in Node 20 it answers `false` for text beyond
 * ASCII once V8 has optimised its caller.
 */
export const parseUrl = (text: string, base?: string): URL | undefined => {
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}
