/** The operator's OpenID provider, at which people sign in; none if it is not configured. */
import { Context, Data, type Effect, Option } from "effect"

/** Who joins an organisation without an invitation: whoever the provider has an address of the domain for. */
export interface JoinRule {
  /** Its id or slug. */
  readonly organisation: string
  /** In lower case. */
  readonly domain: string
  /** The name of the role. */
  readonly role: string
}

/** What binds a sign-in to the browser that began it. */
export interface BrowserBinding {
  readonly state: string
  readonly nonce: string
  /** The secret of PKCE. */
  readonly verifier: string
}

/** A person as the provider vouches for them: their address is verified. */
export interface ProvedPerson {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  readonly name: string | null
}

/** The provider's answer proves nobody. `reason`: for the log; it quotes no value. */
export class ProofRefused extends Data.TaggedError("ProofRefused")<{ readonly reason: string }> {}
/** The provider cannot be reached, or is not as its issuer's address says. */
export class ProviderAway extends Data.TaggedError("ProviderAway")<{ readonly reason: string }> {}

/** The provider, as the operator configures it. */
export interface OperatorIdentityProvider {
  /** Its host, by which people know it. */
  readonly host: string
  /** Whether it is the only way in, beside the link of the command line. */
  readonly isOnly: boolean
  readonly joins: ReadonlyArray<JoinRule>
  /** The address to which the browser is sent. */
  readonly authorizationUrl: (begun: BrowserBinding) => Effect.Effect<string, ProviderAway>
  /** Redeems the code that the browser came back with. `query`: of the callback. */
  readonly redeem: (query: string, begun: BrowserBinding) => Effect.Effect<ProvedPerson, ProofRefused | ProviderAway>
}

export class IdentityProvider extends Context.Reference<IdentityProvider>()("svc/IdentityProvider", {
  defaultValue: (): Option.Option<OperatorIdentityProvider> => Option.none()
}) {}

/** The path of the callback, below the public URL. */
export const oidcCallbackPath = "/auth/oidc/callback"
