/**
 * The way to the operator's identity provider and back. A sign-in belongs to the browser that began it: its cookie makes state,
 * nonce and the secret of PKCE, so that a callback which somebody else began signs nobody in.
 */
import { Effect, Option, Redacted } from "effect"
import {
  type ProviderPurpose,
  ProviderSignIn,
  type ProviderWay
} from "../../actors/management/access/ProviderSignIn.js"
import { SignIn } from "../../actors/management/access/SignIn.js"
import { oidcCallbackPath } from "../../actors/ports/access/IdentityProvider.js"
import { sessionLimits } from "../../domain/access/Session.js"
import { makeTokenCookie } from "../auth/SessionCookie.js"
import { html, type Markup } from "../Markup.js"
import { pathOf, type RawReply, type RawRequest } from "../Wire.js"
import { nextOf, safeNext, type SignInFrame, tokenOf } from "./SignInFrame.js"

const startPath = "/auth/oidc/start"

type Fields = ReadonlyMap<string, string> | undefined

/** The link that begins to sign in. */
export const providerLink = (host: string, next: string): Markup =>
  html`<p><a href="${startPath}?next=${encodeURIComponent(next)}">Sign in at ${host}</a></p>`

/** The button that accepts the invitation of the token with a sign-in. */
export const providerInvitation = (host: string, token: string): Markup =>
  html`<form method="post" action="${startPath}">
    <input type="hidden" name="token" value="${token}" /><button>Accept and sign in at ${host}</button>
  </form>`

/** The button that lets who is signed in also sign in at the provider. */
export const providerConnection = (host: string, next: string): Markup =>
  html`<form method="post" action="${startPath}">
    <input type="hidden" name="next" value="${next}" /><button name="link" value="yes">Also sign in at ${host}</button>
  </form>`

/** Makes the handler of the paths. */
export const make = Effect.fnUntraced(function* (frame: SignInFrame) {
  const { browserOf, cookie, goTo, limited, limitedAsk, message, origin, page, refusePlain, serve } = frame
  const signIn = yield* SignIn
  const provider = yield* ProviderSignIn
  const browser = makeTokenCookie(origin, "oidc", sessionLimits.link)

  const personOf = (request: RawRequest) => {
    const token = cookie.tokenOf(request)
    return token === undefined ? Effect.succeed(undefined) : signIn.personOf(token)
  }

  const withCookie = (reply: RawReply, token: Redacted.Redacted): RawReply => ({
    ...reply,
    headers: { ...reply.headers, "set-cookie": browser.of(Redacted.value(token)) }
  })

  const away = (host: string) =>
    message(502, "Not now", `${host} does not answer as it should. Please try again in a moment.`)

  const pagesOf = (way: ProviderWay) => {
    const { host } = way

    const start = Effect.fnUntraced(function* (request: RawRequest) {
      const refused = refusePlain() ?? (yield* limitedAsk(request))
      if (refused !== undefined) return refused
      const departure = yield* way.begin({ _tag: "SignIn", next: nextOf(request.target), invitation: null })
      return withCookie(goTo(departure.url), departure.browserToken)
    })

    /** Not a redirect: a page's form leads to no other site. */
    const confirm = Effect.fnUntraced(function* (request: RawRequest, fields: Fields) {
      const over = yield* limitedAsk(request)
      if (over !== undefined) return over
      const person = yield* personOf(request)
      const next = safeNext(fields?.get("next"))
      const isLink = fields?.get("link") !== undefined
      if (isLink && person === undefined) return message(401, "Not signed in", "Sign in first.")
      const purpose: ProviderPurpose =
        isLink && person !== undefined
          ? { _tag: "Link", next, identityId: person.identityId }
          : { _tag: "SignIn", next, invitation: tokenOf(fields) ?? null }
      const { browserToken, url } = yield* way.begin(purpose)
      return withCookie(page(200, "Sign in", html`<p><a href="${url}">Continue at ${host}</a></p>`), browserToken)
    })

    const end = Effect.fnUntraced(function* (request: RawRequest) {
      const over = refusePlain() ?? (yield* limited(request))
      if (over !== undefined) return over
      const browserToken = browser.tokenOf(request)
      const query = /\?(.*)$/.exec(request.target)?.[1] ?? ""
      const person = yield* personOf(request)
      const ended =
        browserToken === undefined
          ? ({ _tag: "Ended" } as const)
          : yield* way.end(query, browserToken, person?.identityId, browserOf(request))
      switch (ended._tag) {
        case "SignedIn":
          return goTo(ended.next, cookie.of(Redacted.value(ended.token)))
        case "Linked":
          return goTo(ended.next, browser.cleared)
        case "Ended":
          return message(
            410,
            "This sign-in has ended",
            "It was begun in another browser, used already, or too long ago. Begin again."
          )
        case "Refused":
          return message(403, "Not signed in", `${host} did not confirm who you are, or your e-mail address.`)
        case "LinkRefused":
          return message(409, "Not connected", `You, or this account at ${host}, are connected already.`)
        case "Unknown":
          return message(
            403,
            "Not signed in",
            "You are in no organisation here, or may not act in it. Ask for an invitation."
          )
      }
    })

    const orAway = <E extends { readonly _tag: string }>(reply: Effect.Effect<RawReply, E>) =>
      Effect.catchAll(reply, (failure) =>
        failure._tag === "ProviderAway"
          ? Effect.as(
              Effect.annotateLogs(Effect.logWarning("oidc.away"), {
                reason: "reason" in failure ? String(failure.reason) : ""
              }),
              away(host)
            )
          : Effect.fail(failure)
      )

    return {
      [startPath]: {
        show: (request: RawRequest) => orAway(start(request)),
        post: (request: RawRequest, fields: Fields) => orAway(confirm(request, fields))
      },
      [oidcCallbackPath]: { show: (request: RawRequest) => orAway(end(request)) }
    }
  }

  const pages = Option.map(provider, pagesOf)

  /** `undefined` for other paths, and without a provider. */
  return (request: RawRequest): Effect.Effect<RawReply> | undefined => {
    const path = pathOf(request.target)
    return Option.isSome(pages) && (path === startPath || path === oidcCallbackPath)
      ? serve(request, pages.value[path])
      : undefined
  }
})
