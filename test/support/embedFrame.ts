/** The panel's page as a browser gets it, and what its headers let be done with it. */
import { assert } from "@effect/vitest"
import { JSDOM } from "jsdom"
import { embedFramePath } from "../../src/domain/access/EmbedFrame.js"
import type { RawReply } from "../../src/http/Wire.js"

/** The target of a request for the page. */
export const targetOf = (token: string) => `${embedFramePath}?token=${token}`

/** The head of such a request. */
export const headFor = (token: string) => ({
  method: "GET",
  target: targetOf(token),
  headers: {},
  remoteAddress: "192.0.2.72"
})

/** The page without its scripts. */
export const documentOf = (text: string) =>
  new JSDOM(text, { runScripts: "outside-only", url: "http://127.0.0.1/" }).window.document

/** The data of the page; fails if it has none. */
export const dataOf = (text: string) => {
  const meta = documentOf(text).querySelector('meta[name="svc-panel"]')
  return JSON.parse(meta?.getAttribute("content") ?? assert.fail(text))
}

/** The headers that say how the page may be shown. */
export const framingOf = ({ headers }: Pick<RawReply, "headers">) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name !== "x-request-id"))

/** Those of a page that these origins may frame. */
export const framed = (origins: string) => ({
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "font-src 'self'; form-action 'none'; base-uri 'none'; " +
    `frame-ancestors ${origins}; require-trusted-types-for 'script'`
})

/** Those of a page that none may. */
export const unframed = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
}
