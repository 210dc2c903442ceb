/**
 * Sign-ins that a browser has asked for by an e-mail address. The mail's link signs in the browser that asked; another one
 * shows a code, which is typed where it was asked. Browsers, links and codes are known by hashes only.
 */
import { type Effect, Context, type Option } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { IdentityId, OrganisationId } from "../../../domain/Ids.js"
import type { NewSession, RefusedSignIn, SignInOutcome } from "./SignIns.js"

/** One that begins. The address may be nobody's. */
export interface NewMailSignIn {
  readonly browserHash: string
  readonly tokenHash: string
  readonly email: string
}

/** An identity with the address, and the names of some of its organisations. */
export interface MailIdentity {
  readonly identityId: IdentityId
  readonly organisations: ReadonlyArray<string>
}

/** A link that can be used. */
export interface OpenMailLink {
  readonly email: string
  /** Whether this browser asked for it. */
  readonly isSameBrowser: boolean
  readonly identities: ReadonlyArray<MailIdentity>
}

export class MailSignIns extends Context.Tag("svc/MailSignIns")<
  MailSignIns,
  {
    readonly begin: (asked: NewMailSignIn) => Effect.Effect<void, Unavailable>
    /**
     * The organisation for which the mail is sent; `undefined`: none is sent, since the address is nobody's or has had enough
     * of them.
     */
    readonly takeMail: (tokenHash: string) => Effect.Effect<OrganisationId | undefined, Unavailable>
    /** None: it is unknown, was used, or is too old. `browserHash`: of who opens it. */
    readonly find: (
      tokenHash: string,
      browserHash: string | undefined
    ) => Effect.Effect<Option.Option<OpenMailLink>, Unavailable>
    /** Takes the link in the browser that asked, and opens the session of the identity. */
    readonly open: (
      link: { readonly tokenHash: string; readonly browserHash: string; readonly identityId: string },
      session: NewSession
    ) => Effect.Effect<SignInOutcome, Unavailable>
    /** Takes the link in another browser: from now on the code signs in where it was asked. */
    readonly takeForCode: (link: {
      readonly tokenHash: string
      readonly codeHash: string
      readonly identityId: string
    }) => Effect.Effect<{ readonly _tag: "Taken" } | RefusedSignIn, Unavailable>
    /** Opens the session by the code, in the browser that asked; each try counts. */
    readonly enterCode: (
      entered: { readonly browserHash: string; readonly codeHash: string },
      session: NewSession
    ) => Effect.Effect<SignInOutcome, Unavailable>
  }
>() {}
