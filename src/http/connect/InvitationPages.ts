/**
 * The page of an invitation's link. Opening it accepts nothing, since mail scanners open links by themselves: only its button
 * does, once.
 */
import { Effect, Option, Redacted } from "effect"
import { InvitationAcceptance } from "../../actors/management/access/InvitationAcceptance.js"
import { ProviderSignIn } from "../../actors/management/access/ProviderSignIn.js"
import { SignIn } from "../../actors/management/access/SignIn.js"
import { invitePath } from "../../actors/management/access/Users.js"
import { html, type Markup } from "../Markup.js"
import { pathOf, type RawReply, type RawRequest } from "../Wire.js"
import { providerInvitation } from "./ProviderPages.js"
import { consolePath, type SignInFrame, tokenForm, tokenOf, tokenScript } from "./SignInFrame.js"
import { logoutPath } from "./SignInPages.js"

/** Who accepts, as the button says: an identity that is made, or who is signed in. */
type Accepter = "anew" | "signed-in"

const form = (token: string, as: Accepter, label: string): Markup =>
  html`<form method="post" action="${invitePath}">
    <input type="hidden" name="token" value="${token}" /><button name="accept" value="${as}">${label}</button>
  </form>`

/** Makes the handler of the page. */
export const make = Effect.fnUntraced(function* ({
  browserOf,
  cookie,
  goTo,
  limited,
  message,
  page,
  serve
}: SignInFrame) {
  const acceptance = yield* InvitationAcceptance
  const signIn = yield* SignIn
  const provider = yield* ProviderSignIn

  const ended = () =>
    message(
      410,
      "This invitation has ended",
      "It was accepted, has expired, or a newer one took its place. Ask whoever invited you for another."
    )

  const show = () =>
    Effect.succeed(
      page(
        200,
        "Invitation",
        html`<p>Open the whole link of your invitation.</p>
          ${tokenForm(invitePath)}`,
        {
          script: tokenScript
        }
      )
    )

  const ways = (token: string): ReadonlyArray<Markup> => [
    ...(acceptance.isOn ? [form(token, "anew", "Accept and sign in")] : []),
    ...(Option.isSome(provider) ? [providerInvitation(provider.value.host, token)] : [])
  ]

  const personOf = (request: RawRequest) => {
    const token = cookie.tokenOf(request)
    return token === undefined ? Effect.succeed(undefined) : signIn.personOf(token)
  }

  const ask = Effect.fnUntraced(function* (request: RawRequest, token: string) {
    const found = yield* acceptance.find(token)
    if (Option.isNone(found)) return ended()
    const { email, organisation, role } = found.value
    const person = yield* personOf(request)
    const invited = html`<p>You are invited to ${organisation} as ${email}, with the role ${role}.</p>`
    return page(
      200,
      "Invitation",
      person === undefined
        ? html`${invited}${ways(token)}`
        : html`${invited}
            <p>You are signed in as ${person.email}, and will be in both.</p>
            ${form(token, "signed-in", `Accept as ${person.email}`)}
            <p>Are you somebody else? Sign out, and open the link again.</p>
            <form method="post" action="${logoutPath}"><button>Sign out</button></form>`
    )
  })

  const accept = Effect.fnUntraced(function* (request: RawRequest, token: string, as: string) {
    const over = yield* limited(request)
    if (over !== undefined) return over
    const person = yield* personOf(request)
    // Somebody signed in or out since the button was shown.
    if (as !== ((person === undefined ? "anew" : "signed-in") satisfies Accepter)) return yield* ask(request, token)
    if (person !== undefined)
      return (yield* acceptance.acceptAs(token, person.identityId, browserOf(request))) ? goTo(consolePath) : ended()
    const opened = yield* acceptance.acceptAnew(token, browserOf(request))
    return Option.isNone(opened) ? ended() : goTo(consolePath, cookie.of(Redacted.value(opened.value)))
  })

  const post = Effect.fnUntraced(function* (request: RawRequest, fields: ReadonlyMap<string, string> | undefined) {
    const token = tokenOf(fields)
    if (token === undefined) return ended()
    const as = fields?.get("accept")
    return yield* as === undefined ? ask(request, token) : accept(request, token, as)
  })

  /** `undefined` for other paths. */
  return (request: RawRequest): Effect.Effect<RawReply> | undefined =>
    pathOf(request.target) === invitePath ? serve(request, { show, post }) : undefined
})
