/**
 * The pages on which people sign in with their e-mail address. Opening the mail's link signs nobody in, since mail scanners
 * open links by themselves: its button does. In another browser than the one that asked, the button shows a code to type
 * there: whoever asked for the mail of somebody else gets nothing by it.
 */
import { Duration, Effect, Option, Redacted } from "effect"
import { MailSignIn, mailLinkPath } from "../../actors/management/access/MailSignIn.js"
import type { OpenMailLink } from "../../actors/ports/access/MailSignIns.js"
import { sessionLimits } from "../../domain/access/Session.js"
import { shownCode } from "../../domain/access/SignInCode.js"
import { makeTokenCookie } from "../auth/SessionCookie.js"
import { html, type Markup } from "../Markup.js"
import { pathOf, type RawReply, type RawRequest } from "../Wire.js"
import { consolePath, nextOf, safeNext, type SignInFrame, tokenForm, tokenOf, tokenScript } from "./SignInFrame.js"

const openPath = `${mailLinkPath}/open`
const codePath = `${mailLinkPath}/code`

const addressPattern = /^[^\s@<>,;:"]{1,64}@[^\s@<>,;:"]{1,190}$/

type Fields = ReadonlyMap<string, string> | undefined

/** The form that asks for a mail. */
export const mailForm = (next: string, problem?: string): Markup =>
  html`<form method="post" action="${mailLinkPath}">
    ${problem === undefined ? html`` : html`<p class="error" role="alert">${problem}</p>`}
    <label for="email">E-mail address</label>
    <input id="email" name="email" type="email" autocomplete="email" required maxlength="254" />
    <input type="hidden" name="next" value="${next}" /><button>Send a link</button>
  </form>`

const codeForm = (next: string, problem?: string): Markup =>
  html`<form method="post" action="${codePath}">
    ${problem === undefined ? html`` : html`<p class="error" role="alert">${problem}</p>`}
    <label for="code">Code <span>(if you open the link in another browser, it shows one)</span></label>
    <input id="code" name="code" autocomplete="one-time-code" autocapitalize="characters" required maxlength="20" />
    <input type="hidden" name="next" value="${next}" /><button>Sign in</button>
  </form>`

const organisationsOf = (names: ReadonlyArray<string>) => names.join(", ")

/** One button for each identity of the address. */
const choices = (token: string, next: string, { email, identities, isSameBrowser }: OpenMailLink): Markup => {
  const label = isSameBrowser ? "Sign in" : "Show the code"
  return html`<form method="post" action="${openPath}">
    <input type="hidden" name="token" value="${token}" /><input type="hidden" name="next" value="${next}" />
    <p>The address ${email} is of:</p>
    ${identities.map(
      ({ identityId, organisations }) =>
        html`<p><button name="as" value="${identityId}">${label}: ${organisationsOf(organisations)}</button></p>`
    )}
  </form>`
}

/** Makes the handler of the pages. */
export const make = Effect.fnUntraced(function* (frame: SignInFrame) {
  const { browserOf, cookie, goTo, limited, limitedAsk, message, origin, page, serve } = frame
  const signIn = yield* MailSignIn
  const browser = makeTokenCookie(origin, "sign_in", sessionLimits.link)
  const minutes = Duration.toMinutes(sessionLimits.link)

  const ended = () =>
    message(
      410,
      "This link has ended",
      `A link signs in once, within ${minutes} minutes, and the newest mail has the one that counts. Ask for another.`
    )
  const signedIn = (next: string, token: Redacted.Redacted) => goTo(next, cookie.of(Redacted.value(token)))

  const ask = Effect.fnUntraced(function* (request: RawRequest, fields: Fields) {
    const email = (fields?.get("email") ?? "").trim()
    const next = safeNext(fields?.get("next"))
    if (!addressPattern.test(email))
      return page(422, "Sign in", mailForm(next, "Enter an e-mail address, such as ada@example.com."))
    const over = yield* limitedAsk(request, email.toLowerCase())
    if (over !== undefined) return over
    const token = yield* signIn.ask(email, next === consolePath ? "" : `?next=${encodeURIComponent(next)}`)
    const asked = page(
      200,
      "Look into your mail",
      html`<p>If ${email} can sign in here, a mail with a link is on its way. Open it in this browser.</p>
        ${codeForm(next)}`
    )
    return { ...asked, headers: { ...asked.headers, "set-cookie": browser.of(Redacted.value(token)) } }
  })

  const show = (request: RawRequest) =>
    Effect.succeed(
      page(
        200,
        "Sign in",
        html`<p>Open the whole link of the mail.</p>
          ${tokenForm(openPath, nextOf(request.target))}`,
        {
          script: tokenScript
        }
      )
    )

  const codePage = (code: string) =>
    page(
      200,
      "Your code",
      html`<p>Type this code in the browser in which you asked for the mail:</p>
        <blockquote>${shownCode(code)}</blockquote>
        <p>
          If you have not asked for it yourself, close this page, and give the code to nobody: it signs them in as you.
        </p>`
    )

  const open = Effect.fnUntraced(function* (request: RawRequest, fields: Fields) {
    const token = tokenOf(fields)
    if (token === undefined) return ended()
    const next = safeNext(fields?.get("next"))
    const browserToken = browser.tokenOf(request)
    const identityId = fields?.get("as")
    if (identityId === undefined) {
      const found = yield* signIn.find(token, browserToken)
      return Option.match(found, { onNone: ended, onSome: (link) => page(200, "Sign in", choices(token, next, link)) })
    }
    const over = yield* limited(request)
    if (over !== undefined) return over
    const outcome = yield* signIn.useLink({ token, browserToken, identityId }, browserOf(request))
    if (outcome._tag === "Ended") return ended()
    return outcome._tag === "SignedIn" ? signedIn(next, outcome.token) : codePage(Redacted.value(outcome.code))
  })

  const enterCode = Effect.fnUntraced(function* (request: RawRequest, fields: Fields) {
    const over = yield* limited(request)
    if (over !== undefined) return over
    const next = safeNext(fields?.get("next"))
    const browserToken = browser.tokenOf(request)
    if (browserToken === undefined) return ended()
    const opened = yield* signIn.enterCode(fields?.get("code") ?? "", browserToken, browserOf(request))
    const problem = `The code is wrong, or does not count any more: it can be tried ${sessionLimits.codeTries} times, within ${minutes} minutes.`
    return Option.match(opened, {
      onNone: () => page(422, "Look into your mail", codeForm(next, problem)),
      onSome: (token) => signedIn(next, token)
    })
  })

  const pages = {
    [mailLinkPath]: { show, post: ask },
    [openPath]: { post: open },
    [codePath]: { post: enterCode }
  }

  /** `undefined` for other paths. */
  return (request: RawRequest): Effect.Effect<RawReply> | undefined => {
    const path = pathOf(request.target)
    return signIn.isOn && (path === mailLinkPath || path === openPath || path === codePath)
      ? serve(request, pages[path])
      : undefined
  }
})
