/** The origins of pages that may show the panel, and whose scripts may call the API with its token. Contract: embed. */
import { Schema } from "effect"
import { parseUrl } from "../Url.js"

/** Origins that one widget or session names, and characters of each: a name of 253 with its scheme and port. */
export const embedOrigins = { most: 20, length: 267 } as const

const loopback: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"])

/** A name, or an address. Other characters that a URL's host may have would end a directive of a content policy. */
const host = /^(?:[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*|\[[0-9a-f:.]+\])$/

const form = "must be an origin such as https://app.example.com"

/** Why a text is no origin that may be named, with what to write instead; `undefined` if it is one. */
const originMistake = (text: string): string | undefined => {
  if (text.length > embedOrigins.length) return `${form}, of at most ${embedOrigins.length} characters`
  if (text.includes("*")) return `${form}: name each origin, without *`
  if (text === "null") return `${form}: null is the origin of any sandboxed page, and cannot be allowed`
  const url = parseUrl(text)
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) return `${form}: a scheme, a host and a port`
  const { hostname, origin, protocol } = url
  if (hostname.endsWith(".")) return `${form}: write its host without the dot at the end`
  if (!host.test(hostname)) return `${form}: its host must be a name of letters, digits and hyphens, or an address`
  if (protocol === "http:" && !loopback.has(hostname))
    return `${form}: write https, since http is for localhost, 127.0.0.1 and [::1]`
  return text === origin ? undefined : `must be written as browsers send it: ${origin}`
}

/** An origin of a page: `https`, or `http` of this machine; as browsers write it in the header `Origin`. */
export const EmbedOrigin = Schema.String.pipe(
  Schema.filter((text) => originMistake(text) ?? true, {
    description: "an origin as browsers send it: https://app.example.com, or http of localhost, 127.0.0.1 or [::1]"
  })
)

/** Whether a stored origin may be named to browsers: what it may not be, such as `*`, would let other pages in. */
export const isEmbedOrigin = Schema.is(EmbedOrigin)

/** The origins that a widget or a session allows, each once. */
export const EmbedOrigins = Schema.Array(EmbedOrigin).pipe(
  Schema.maxItems(embedOrigins.most, { message: () => `must have at most ${embedOrigins.most} origins` }),
  Schema.filter((all) => new Set(all).size === all.length || "must name each origin once")
)
