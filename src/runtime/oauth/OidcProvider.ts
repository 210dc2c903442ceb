/**
 * The port `IdentityProvider`: OpenID Connect with PKCE over the service's egress, which checks addresses and limits answers.
 * ID tokens count with a valid signature only.
 */
import { Duration, Effect, Layer, Option, Redacted, Runtime } from "effect"
import { createRequire } from "node:module"
import { resolve } from "node:path"
import type { ClientAuth, Configuration } from "openid-client"
import { Egress } from "../../actors/ports/Egress.js"
import { holdAnswers, HeldBytes } from "../../actors/ports/HeldBytes.js"
import {
  IdentityProvider,
  oidcCallbackPath,
  type OperatorIdentityProvider,
  ProofRefused,
  type ProvedPerson,
  ProviderAway,
  type BrowserBinding
} from "../../actors/ports/access/IdentityProvider.js"
import { Origin } from "../../actors/ports/Origin.js"
import { OrganisationId } from "../../domain/Ids.js"
import type * as OpenidClient from "./OpenidClient.js"
import type { OidcSettings } from "../configuration/OidcSettings.js"
import { ownerOfOrganisation } from "../../domain/share/ShareOwner.js"

/** The largest answer of the provider, in bytes. */
const answerBytes = 1024 * 1024
const timeout = Duration.seconds(10)
/** How long what the provider says of itself is used; a new signing key is asked for when one is missing. */
const discoveryLifetime = Duration.hours(1)
const scope = "openid email profile"
/** Sign-ins belong to no organisation: their connections are counted as those of this one. */
const owner = ownerOfOrganisation({ id: OrganisationId.make("org_00000000000000000000000000"), parentId: null })

const longestName = 200
const longestEmail = 254

type Library = typeof OpenidClient

/** A claim that is text of some length. */
const textClaim = (value: unknown, most: number): string | undefined =>
  typeof value === "string" && value !== "" && value.length <= most && !/\p{Cc}/u.test(value) ? value : undefined

/** The person of the claims, if they name one with a verified address. */
const personOf = (issuer: string, claims: { readonly [claim: string]: unknown }): ProvedPerson | undefined => {
  const subject = textClaim(claims["sub"], 255)
  const email = textClaim(claims["email"], longestEmail)
  const isAddress = email !== undefined && /^[^\s@]+@[^\s@]+$/.test(email)
  return subject === undefined || !isAddress || claims["email_verified"] !== true
    ? undefined
    : { issuer, subject, email, name: textClaim(claims["name"], longestName) ?? null }
}

/** The code of a failure of the library, which quotes no value; `undefined`: it is none of the library's. */
const codeOf = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined
  const code: unknown = Reflect.get(error, "code")
  const answer: unknown = Reflect.get(error, "error")
  return textClaim(answer, 100) ?? textClaim(code, 100)
}

/** The form in which the provider takes the client's secret; unless it says otherwise, in a header. */
const authenticationOf = (client: Library, secret: string): ClientAuth => {
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)]
  return (server, ...request) => {
    const forms = server.token_endpoint_auth_methods_supported
    return (forms === undefined || forms.includes("client_secret_basic") ? basic : post)(server, ...request)
  }
}

/** A failure of the egress, on its way through the library. */
class NoAnswer extends Error {
  constructor(readonly reason: string) {
    super(reason)
  }
}

const hasNoAnswer = (error: unknown): boolean =>
  error instanceof NoAnswer || (error instanceof Error && error.cause !== undefined && hasNoAnswer(error.cause))

const make = Effect.fnUntraced(function* ({ clientId, clientSecret, issuer, joins, only }: OidcSettings, path: string) {
  const egress = yield* Egress
  const ledger = yield* HeldBytes
  const origin = yield* Origin
  const run = Runtime.runPromise(yield* Effect.runtime())
  const server = new URL(issuer)

  /** `fetch` of the library. */
  const send = (url: string, init: { method?: string; headers?: unknown; body?: unknown }): Promise<Response> => {
    const body = init.body === null || init.body === undefined ? null : String(init.body)
    const sent = egress.send({
      owner,
      method: init.method ?? "GET",
      url,
      headers: [...new Headers(init.headers as Record<string, string>)],
      body,
      timeout,
      maxBytes: answerBytes,
      // A redirect would send the client's secret to its target.
      redirects: 0
    })
    const answered = Effect.map(
      sent,
      ({ body, headers, status }) =>
        new Response(body.length === 0 ? null : Buffer.from(body), {
          status,
          headers: headers.map(([name, value]): [string, string] => [name, value])
        })
    )
    return run(Effect.either(holdAnswers(ledger, owner, answered))).then((result) => {
      if (result._tag === "Left") throw new NoAnswer(result.left._tag)
      return result.right
    })
  }

  const library = yield* Effect.cached(
    // What the build has made of `OpenidClient.ts`.
    Effect.sync(() => createRequire(import.meta.url)(resolve(path)) as Library)
  )

  const discover = Effect.gen(function* () {
    const client = yield* library
    const discovered = Effect.tryPromise({
      try: () =>
        client.discovery(server, clientId, undefined, authenticationOf(client, Redacted.value(clientSecret)), {
          execute: [
            client.enableNonRepudiationChecks,
            // The egress refuses plain HTTP but to the operator's own networks.
            ...(server.protocol === "http:" ? [client.allowInsecureRequests] : [])
          ],
          timeout: Duration.toSeconds(timeout),
          [client.customFetch]: send
        }),
      catch: (error) => new ProviderAway({ reason: codeOf(error) ?? "no answer" })
    })
    return { client, configuration: yield* discovered }
  })
  const [cached, forget] = yield* Effect.cachedInvalidateWithTTL(discover, discoveryLifetime)
  const provider = Effect.tapError(cached, () => forget)

  const redirectUri = `${origin}${oidcCallbackPath}`

  const authorizationUrl = ({ nonce, state, verifier }: BrowserBinding) =>
    Effect.flatMap(provider, ({ client, configuration }) =>
      Effect.promise(async () => {
        const challenge = await client.calculatePKCECodeChallenge(verifier)
        const asked = {
          redirect_uri: redirectUri,
          scope,
          state,
          nonce,
          code_challenge: challenge,
          code_challenge_method: "S256"
        }
        return client.buildAuthorizationUrl(configuration, asked).href
      })
    )

  /** The claims of the ID token, and of the user info where the provider keeps the address there. */
  const claimsOf = async (client: Library, configuration: Configuration, query: string, begun: BrowserBinding) => {
    const tokens = await client.authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query}`), {
      expectedState: begun.state,
      expectedNonce: begun.nonce,
      pkceCodeVerifier: begun.verifier,
      idTokenExpected: true
    })
    const claims = tokens.claims()
    if (claims === undefined) return {}
    if (claims["email"] !== undefined || configuration.serverMetadata().userinfo_endpoint === undefined) return claims
    return { ...(await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)), sub: claims.sub }
  }

  const redeem = Effect.fnUntraced(function* (query: string, begun: BrowserBinding) {
    const { client, configuration } = yield* provider
    const claims = yield* Effect.tryPromise({
      try: () => claimsOf(client, configuration, query, begun),
      catch: (error) =>
        hasNoAnswer(error)
          ? new ProviderAway({ reason: "no answer" })
          : new ProofRefused({ reason: codeOf(error) ?? "invalid answer" })
    })
    const person = personOf(configuration.serverMetadata().issuer, claims)
    return person ?? (yield* new ProofRefused({ reason: "no verified address" }))
  })

  return Option.some({
    host: server.host,
    isOnly: only,
    joins,
    authorizationUrl,
    redeem
  } satisfies OperatorIdentityProvider)
})

/** `path`: of the library's file. */
export const layer = (settings: Option.Option<OidcSettings>, path: string) =>
  Option.match(settings, {
    onNone: () => Layer.empty,
    onSome: (found) => Layer.effect(IdentityProvider, make(found, path))
  })
