/**
 * What the pages on which people sign in share: replies, limits of tries, and which requests they take. The token of a link is
 * in its fragment, so that no log and no proxy has it: the page's script posts it.
 */
import { Clock, Effect } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { Origin } from "../../actors/ports/Origin.js"
import type { Browser } from "../../domain/access/Session.js"
import { readFormFields } from "../../domain/FormFields.js"
import { RefusalCounters, subscriberOf } from "../auth/RefusalCounters.js"
import { makeSessionCookie } from "../auth/SessionCookie.js"
import { html, type Markup } from "../Markup.js"
import { pathOf, type RawReply, type RawRequest } from "../Wire.js"
import { pageReply, redirectReply } from "./PageReply.js"

/** Where the pages that people sign in for begin. */
export const consolePath = "/console/"

const linkToken = /^[A-Za-z0-9_-]{43}$/
/** Fields of a posted form. */
const formFields = 5
const longestNext = 2_000

/** Posts the token that the link has, and takes it out of the address and the history first. */
export const tokenScript: Markup = {
  html: `const token = /^#token=([A-Za-z0-9_-]{43})$/.exec(location.hash)
history.replaceState(null, "", location.pathname + location.search)
if (token) {
  const form = document.querySelector("form[data-sign-in]")
  form.elements.token.value = token[1]
  form.submit()
}`
}

/** The form that `tokenScript` posts. */
export const tokenForm = (path: string, next = ""): Markup =>
  html`<form method="post" action="${path}" data-sign-in>
    <input type="hidden" name="token" /><input type="hidden" name="next" value="${next}" />
  </form>`

/** The fields of a posted form; `undefined`: it is no form of these pages. */
export const readSignInForm = (body: Uint8Array): ReadonlyMap<string, string> | undefined => {
  const fields = new Map<string, string>()
  const problem = readFormFields(body, formFields, (name, value) => void fields.set(name, value))
  return problem === undefined ? fields : undefined
}

/** The token of a link among the fields of a form. */
export const tokenOf = (fields: ReadonlyMap<string, string> | undefined): string | undefined => {
  const token = fields?.get("token")
  return token !== undefined && linkToken.test(token) ? token : undefined
}

/** The path to go to after signing in, if it is one of the console's; else its first page. */
export const safeNext = (next: string | null | undefined): string => {
  if (next === null || next === undefined || next.length > longestNext || !/^\/console\/[!-[\]-~]*$/.test(next))
    return consolePath
  // As a browser reads it: without dot segments, on the same origin.
  const url = new URL(next, "https://svc.invalid")
  const path = `${url.pathname}${url.search}`
  return url.host === "svc.invalid" && path.startsWith(consolePath) ? path : consolePath
}

/** The path to go to after signing in, that the query of a request names. */
export const nextOf = (target: string): string => {
  const at = target.indexOf("?")
  return safeNext(at < 0 ? undefined : new URLSearchParams(target.slice(at + 1, at + 4 * longestNext)).get("next"))
}

/** Several requests of one page that open different things, by method. */
export interface SignInPage {
  readonly show?: (request: RawRequest) => Effect.Effect<RawReply, unknown>
  readonly post?: (
    request: RawRequest,
    fields: ReadonlyMap<string, string> | undefined
  ) => Effect.Effect<RawReply, unknown>
}

/** `addressOf`: the client's address of a request. */
export const makeSignInFrame = Effect.fnUntraced(function* (addressOf: (request: RawRequest) => string) {
  const identifiers = yield* Identifiers
  const origin = yield* Origin
  const cookie = makeSessionCookie(origin)
  const { signIns } = yield* RefusalCounters

  const page = (
    status: number,
    title: string,
    body: Markup,
    more: { script?: Markup; formTargets?: ReadonlyArray<string> } = {}
  ) => pageReply({ status, title, nonce: identifiers.token(22), body, ...more })
  const message = (status: number, title: string, text: string): RawReply => page(status, title, html`<p>${text}</p>`)

  const browserOf = (request: RawRequest): Browser => ({
    ip: addressOf(request),
    userAgent: request.headers["user-agent"]?.slice(0, 500) ?? null
  })

  const limitedBy = (keys: ReadonlyArray<string>): Effect.Effect<RawReply | undefined> =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      if (keys.every((key) => signIns.exceeded(key, now) === undefined)) {
        for (const key of keys) signIns.count(key, now)
        return undefined
      }
      const reply = message(429, "Too many tries", "Wait a minute, then try again.")
      return { ...reply, headers: { ...reply.headers, "retry-after": "60" } }
    })

  /** Counts a try to sign in, by the address; the reply if it has had too many. */
  const limited = (request: RawRequest) => limitedBy([subscriberOf(addressOf(request))])

  /** Counts what is asked for before a try, such as a mail: by the address, and by the account that it is asked for. */
  const limitedAsk = (request: RawRequest, account?: string) =>
    limitedBy([`ask|${subscriberOf(addressOf(request))}`, ...(account === undefined ? [] : [`account|${account}`])])

  /** Goes on to `path`. */
  const goTo = (path: string, setCookie?: string): RawReply => {
    const reply = redirectReply(path)
    return setCookie === undefined ? reply : { ...reply, headers: { ...reply.headers, "set-cookie": setCookie } }
  }

  /** The reply where a session would go over the network in plain text. */
  const refusePlain = (): RawReply | undefined =>
    cookie.isPrivate
      ? undefined
      : message(403, "Not over plain HTTP", "Set SVC_PUBLIC_URL to an address that begins with https:")

  /** The reply to a request that no page of the service has sent, or whose answer anybody could read. */
  const refusalOf = (request: RawRequest): RawReply | undefined =>
    refusePlain() ??
    (cookie.isFromOwnPage(request)
      ? undefined
      : message(403, "Not from here", `Another site asked for this. Open ${origin}${pathOf(request.target)}.`))

  /** Replies by the method of the request. */
  const serve = (request: RawRequest, { post, show }: SignInPage): Effect.Effect<RawReply> => {
    const { method } = request
    const isRead = method === "GET" || method === "HEAD"
    const handled =
      isRead && show !== undefined
        ? show(request)
        : method === "POST" && post !== undefined
          ? Effect.suspend(() => {
              const refused = refusalOf(request)
              return refused === undefined ? post(request, readSignInForm(request.body)) : Effect.succeed(refused)
            })
          : Effect.sync(() => {
              const allow = [...(show === undefined ? [] : ["GET"]), ...(post === undefined ? [] : ["POST"])].join(", ")
              const refused = message(405, "Not here", "This page takes another method.")
              return { ...refused, headers: { ...refused.headers, allow } }
            })
    return Effect.catchAll(handled, () => Effect.succeed(message(503, "Not now", "Please try again in a moment.")))
  }

  return { browserOf, cookie, goTo, limited, limitedAsk, message, origin, page, refusePlain, serve }
})

export type SignInFrame = Effect.Effect.Success<ReturnType<typeof makeSignInFrame>>
