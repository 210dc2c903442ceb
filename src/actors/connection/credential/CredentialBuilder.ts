/**
 * Builds a credential from the fields or tokens that a user or client sent: checks them, requests a token if the method
 * needs one, and tests the result at the provider.
 */
import { Clock, Effect, Redacted } from "effect"
import { invalid } from "../../../domain/Failure.js"
import { credentialRefused } from "../ConnectionOwner.js"
import type { CredentialFacts } from "../../../domain/connection/Connection.js"
import { type Credential, credentialFingerprint } from "../../../domain/connection/Credential.js"
import type { AuthMethod, CredentialField, OAuth2Method } from "../../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { JsonObject } from "../../../domain/Json.js"
import { readNumber } from "../../../domain/expression/Numbers.js"
import { timeAfter } from "../../../domain/Time.js"
import type { CredentialSecrets } from "../../ports/connection/Connections.js"
import { Digests } from "../../ports/Digests.js"
import type { OAuthGrant, TokenRequestFailed, Tokens } from "../../ports/connection/TokenEndpoint.js"
import { CredentialTest } from "./CredentialTest.js"
import type { CommandRefusal } from "../Protocol.js"
import { TokenRequests } from "./TokenRequests.js"
import { tokensCredential } from "./TokenRequests.js"
import { makeInputChecks } from "./CredentialInput.js"

/** A credential that passed its checks and its test, with the facts for the connection's record. */
export interface CredentialCandidate {
  readonly value: Credential
  readonly facts: CredentialFacts
}

/** The connection that a credential is for. */
export interface CredentialTarget {
  readonly organisationId: OrganisationId
  readonly connector: string
  readonly authProvider: string | null
  readonly config: JsonObject
}

const make = Effect.gen(function* () {
  const { checkConnectionConfig, checkFields } = yield* makeInputChecks
  const digests = yield* Digests
  const { clientOf, requestTokens } = yield* TokenRequests
  const { testCredential } = yield* CredentialTest

  /** Tests a credential, unless the client asks not to. Fails with `CredentialRefused` if it does not pass. */
  const testCandidate = Effect.fnUntraced(function* (
    definition: ConnectorDefinition,
    method: AuthMethod,
    target: CredentialTarget,
    value: Credential,
    more: { readonly scopes: ReadonlyArray<string>; readonly config: JsonObject; readonly skipTest?: boolean }
  ): Effect.fn.Return<CredentialCandidate, CommandRefusal> {
    const config = { ...target.config, ...more.config }
    const result =
      more.skipTest === true
        ? ({ _tag: "Passed", accountLabel: null, config: {} } as const)
        : yield* testCredential(target.organisationId, definition, method, value, config)
    if (result._tag === "NotPassed") return yield* credentialRefused(result.message)
    const expiresAt = value._tag === "Tokens" ? value.expiresAt : null
    return {
      value,
      facts: {
        authMethod: method.id,
        authProvider: target.authProvider,
        connectorVersion: definition.version,
        accountLabel: result.accountLabel,
        config: { ...config, ...result.config },
        scopes: more.scopes,
        expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
        fingerprint: credentialFingerprint(value, digests.sha256Hex)
      }
    }
  })

  /** Builds a credential from tokens that the token endpoint issued. */
  const buildFromIssuedTokens = Effect.fnUntraced(function* (
    definition: ConnectorDefinition,
    method: OAuth2Method,
    target: CredentialTarget,
    tokens: Tokens,
    of: Pick<Extract<Credential, { readonly _tag: "Tokens" }>, "fields" | "provider">,
    config: JsonObject
  ) {
    const now = yield* Clock.currentTimeMillis
    const value = tokensCredential(tokens, method, { refreshToken: null, ...of }, now)
    return yield* testCandidate(definition, method, target, value, {
      scopes: tokens.scopes ?? method.scopes,
      config: { ...config, ...tokens.config }
    })
  })

  /** Requests the first token from the token endpoint. */
  const buildFromGrant = Effect.fnUntraced(function* (
    definition: ConnectorDefinition,
    method: OAuth2Method,
    target: CredentialTarget,
    grant: OAuthGrant,
    fields: CredentialSecrets = {},
    config: JsonObject = {}
  ): Effect.fn.Return<CredentialCandidate, CommandRefusal | TokenRequestFailed> {
    const client = yield* clientOf(target, method, fields)
    const tokens = yield* requestTokens({ ...target, config: { ...target.config, ...config } }, method, client, grant)
    return yield* buildFromIssuedTokens(
      definition,
      method,
      target,
      tokens,
      { fields, provider: client.provider },
      config
    )
  })

  /** Builds a credential from tokens that the client already has. */
  const buildFromOwnTokens = (
    definition: ConnectorDefinition,
    method: OAuth2Method,
    target: CredentialTarget,
    { accessToken, expiresIn, refreshToken, ...others }: CredentialSecrets,
    skipTest: boolean
  ): Effect.Effect<CredentialCandidate, CommandRefusal> =>
    Effect.gen(function* () {
      const unknown = Object.keys(others).find((name) => !method.fields.some((field) => field.name === name))
      if (unknown !== undefined) return yield* invalid(`credential.${unknown}`, "UNKNOWN_FIELD", "is not known")
      if (accessToken === undefined) return yield* invalid("credential.accessToken", "REQUIRED", "is required")
      const seconds = expiresIn === undefined ? null : readNumber(Redacted.value(expiresIn))
      if (seconds !== null && !(seconds > 0 && Number.isFinite(seconds)))
        return yield* invalid("credential.expiresIn", "INVALID_VALUE", "must be a number of seconds")
      const now = yield* Clock.currentTimeMillis
      const value: Credential = {
        _tag: "Tokens",
        accessToken,
        refreshToken: refreshToken ?? null,
        issuedAt: now,
        expiresAt: seconds === null ? null : timeAfter(now, seconds),
        fields: others,
        provider: yield* clientOf(target, method, others).pipe(
          Effect.map((client) => client.provider),
          // Without an OAuth client the tokens cannot be renewed; they are used until they end.
          Effect.catchIf(
            ({ _tag }) => _tag === "ValidationFailed",
            () => Effect.succeed(null)
          )
        )
      }
      return yield* testCandidate(definition, method, target, value, {
        scopes: method.scopes,
        config: {},
        skipTest
      })
    })

  /** Builds a credential of fields, without a token. */
  const buildFromFields = (
    definition: ConnectorDefinition,
    method: AuthMethod,
    target: CredentialTarget,
    given: CredentialSecrets,
    skipTest: boolean
  ): Effect.Effect<CredentialCandidate, CommandRefusal> => {
    const fields = method.type === "none" || method.type === "oauth2" ? [] : method.fields
    return Effect.zipRight(
      checkFields(target.organisationId, fields, given),
      testCandidate(definition, method, target, { _tag: "Fields", fields: given }, { scopes: [], config: {}, skipTest })
    )
  }

  /** Builds a credential from client credentials: the customer's own or the organisation's. */
  const buildFromClientCredentials = (
    definition: ConnectorDefinition,
    method: OAuth2Method,
    target: CredentialTarget,
    given: CredentialSecrets
  ): Effect.Effect<CredentialCandidate, CommandRefusal> => {
    const fields: ReadonlyArray<CredentialField> = [...method.fields, ...ownClientFields]
    const scope = method.scopes.join(method.scopeSeparator)
    return Effect.zipRight(
      checkFields(target.organisationId, fields, given),
      buildFromGrant(definition, method, target, { type: "client_credentials", scope }, given).pipe(
        Effect.catchTag("TokenRequestFailed", ({ message }) => credentialRefused(message))
      )
    )
  }

  /** Builds a credential from the fields that a person entered or a client sent. */
  const buildFromInput = (
    definition: ConnectorDefinition,
    method: AuthMethod,
    target: CredentialTarget,
    given: CredentialSecrets,
    skipTest = false
  ): Effect.Effect<CredentialCandidate, CommandRefusal> => {
    const body =
      method.type !== "oauth2"
        ? buildFromFields(definition, method, target, given, skipTest)
        : method.grant === "client_credentials" && given["accessToken"] === undefined
          ? buildFromClientCredentials(definition, method, target, given)
          : buildFromOwnTokens(definition, method, target, given, skipTest)
    return Effect.zipRight(checkConnectionConfig(definition, target.organisationId, target.config), body)
  }

  return { checkConfig: checkConnectionConfig, buildFromInput, buildFromGrant }
})

/** Additional fields of client credentials, for a customer's own OAuth client. */
const ownClientFields: ReadonlyArray<CredentialField> = ["clientId", "clientSecret"].map((name) => ({
  name,
  secret: name === "clientSecret",
  required: false
}))

/** One per node. */
export class CredentialBuilder extends Effect.Service<CredentialBuilder>()("svc/connection/CredentialBuilder", {
  effect: make
}) {}
