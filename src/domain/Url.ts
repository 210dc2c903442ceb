/** Parses URLs. */

/** A name of the domain name system has at most 253 characters; its check takes time quadratic in the length. */
const hostLength = 1_000

const leadingControls = /^[^\x21-\uffff]+/

/** Whether what stands for the host, up to the next slash, is longer than one with a port and a login. */
const hasLongHost = (text: string): boolean => {
  if (text.length <= hostLength) return false
  // As the parser of URLs begins: without tabs and line ends, and without what precedes the text.
  const plain = text.replace(/[\t\n\r]/g, "").replace(leadingControls, "")
  const [, host = ""] = /^(?:[a-z][a-z\d+.-]*:[/\\]*|[/\\]{2,})([^/?#\\]*)/i.exec(plain) ?? []
  return host.length > hostLength
}

/**
 * The parsed URL; `undefined` for other text. `URL.canParse` is not used: in Node 20 it answers `false` for text beyond
 * ASCII once V8 has optimised its caller.
 */
export const parseUrl = (text: string, base?: string): URL | undefined => {
  if (hasLongHost(text)) return undefined
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}
