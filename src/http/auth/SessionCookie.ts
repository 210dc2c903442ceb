/**
 * The cookie of a session, and the requests that it speaks for: those that the service's own pages send. Another site can
 * make a browser send the cookie, but neither these headers nor read the answer.
 */
import { Duration } from "effect"
import { sessionLimits } from "../../domain/access/Session.js"
import type { RequestHead } from "../Wire.js"

/** A header that pages of the service send with each change. Forms cannot. */
const consoleHeader = "x-svc-console"

/** The form of a session's token. */
const tokenPattern = /^[A-Za-z0-9_-]{43}$/
/** Cookies that are looked at. */
const mostCookies = 100

/** A cookie with a token of one purpose, such as `session`. `origin`: the service's public URL. */
export const makeTokenCookie = (origin: string, purpose: string, lifetime: Duration.Duration) => {
  const { port, protocol } = new URL(origin)
  const isSecure = protocol === "https:"
  // Of services on plain HTTP, which serve their own machine only, each has a name of its own.
  const name = isSecure ? `__Host-svc_${purpose}` : `svc_${purpose}_${port === "" ? "80" : port}`
  const attributes = (maxAge: number) =>
    `Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`
  return {
    /** `Set-Cookie` of a new token. */
    of: (token: string): string => `${name}=${token}; ${attributes(Duration.toSeconds(lifetime))}`,
    /** `Set-Cookie` that removes it. */
    cleared: `${name}=; ${attributes(0)}`,
    /** The token that the request presents. */
    tokenOf: ({ headers }: Pick<RequestHead, "headers">): string | undefined => {
      const pairs = (headers["cookie"] ?? "").split(";", mostCookies)
      const own = pairs.map((pair) => pair.trim()).find((pair) => pair.startsWith(`${name}=`))
      const token = own?.slice(name.length + 1)
      return token !== undefined && tokenPattern.test(token) ? token : undefined
    }
  }
}

/** Of `origin`, the service's public URL. */
export const makeSessionCookie = (origin: string) => {
  const { hostname, protocol } = new URL(origin)
  const isSecure = protocol === "https:"

  /**
   * Whether a page of the service sent the request. A browser always says one of the two; a form of a page without a
   * referrer has the origin `null`, beside a `Sec-Fetch-Site` that only a page of the service gets.
   */
  const isFromOwnPage = ({ headers }: Pick<RequestHead, "headers">): boolean => {
    const site = headers["sec-fetch-site"]
    const sender = headers["origin"]
    return (
      (site !== undefined || sender !== undefined) &&
      (site === undefined || site === "same-origin") &&
      (sender === undefined || sender === origin || (sender === "null" && site === "same-origin"))
    )
  }

  return {
    /** Whether browsers keep the cookie to themselves: the service has HTTPS, or is on the browser's own machine. */
    isPrivate: isSecure || hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname),
    ...makeTokenCookie(origin, "session", sessionLimits.lifetime),
    isFromOwnPage,
    /** Whether the session of a request's cookie may act: no form and no other site sends such a request. */
    mayAct: (request: Pick<RequestHead, "headers" | "method">): boolean =>
      isFromOwnPage(request) &&
      (request.method === "GET" || request.method === "HEAD" || request.headers[consoleHeader] !== undefined)
  }
}
