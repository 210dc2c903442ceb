/**
 * Use cases of people who sign in at the operator's identity provider. State, nonce and the secret of PKCE are made from a token
 * that only the browser has, so that any node can end what another one has begun. Specification: Authorisation.
 */
import { Context, Effect, Layer, Option, Redacted } from "effect"
import type { Browser } from "../../../domain/access/Session.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { IdentityId, UserId } from "../../../domain/Ids.js"
import {
  IdentityProvider,
  type OperatorIdentityProvider,
  type ProvedPerson,
  type ProviderAway,
  type BrowserBinding,
  type JoinRule
} from "../../ports/access/IdentityProvider.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { inviteHash } from "./InvitationAcceptance.js"
import { makeSignInAttempts } from "./SignInAttempts.js"
import type { NewSession, SignInOutcome } from "../../ports/access/SignIns.js"

/** What a browser has begun. */
export interface BegunProviderSignIn {
  /** The path to go to afterwards. */
  readonly next: string
  /** Of the invitation that is accepted with it. */
  readonly inviteHash: string | null
}

/** What is to become of a person whom the provider has vouched for. */
export interface ProviderArrival {
  readonly person: ProvedPerson
  readonly inviteHash: string | null
  /** Those whose domain is that of the person's address. */
  readonly joins: ReadonlyArray<JoinRule>
  readonly nextUserId: () => UserId
}

/**
 * Sign-ins at the operator's identity provider: a browser begins one, and any node ends it, once. A person there is
 * known by issuer and subject, and linked to nobody by an e-mail address alone.
 */
export class ProviderSignIns extends Context.Tag("svc/ProviderSignIns")<
  ProviderSignIns,
  {
    readonly begin: (browserHash: string, begun: BegunProviderSignIn) => Effect.Effect<void, Unavailable>
    /** Takes what the browser has begun, once. None: nothing, or it is too old. */
    readonly take: (browserHash: string) => Effect.Effect<Option.Option<BegunProviderSignIn>, Unavailable>
    /** Opens the session of the person, who is known, accepts an invitation, or joins. */
    readonly open: (arrival: ProviderArrival, session: NewSession) => Effect.Effect<SignInOutcome, Unavailable>
    /** Lets the identity of who is signed in also sign in at the provider; `false`: one of the two has another already. */
    readonly link: (identityId: IdentityId, person: ProvedPerson) => Effect.Effect<boolean, Unavailable>
  }
>() {}

/** What is begun: to sign in, perhaps with an invitation; or to link the provider to who is signed in. */
export type ProviderPurpose =
  | { readonly _tag: "SignIn"; readonly next: string; readonly invitation: string | null }
  | { readonly _tag: "Link"; readonly next: string; readonly identityId: IdentityId }

/** The address to go to, and the token by which the browser is known. */
export interface ProviderDeparture {
  readonly url: string
  readonly browserToken: Redacted.Redacted
}

/** How the browser came back. `Ended`: it has begun nothing, or too long ago. */
export type ProviderReturn =
  | { readonly _tag: "SignedIn"; readonly token: Redacted.Redacted; readonly next: string }
  | { readonly _tag: "Linked"; readonly next: string }
  | { readonly _tag: "Unknown" | "Refused" | "Ended" | "LinkRefused" }

/** The provider with what begins and ends sign-ins there. */
export interface ProviderWay extends Pick<OperatorIdentityProvider, "host" | "isOnly"> {
  readonly begin: (purpose: ProviderPurpose) => Effect.Effect<ProviderDeparture, Unavailable | ProviderAway>
  /** `query`: of the callback. `signedIn`: who is signed in in the browser. */
  readonly end: (
    query: string,
    browserToken: string,
    signedIn: IdentityId | undefined,
    browser: Browser
  ) => Effect.Effect<ProviderReturn, Unavailable | ProviderAway>
}

const domainOf = (email: string): string => email.slice(email.lastIndexOf("@") + 1).toLowerCase()

const make = Effect.gen(function* () {
  const signIns = yield* ProviderSignIns
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const { attempt } = yield* makeSignInAttempts

  const browserHash = (token: string) => digests.keyHash(`oidc-browser|${token}`)

  /** `of`: what is begun, so that a sign-in cannot be ended as a link. */
  const begunOf = (token: string, of: string): BrowserBinding => ({
    state: digests.keyHash(`oidc-state|${of}|${token}`),
    nonce: digests.keyHash(`oidc-nonce|${of}|${token}`),
    verifier: digests.keyHash(`oidc-verifier|${of}|${token}`)
  })
  const linking = (identityId: IdentityId) => `link:${identityId}`
  const signingIn = "sign-in"

  const begin = Effect.fnUntraced(function* (provider: OperatorIdentityProvider, purpose: ProviderPurpose) {
    const token = identifiers.secret()
    const isLink = purpose._tag === "Link"
    const url = yield* provider.authorizationUrl(begunOf(token, isLink ? linking(purpose.identityId) : signingIn))
    const invitation = isLink ? null : purpose.invitation
    yield* signIns.begin(browserHash(token), {
      next: purpose.next,
      inviteHash: invitation === null ? null : inviteHash(digests, invitation)
    })
    return { url, browserToken: Redacted.make(token) } satisfies ProviderDeparture
  })

  /** The person whom the provider's answer proves; none: the answer was refused. */
  const redeem = (provider: OperatorIdentityProvider, query: string, begun: BrowserBinding) =>
    provider.redeem(query, begun).pipe(
      Effect.asSome,
      Effect.catchTag("ProofRefused", ({ reason }) =>
        Effect.as(Effect.annotateLogs(Effect.logInfo("oidc.refused"), { reason }), Option.none<ProvedPerson>())
      )
    )

  const end = Effect.fnUntraced(function* (
    provider: OperatorIdentityProvider,
    query: string,
    browserToken: string,
    signedIn: IdentityId | undefined,
    browser: Browser
  ): Effect.fn.Return<ProviderReturn, Unavailable | ProviderAway> {
    const state = new URLSearchParams(query).get("state") ?? ""
    const isOf = (of: string) => digests.equal(state, begunOf(browserToken, of).state)
    const isLink = signedIn !== undefined && isOf(linking(signedIn))
    if (!isLink && !isOf(signingIn)) return { _tag: "Ended" }
    const taken = yield* signIns.take(browserHash(browserToken))
    if (Option.isNone(taken)) return { _tag: "Ended" }
    const { inviteHash, next } = taken.value
    const person = yield* redeem(provider, query, begunOf(browserToken, isLink ? linking(signedIn) : signingIn))
    if (Option.isNone(person)) return { _tag: "Refused" }
    if (isLink)
      return (yield* signIns.link(signedIn, person.value)) ? { _tag: "Linked", next } : { _tag: "LinkRefused" }
    const domain = domainOf(person.value.email)
    const arrival = {
      person: person.value,
      inviteHash,
      joins: provider.joins.filter((rule) => rule.domain === domain),
      nextUserId: () => identifiers.next("usr")
    }
    const opened = yield* attempt(browser, (session) => signIns.open(arrival, session))
    return Option.match(opened, {
      onNone: (): ProviderReturn => ({ _tag: "Unknown" }),
      onSome: (token) => ({ _tag: "SignedIn", token, next })
    })
  })

  /** None: there is no provider. */
  return Option.map(yield* IdentityProvider, (provider): ProviderWay => ({
    host: provider.host,
    isOnly: provider.isOnly,
    begin: (purpose) => begin(provider, purpose),
    end: (query, browserToken, signedIn, browser) => end(provider, query, browserToken, signedIn, browser)
  }))
})

export class ProviderSignIn extends Context.Tag("svc/ProviderSignIn")<ProviderSignIn, Option.Option<ProviderWay>>() {
  static readonly Default = Layer.effect(ProviderSignIn, make)
}
