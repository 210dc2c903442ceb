/** The pages on which people sign in with a link of the operator's command line, and sign out. */
import { Effect, Option, Redacted } from "effect"
import { MailSignIn } from "../../actors/management/access/MailSignIn.js"
import { ProviderSignIn } from "../../actors/management/access/ProviderSignIn.js"
import { SignIn } from "../../actors/management/access/SignIn.js"
import { html, type Markup } from "../Markup.js"
import { pathOf, type RawReply, type RawRequest } from "../Wire.js"
import { mailForm } from "./MailSignInPages.js"
import { providerConnection, providerLink } from "./ProviderPages.js"
import { nextOf, safeNext, type SignInFrame, tokenForm, tokenOf, tokenScript } from "./SignInFrame.js"

export const loginPath = "/login"
export const logoutPath = "/logout"

const signedOut = (ways: ReadonlyArray<Markup>): Markup =>
  html`${ways.length === 0 ? [html`<p>You are not signed in.</p>`] : ways}
    <p>Whoever runs the service can run this there, and open the link that it prints:</p>
    <blockquote>npm run svc -- console</blockquote>`

const signedIn = (email: string, next: string): Markup =>
  html`<p>You are signed in as ${email}.</p>
    <p><a href="${next}">Go to the console</a></p>
    <form method="post" action="${logoutPath}"><button>Sign out</button></form>`

/** Makes the handler of the pages. */
export const make = Effect.fnUntraced(function* ({
  browserOf,
  cookie,
  goTo,
  limited,
  message,
  page,
  serve
}: SignInFrame) {
  const signIn = yield* SignIn
  const mail = yield* MailSignIn
  const provider = yield* ProviderSignIn

  const show = Effect.fnUntraced(function* (request: RawRequest) {
    const token = cookie.tokenOf(request)
    const person = token === undefined ? undefined : yield* signIn.personOf(token)
    const next = nextOf(request.target)
    // A new link signs in whoever it names, also in a browser where somebody is signed in.
    const form = tokenForm(loginPath, next)
    const connect =
      Option.isSome(provider) && person !== undefined && person.method !== "oidc"
        ? providerConnection(provider.value.host, next)
        : html``
    return person === undefined
      ? page(
          200,
          "Sign in",
          html`${form}${signedOut([...(Option.isSome(provider) ? [providerLink(provider.value.host, next)] : []), ...(mail.isOn ? [mailForm(next)] : [])])}`,
          { script: tokenScript }
        )
      : page(200, "Signed in", html`${signedIn(person.email, next)}${connect}${form}`, { script: tokenScript })
  })

  const open = Effect.fnUntraced(function* (request: RawRequest, fields: ReadonlyMap<string, string> | undefined) {
    const over = yield* limited(request)
    if (over !== undefined) return over
    const token = tokenOf(fields)
    const opened = token === undefined ? Option.none() : yield* signIn.open(token, browserOf(request))
    return Option.isNone(opened)
      ? message(
          410,
          "This link has ended",
          "A link signs in once, within 15 minutes. Run npm run svc -- console again."
        )
      : goTo(safeNext(fields?.get("next")), cookie.of(Redacted.value(opened.value)))
  })

  const close = Effect.fnUntraced(function* (request: RawRequest) {
    const token = cookie.tokenOf(request)
    if (token !== undefined) yield* signIn.close(token, browserOf(request))
    return goTo(loginPath, cookie.cleared)
  })

  /** `undefined` for other paths. */
  return (request: RawRequest): Effect.Effect<RawReply> | undefined => {
    const path = pathOf(request.target)
    if (path === loginPath) return serve(request, { show, post: open })
    return path === logoutPath ? serve(request, { post: close }) : undefined
  }
})
