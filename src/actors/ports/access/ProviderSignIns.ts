/**
 * Sign-ins at the operator's identity provider: a browser begins one, and any node ends it, once. A person there is known by
 * issuer and subject; an address alone links nobody.
 */
import { type Effect, Context, type Option } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { IdentityId, UserId } from "../../../domain/Ids.js"
import type { JoinRule, ProvedPerson } from "./IdentityProvider.js"
import type { NewSession, SignInOutcome } from "./SignIns.js"

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
