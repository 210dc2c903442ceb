/** Issues API keys with their secrets. The key itself is stored as a hash, the identity secret sealed by the vault. */
import { Clock, Effect, Redacted } from "effect"
import {
  type ApiKey,
  requestedPermissions,
  type CreateApiKey,
  type KeyMode,
  keyPrefix
} from "../../../domain/access/ApiKey.js"
import { newKey, type StoredSecret } from "../../../domain/access/ApiKeyChanges.js"
import { type Unavailable, refuseWith } from "../../../domain/Failure.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import { Vault, vaultClosed } from "../../ports/Vault.js"
import { checkKeyPlan, requestedExpiry, findKeyCustomers, makeApiKeyChecks } from "./ApiKeyChecks.js"
import type { Principal } from "../Caller.js"
import { findKeyWorkspace } from "../organisation/WorkspaceRecords.js"

const identityPlace = (key: Pick<ApiKey, "organisationId" | "id">) => ({
  organisation: key.organisationId,
  table: "api_keys",
  column: "hmac_secret",
  row: key.id
})

export const makeApiKeyIssuer = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const digests = yield* Digests
  const vault = yield* Vault
  const { addressRefusal, checkWithinCaller, resolveScope } = yield* makeApiKeyChecks

  const makeSecret = (mode: KeyMode): { readonly text: string; readonly stored: StoredSecret } => {
    const text = `${keyPrefix(mode)}${identifiers.secret()}`
    return { text, stored: { hash: digests.keyHash(text), last4: text.slice(-4) } }
  }

  const makeIdentitySecret = Effect.fnUntraced(function* (key: Pick<ApiKey, "organisationId" | "id">) {
    const text = `svs_${identifiers.secret()}`
    const sealed = yield* Effect.mapError(vault.seal(identityPlace(key), Redacted.make(text)), vaultClosed)
    return { text, sealed }
  })

  /** Issues a key that was checked, with its secrets in the clear, which are shown once; the caller must store it. */
  const issue = Effect.fnUntraced(function* (tx: Tx, caller: Principal, input: CreateApiKey) {
    const at = yield* Clock.currentTimeMillis
    const permissions = yield* requestedPermissions(input.preset ?? "viewer", input.permissions)
    const expiresAt = yield* requestedExpiry(caller, input.expires, at)
    yield* refuseWith(addressRefusal(input.allowedIps))
    const customers = yield* findKeyCustomers(tx, input.customers)
    const resourceScope = yield* resolveScope(tx, input.resourceScope ?? [])
    const { organisationId } = caller
    const spaceId = yield* findKeyWorkspace(tx, caller, input.spaceId)
    const id = identifiers.next("key")
    const secret = makeSecret(input.mode ?? "test")
    const identity = input.hmac?.enabled === true ? yield* makeIdentitySecret({ organisationId, id }) : null
    const key = newKey(input, {
      id,
      organisationId,
      spaceId,
      createdBy: caller.id,
      at,
      expiresAt,
      permissions,
      customers,
      resourceScope,
      secret: secret.stored,
      identitySecret: identity?.sealed ?? null
    })
    yield* checkWithinCaller(caller, key)
    yield* checkKeyPlan(tx, caller, customers)
    return { key, secret: secret.text, hmacSecret: identity?.text ?? null }
  })

  /** Opens the secret that signs the identity of the key's callers. */
  const openIdentitySecret = (key: ApiKey, sealed: Uint8Array): Effect.Effect<string, Unavailable> =>
    Effect.mapBoth(vault.open(identityPlace(key), sealed), { onFailure: vaultClosed, onSuccess: Redacted.value })

  return { issue, makeSecret, openIdentitySecret }
})
