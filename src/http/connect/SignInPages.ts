/**
 * The pages on which people sign in and out. The token of a link is in its fragment, so that no log and no proxy has it: the
 * page's script posts it.
 */
import { Clock, Effect, Option, Redacted } from "effect"
import { SignIn } from "../../actors/management/access/SignIn.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { Origin } from "../../actors/ports/Origin.js"
import { readFormFields } from "../../domain/FormFields.js"
import type { Browser } from "../../domain/access/Session.js"
import { RefusalCounters, subscriberOf } from "../auth/RefusalCounters.js"
import { makeSessionCookie } from "../auth/SessionCookie.js"
import { html, type Markup } from "../Markup.js"
import { pathOf, type RawReply, type RawRequest } from "../Wire.js"
import { pageReply, redirectReply } from "./PageReply.js"

const loginPath = "/login"
const logoutPath = "/logout"
const linkToken = /^[A-Za-z0-9_-]{43}$/

/** Posts the token that the link has, and takes it out of the address and the history first. */
const script: Markup = {
  html: `const token = /^#token=([A-Za-z0-9_-]{43})$/.exec(location.hash)
history.replaceState(null, "", location.pathname)
if (token) {
  const form = document.querySelector("form[data-sign-in]")
  form.elements.token.value = token[1]
  form.submit()
}`
}

const signedOut = html`<form method="post" action="${loginPath}" data-sign-in>
    <input type="hidden" name="token" />
  </form>
  <p>You are not signed in. Run this where the service runs, and open the link that it prints:</p>
  <blockquote>npm run svc -- console</blockquote>`

const signedIn = (email: string): Markup =>
  html`<p>You are signed in as ${email}.</p>
    <form method="post" action="${logoutPath}"><button>Sign out</button></form>`

/** The token of a posted form. */
const postedToken = (body: Uint8Array): string | undefined => {
  let token: string | undefined
  const problem = readFormFields(body, 1, (name, value) => {
    if (name === "token") token = value
  })
  return problem === undefined && token !== undefined && linkToken.test(token) ? token : undefined
}

/** `addressOf`: the client's address of a request. */
export const make = Effect.fnUntraced(function* (addressOf: (request: RawRequest) => string) {
  const signIn = yield* SignIn
  const identifiers = yield* Identifiers
  const origin = yield* Origin
  const cookie = makeSessionCookie(origin)
  const { signIns } = yield* RefusalCounters

  const page = (status: number, title: string, body: Markup, withScript = false): RawReply =>
    pageReply({ status, title, nonce: identifiers.token(22), body, ...(withScript ? { script } : {}) })
  const message = (status: number, title: string, text: string) => page(status, title, html`<p>${text}</p>`)

  const browserOf = (request: RawRequest): Browser => ({
    ip: addressOf(request),
    userAgent: request.headers["user-agent"]?.slice(0, 500) ?? null
  })

  const withCookie = (setCookie: string): RawReply => {
    const reply = redirectReply(loginPath)
    return { ...reply, headers: { ...reply.headers, "set-cookie": setCookie } }
  }

  const show = Effect.fnUntraced(function* (request: RawRequest) {
    const token = cookie.tokenOf(request)
    const email = token === undefined ? undefined : yield* signIn.emailOf(token)
    return email === undefined
      ? page(200, "Sign in", signedOut, true)
      : // A new link signs in whoever it names, also in a browser where somebody is signed in.
        page(
          200,
          "Signed in",
          html`${signedIn(email)}
            <form method="post" action="${loginPath}" data-sign-in><input type="hidden" name="token" /></form>`,
          true
        )
  })

  const open = Effect.fnUntraced(function* (request: RawRequest) {
    const from = subscriberOf(addressOf(request))
    const now = yield* Clock.currentTimeMillis
    if (signIns.exceeded(from, now) !== undefined) {
      const limited = message(429, "Too many tries", "Wait a minute, then open a new link.")
      return { ...limited, headers: { ...limited.headers, "retry-after": "60" } }
    }
    signIns.count(from, now)
    const token = postedToken(request.body)
    const opened = token === undefined ? Option.none() : yield* signIn.open(token, browserOf(request))
    return Option.isNone(opened)
      ? message(
          410,
          "This link has ended",
          "A link signs in once, within 15 minutes. Run npm run svc -- console again."
        )
      : withCookie(cookie.of(Redacted.value(opened.value)))
  })

  const close = Effect.fnUntraced(function* (request: RawRequest) {
    const token = cookie.tokenOf(request)
    if (token !== undefined) yield* signIn.close(token, browserOf(request))
    return withCookie(cookie.cleared)
  })

  const reply = (request: RawRequest, path: string) => {
    const { method } = request
    if (path === loginPath && (method === "GET" || method === "HEAD")) return show(request)
    if (method !== "POST") {
      const refused = message(405, "Not here", "This page takes another method.")
      const allow = path === loginPath ? "GET, POST" : "POST"
      return Effect.succeed({ ...refused, headers: { ...refused.headers, allow } })
    }
    if (!cookie.isPrivate)
      return Effect.succeed(
        message(403, "Not over plain HTTP", "Set SVC_PUBLIC_URL to an address that begins with https:")
      )
    if (!cookie.isFromOwnPage(request))
      return Effect.succeed(message(403, "Not from here", `Another site asked for this. Open ${origin}${loginPath}.`))
    return path === loginPath ? open(request) : close(request)
  }

  /** `undefined` for other paths. */
  return (request: RawRequest): Effect.Effect<RawReply> | undefined => {
    const path = pathOf(request.target)
    return path === loginPath || path === logoutPath
      ? Effect.catchAll(reply(request, path), () =>
          Effect.succeed(message(503, "Not now", "Please try again in a moment."))
        )
      : undefined
  }
})
