/** Stores an organisation's OAuth clients at providers, with sealed secrets. */
import { Effect, Option, Redacted } from "effect"
import { type AuthProvider, clientSecretPlace, type StoredClient } from "../../../domain/connector/ConnectorRecord.js"
import { type Failure, type Unavailable } from "../../../domain/Failure.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { AlreadyExists, Changed, Tx } from "../../ports/Records.js"
import { Vault, vaultClosed } from "../../ports/Vault.js"
import type { Principal } from "../Caller.js"
import { currentTimestamp } from "../Timestamp.js"

/** Connectors have few clients: all of them are one page. */
export const maxAuthProviders = 200

/** A change of a client. `before`: `null` for a new one. */
export interface AuthProviderChange {
  readonly before: AuthProvider | null
  readonly after: AuthProvider
}

type Written<A> = Effect.Effect<A, Failure | AlreadyExists | Changed>

const clearDefaults = (tx: Tx, providers: ReadonlyArray<AuthProvider>, updatedAt: string): Written<void> =>
  Effect.forEach(
    providers.filter(({ isDefault }) => isDefault),
    (provider) => tx.authProviders.update({ ...provider, isDefault: false, updatedAt, version: provider.version + 1 }),
    { discard: true }
  )

/** The client of that name, locked until the transaction ends. */
const lock = (tx: Tx, connector: string, { methodId, name }: Pick<StoredClient, "methodId" | "name">) =>
  Effect.map(tx.authProviders.lock({ connector, methodId, name }), Option.getOrNull)

export const make = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const vault = yield* Vault

  const withSecret = (provider: AuthProvider, secret: string | null): Effect.Effect<AuthProvider, Unavailable> =>
    secret === null
      ? Effect.succeed({ ...provider, clientSecret: null })
      : vault
          .seal(clientSecretPlace(provider.organisationId, provider.id), Redacted.make(secret))
          .pipe(
            Effect.mapBoth({ onFailure: vaultClosed, onSuccess: (clientSecret) => ({ ...provider, clientSecret }) })
          )

  /** Creates a client, or changes the existing one, `found`. The first client of a method is its default. */
  const write = (
    tx: Tx,
    { organisationId }: Pick<Principal, "organisationId">,
    connector: string,
    input: StoredClient,
    found: AuthProvider | null
  ): Written<AuthProviderChange> =>
    Effect.gen(function* () {
      const { clientId, clientSecret, methodId, name } = input
      const now = yield* currentTimestamp
      const ofMethod = yield* tx.authProviders.list({ where: { connector, methodId }, limit: maxAuthProviders })
      const otherProviders = ofMethod.filter((provider) => provider.name !== name)
      const isDefault = input.isDefault ?? found?.isDefault ?? !otherProviders.some((provider) => provider.isDefault)
      if (isDefault) yield* clearDefaults(tx, otherProviders, now)
      const provider: AuthProvider = {
        id: found?.id ?? identifiers.next("aup"),
        organisationId,
        connector,
        name,
        methodId,
        clientId,
        // A stored secret belongs to its client id.
        clientSecret: found !== null && found.clientId === clientId ? found.clientSecret : null,
        scopes: input.scopes ?? found?.scopes ?? [],
        isDefault,
        createdAt: found?.createdAt ?? now,
        updatedAt: now,
        version: (found?.version ?? 0) + 1
      }
      const after = clientSecret === undefined ? provider : yield* withSecret(provider, clientSecret)
      yield* found === null ? tx.authProviders.insert(after) : tx.authProviders.update(after)
      return { before: found, after }
    })

  return { lock, write }
})
