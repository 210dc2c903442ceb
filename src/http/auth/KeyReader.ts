/** Reads API keys: a known key makes its caller, unless it was revoked, has expired or was rotated. */
import { Effect, Option } from "effect"
import { Digests } from "../../actors/ports/Digests.js"
import { Keys, type KnownKey } from "../../actors/ports/organisation/Keys.js"
import { keyStatus, type ApiKey } from "../../domain/access/ApiKey.js"
import { type Failure, Unauthorized } from "../../domain/Failure.js"
import type { CredentialReader, KnownCredential } from "./Credentials.js"
import { makeSignatureCheck } from "./SignatureCheck.js"
import type { Caller } from "../../domain/access/Caller.js"
import { keyBounds } from "../../domain/access/KeyBounds.js"
import { toSet } from "../../domain/access/Permission.js"
import { scopeIds } from "../../domain/access/ResourceScope.js"

/** Kept as long as the key is in memory: a request copies members, and derives none. */
const callers = new WeakMap<ApiKey, Caller>()

const keyCaller = (key: ApiKey): Caller => {
  const cached = callers.get(key)
  if (cached !== undefined) return cached
  const caller: Caller = {
    kind: "key",
    id: key.id,
    name: key.name,
    permissions: toSet(key.permissions),
    customers: key.customersMode === "all" ? "all" : new Set(key.customerIds),
    // Permissions of a custom key apply unchanged.
    isForCustomers: key.customersMode !== "all" && key.preset !== "custom",
    scope: scopeIds(key.resourceScope),
    bounds: keyBounds(key, key.hmacSecret !== null),
    callsPerMinute: key.rateLimit,
    planCalls: "counted",
    person: null,
    embedded: null,
    starter: { keyId: key.id, keyName: key.name }
  }
  callers.set(key, caller)
  return caller
}

/** The form of a key; other texts are no keys. */
const keyPattern = /^svk_(live|test)_[A-Za-z0-9_-]{43}$/

/** The refusal of a key by its own state; `undefined` if it is in force. */
const keyRefusal = ({ key, rotated }: KnownKey, now: number): Failure | undefined => {
  const status = keyStatus(key, now)
  if (status === "revoked") return new Unauthorized({ code: "KEY_REVOKED", message: "this key was revoked" })
  if (status === "expired") return new Unauthorized({ code: "KEY_EXPIRED", message: "this key has expired" })
  return rotated && (key.beforeUntil === null || Date.parse(key.beforeUntil) <= now)
    ? new Unauthorized({ code: "UNAUTHORIZED", message: "this key was rotated: send its new text" })
    : undefined
}

export const makeKeyReader = Effect.gen(function* () {
  const keys = yield* Keys
  const digests = yield* Digests
  const verifySignature = yield* makeSignatureCheck

  /** Kept as long as the key is in memory. */
  const credentials = new WeakMap<KnownKey, KnownCredential>()
  const credentialOf = (known: KnownKey): KnownCredential => {
    const cached = credentials.get(known)
    if (cached !== undefined) return cached
    const credential: KnownCredential = {
      caller: keyCaller(known.key),
      organisation: known.organisation,
      spaceId: known.key.spaceId,
      refusal: (now) => keyRefusal(known, now),
      verify: known.key.hmacSecret === null ? undefined : (request, now) => verifySignature(known, request, now),
      recordUse: (now) => keys.recordUse(known.key, now)
    }
    credentials.set(known, credential)
    return credential
  }

  const read: CredentialReader["read"] = (text) => {
    if (text === undefined || !keyPattern.test(text)) return undefined
    const hash = digests.keyHash(text)
    return {
      findCached: (now) => {
        const known = keys.findCached(hash, now)
        return known === undefined ? undefined : credentialOf(known)
      },
      find: () => Effect.map(keys.find(hash), Option.map(credentialOf)),
      mayExist: () => keys.mayExist(hash),
      unknownMessage: "this API key is unknown"
    }
  }
  return { read } satisfies CredentialReader
})
