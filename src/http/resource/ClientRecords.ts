/** Clients at providers: how they are stored, with their secrets sealed. */
import { DateTime, Effect, Option, Redacted } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import type { AlreadyExists, Changed, Tx } from "../../actors/ports/Records.js"
import { Vault } from "../../actors/ports/Vault.js"
import { type AuthProvider, clientSecretPlace, type UpsertAuthProvider } from "../../domain/connector/Connector.js"
import { type Failure, Unavailable } from "../../domain/Failure.js"
import type { Principal } from "../../actors/management/Caller.js"

const unopened = () => new Unavailable({ reason: "the vault cannot be opened", retryAfterSeconds: 5 })

/** Connectors have few clients: all of them are one page. */
export const clientsKept = 200

export const make = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const vault = yield* Vault

  const sealed = (provider: AuthProvider, secret: string | null): Effect.Effect<AuthProvider, Unavailable> =>
    secret === null
      ? Effect.succeed({ ...provider, clientSecret: null })
      : vault
          .seal(clientSecretPlace(provider.organisationId, provider.id), Redacted.make(secret))
          .pipe(Effect.mapBoth({ onFailure: unopened, onSuccess: (clientSecret) => ({ ...provider, clientSecret }) }))

  /** Makes or changes the client of that name; the first one of a method is its default. */
  const upsert = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    connector: string,
    input: UpsertAuthProvider
  ): Effect.fn.Return<
    { readonly before: AuthProvider | null; readonly after: AuthProvider },
    Failure | AlreadyExists | Changed
  > {
    const at = DateTime.formatIso(yield* DateTime.now)
    const { methodId, name } = input
    const others = (yield* tx.authProviders.list({ where: { connector, methodId }, limit: clientsKept })).filter(
      (one) => one.name !== name
    )
    const found = Option.getOrNull(yield* tx.authProviders.lock({ connector, methodId, name }))
    const isDefault = input.isDefault ?? found?.isDefault ?? !others.some((one) => one.isDefault)
    if (isDefault) {
      for (const other of others.filter((one) => one.isDefault)) {
        yield* tx.authProviders.update({ ...other, isDefault: false, updatedAt: at, version: other.version + 1 })
      }
    }
    const plain: AuthProvider = {
      id: found?.id ?? identifiers.next("aup"),
      organisationId: caller.organisationId,
      connector,
      name,
      methodId,
      clientId: input.clientId,
      // Another client has another secret.
      clientSecret: found !== null && found.clientId === input.clientId ? found.clientSecret : null,
      scopes: input.scopes ?? found?.scopes ?? [],
      isDefault,
      createdAt: found?.createdAt ?? at,
      updatedAt: at,
      version: (found?.version ?? 0) + 1
    }
    const after = input.clientSecret === undefined ? plain : yield* sealed(plain, input.clientSecret)
    yield* found === null ? tx.authProviders.insert(after) : tx.authProviders.update(after)
    return { before: found, after }
  })

  return { upsert }
})
