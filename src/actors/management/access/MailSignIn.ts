/**
 * Use cases of people who sign in with their e-mail address. An address that no person has gets
 * the same answer in the same time. Specification: Authorisation.
 */
import { Effect, Option, Redacted } from "effect"
import type { Browser } from "../../../domain/access/Session.js"
import { readCode, signInCode } from "../../../domain/access/SignInCode.js"
import type { Unavailable } from "../../../domain/Failure.js"
import { IdentityProvider } from "../../ports/access/IdentityProvider.js"
import { MailSignIns, type OpenMailLink } from "../../ports/access/MailSignIns.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { Origin } from "../../ports/Origin.js"
import { makeSignInAttempts } from "./SignInAttempts.js"
import { SignInMails } from "./SignInMails.js"

/** The path of the page that a mail's link opens; the token is in its fragment. */
export const mailLinkPath = "/login/mail"

const mailText = (link: string, origin: string): string =>
  `Open this link within 15 minutes to sign in to ${origin}:

${link}

It works once. If you did not ask for it, do nothing: without the link nobody signs in.
`

/** A link that is used, and by whom. */
export interface UsedMailLink {
  /** Its token. */
  readonly token: string
  /** The token of the browser, if it has asked for a mail. */
  readonly browserToken: string | undefined
  /** Which of the identities with the address signs in. */
  readonly identityId: string
}

/** What became of a link: the token of a session, a code for the browser that asked, or nothing. */
export type MailLinkOutcome =
  | { readonly _tag: "SignedIn"; readonly token: Redacted.Redacted }
  | { readonly _tag: "Code"; readonly code: Redacted.Redacted }
  | { readonly _tag: "Ended" }

const make = Effect.gen(function* () {
  const signIns = yield* MailSignIns
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const mails = yield* SignInMails
  const origin = yield* Origin
  const provider = yield* IdentityProvider
  const { attempt, refuse } = yield* makeSignInAttempts

  const linkHash = (token: string) => digests.keyHash(`mail-sign-in|${token}`)
  const browserHash = (token: string) => digests.keyHash(`mail-browser|${token}`)

  const takeForCode = Effect.fnUntraced(function* ({ identityId, token }: UsedMailLink, browser: Browser) {
    const code = signInCode(identifiers.secret())
    const link = { tokenHash: linkHash(token), codeHash: digests.keyHash(`mail-code|${code}`), identityId }
    const taken = yield* signIns.takeForCode(link)
    if (taken._tag === "Taken") return { _tag: "Code", code: Redacted.make(code) } satisfies MailLinkOutcome
    yield* refuse(taken, browser)
    return { _tag: "Ended" } satisfies MailLinkOutcome
  })

  return {
    /** Whether people can sign in so: there is a mail server, and they need not sign in at the operator's provider. */
    isOn: mails.isConfigured && !Option.exists(provider, ({ isOnly }) => isOnly),

    /** Begins, and returns the token by which the browser is known. `query`: added to the path of the link. */
    ask: Effect.fnUntraced(function* (email: string, query: string): Effect.fn.Return<Redacted.Redacted, Unavailable> {
      const token = identifiers.secret()
      const browser = identifiers.secret()
      const tokenHash = linkHash(token)
      yield* signIns.begin({ browserHash: browserHash(browser), tokenHash, email })
      const mail = Effect.map(signIns.takeMail(tokenHash), (organisationId) =>
        organisationId === undefined
          ? undefined
          : {
              organisationId,
              to: email,
              subject: "Your link to sign in",
              text: mailText(`${origin}${mailLinkPath}${query}#token=${token}`, origin)
            }
      )
      yield* mails.sendWhatIs(mail)
      return Redacted.make(browser)
    }),

    /** None: the link has ended. */
    find: (token: string, browserToken: string | undefined): Effect.Effect<Option.Option<OpenMailLink>, Unavailable> =>
      signIns.find(linkHash(token), browserToken === undefined ? undefined : browserHash(browserToken)),

    /** Uses the link: in the browser that asked it signs in, in another one it shows a code, which is in this answer only. */
    useLink: Effect.fnUntraced(function* (
      link: UsedMailLink,
      browser: Browser
    ): Effect.fn.Return<MailLinkOutcome, Unavailable> {
      const { browserToken, identityId, token } = link
      const tokenHash = linkHash(token)
      const hash = browserToken === undefined ? undefined : browserHash(browserToken)
      const found = yield* signIns.find(tokenHash, hash)
      if (hash === undefined || !Option.exists(found, ({ isSameBrowser }) => isSameBrowser))
        return yield* takeForCode(link, browser)
      const opened = yield* attempt(browser, (session) =>
        signIns.open({ tokenHash, browserHash: hash, identityId }, session)
      )
      return Option.match(opened, {
        onNone: (): MailLinkOutcome => ({ _tag: "Ended" }),
        onSome: (session) => ({ _tag: "SignedIn", token: session })
      })
    }),

    /** Signs in by the code that another browser has shown. None: it is wrong, or was tried too often. */
    enterCode: (
      entered: string,
      browserToken: string,
      browser: Browser
    ): Effect.Effect<Option.Option<Redacted.Redacted>, Unavailable> =>
      attempt(browser, (session) => {
        const code = digests.keyHash(`mail-code|${readCode(entered)}`)
        return signIns.enterCode({ browserHash: browserHash(browserToken), codeHash: code }, session)
      })
  }
})

export class MailSignIn extends Effect.Service<MailSignIn>()("svc/MailSignIn", { effect: make }) {}
