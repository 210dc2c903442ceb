/**
 * The port `Vault`: seals values to their place with the organisation's data key, which is unwrapped once and cached.
 */
import { describe } from "../telemetry/SafeError.js"
import { randomBytes } from "node:crypto"
import { Effect, Layer, Redacted, Ref } from "effect"
import { type OrganisationVault, type Place, Vault, VaultRefused } from "../../actors/ports/Vault.js"
import { openWith, readSealed, sealWith } from "./Cipher.js"
import { makeSharedLoads } from "../../actors/SharedLoads.js"
import { type DataKey, DataKeys, type DataKeysUnavailable } from "./DataKeys.js"
import { RecentMap } from "../../domain/RecentMap.js"
import type { Keyring } from "./Keyring.js"

export interface VaultOptions {
  readonly keyring: Keyring
  /**
   * Reads the keyring again, if a rotation may change it while the process runs. When it fails, the known one stays.
   */
  readonly reread?: Effect.Effect<Keyring, unknown> | undefined
}

/** How many organisations' keys are cached, and for how long: another node may create a key. */
const maxCachedOrganisations = 10_000
const heldMillis = 300_000
const rewrapBatch = 200

export const make = Effect.fnUntraced(function* (options: VaultOptions) {
  const dataKeys = yield* DataKeys
  const clock = yield* Effect.clock
  const known = yield* Ref.make(options.keyring)
  const reread =
    options.reread === undefined
      ? Ref.get(known)
      : options.reread.pipe(
          Effect.tap((keyring) => Ref.set(known, keyring)),
          Effect.catchAll(() => Ref.get(known))
        )

  const firstKey = Effect.fnUntraced(function* (org: string) {
    // A new key must not be wrapped by an old master key, which would stay in use.
    const keyring = yield* reread
    const key = {
      org,
      id: `dk_${randomBytes(12).toString("hex")}`,
      active: true,
      wrapped: new Uint8Array(),
      masterKeyId: keyring.active
    }
    const fresh = yield* wrapped(keyring, key, new Uint8Array(randomBytes(32)))
    yield* dataKeys.insertIfAbsent(fresh).pipe(Effect.mapError((error) => unreadable(org, error)))
    // Another node may have stored a key first: that one counts.
    return yield* load(org)
  })
  const load = (org: string) => dataKeys.load(org).pipe(Effect.mapError((error) => unreadable(org, error)))

  const unwrapAll = Effect.fnUntraced(function* (all: ReadonlyArray<DataKey>) {
    const plain = new Map<string, Uint8Array>()
    const before = yield* Ref.get(known)
    const keyring = all.every(({ masterKeyId }) => before.keys.has(masterKeyId)) ? before : yield* reread
    for (const key of all) plain.set(key.id, yield* unwrapDataKey(keyring, key))
    return plain
  })

  const unlocked = new RecentMap<string, { readonly vault: OrganisationVault; readonly until: number }>(
    maxCachedOrganisations
  )
  const unlock = Effect.fnUntraced(function* (org: string) {
    const stored = yield* load(org)
    const all = stored.some((key) => key.active) ? stored : yield* firstKey(org)
    const plain = yield* unwrapAll(all)
    const active = all.find((key) => key.active)
    if (active === undefined) return yield* refused(placeOf(org), "the organisation has no active data key")
    const vault = organisationVault(org, plain, active.id)
    unlocked.set(org, { vault, until: clock.unsafeCurrentTimeMillis() + heldMillis })
    return vault
  })

  const loads = makeSharedLoads<string, OrganisationVault, VaultRefused>()

  const cached = (org: string) => {
    const found = unlocked.get(org)
    return found !== undefined && clock.unsafeCurrentTimeMillis() < found.until ? found.vault : undefined
  }
  const vaultOf = (org: string) =>
    Effect.suspend(() => {
      const found = cached(org)
      return found === undefined ? loads(org, unlock(org)) : Effect.succeed(found)
    })

  return Vault.of({
    of: vaultOf,
    cached,
    opener: (org) =>
      Effect.map(Effect.flatMap(load(org), unwrapAll), (plain) => ({
        open: (place, sealed) => openWithAny(org, plain, place, sealed)
      })),
    seal: (place, secret) =>
      Effect.map(vaultOf(place.organisation), (vault) => vault.seal(place, Redacted.value(secret))),
    open: (place, sealed) =>
      Effect.flatMap(vaultOf(place.organisation), (vault) =>
        Effect.try({
          try: () => Redacted.make(Buffer.from(vault.open(place, sealed)).toString("utf8")),
          catch: (error) =>
            error instanceof VaultRefused ? error : new VaultRefused({ place, reason: describe(error) })
        })
      )
  })
})

/**
 * Wraps every data key with the active master key. Safe while any number of nodes run, and repeatable; afterwards the
 * older master keys may be removed from the keyring. Returns how many keys it wrapped.
 */
export const rewrapAll = (keyring: Keyring): Effect.Effect<number, VaultRefused, DataKeys> =>
  Effect.gen(function* () {
    const dataKeys = yield* DataKeys
    const failed = (error: DataKeysUnavailable) => unreadable("*", error)
    let done = 0
    let after = ""
    for (;;) {
      const batch = yield* dataKeys.wrappedByOthers(keyring.active, after, rewrapBatch).pipe(Effect.mapError(failed))
      const anew = yield* Effect.forEach(batch, (key) =>
        Effect.flatMap(unwrapDataKey(keyring, key), (plain) =>
          Effect.map(wrapped(keyring, key, plain), (rewrapped) => ({ key: rewrapped, from: key.masterKeyId }))
        )
      )
      if (anew.length > 0) done += yield* dataKeys.rewrap(anew).pipe(Effect.mapError(failed))
      after = batch.at(-1)?.id ?? after
      if (batch.length < rewrapBatch) return done
    }
  })

// --- Values under a data key ---

const organisationVault = (org: string, keys: ReadonlyMap<string, Uint8Array>, active: string): OrganisationVault => {
  const sealing = keys.get(active)
  if (sealing === undefined) throw new Error("the active data key is not among the keys")
  return {
    seal: (place, plain) => sealWith(sealing, active, boundTo(org, place), plain),
    open: (place, sealed) => openWithAny(org, keys, place, sealed)
  }
}

const openWithAny = (
  org: string,
  keys: ReadonlyMap<string, Uint8Array>,
  place: Omit<Place, "organisation">,
  sealed: Uint8Array
): Uint8Array => {
  const whole = { organisation: org, table: place.table, column: place.column, row: place.row }
  const parts = readSealed(sealed)
  if (parts === undefined) throw new VaultRefused({ place: whole, reason: "this is not a sealed value" })
  const key = keys.get(parts.keyId)
  if (key === undefined) {
    throw new VaultRefused({
      place: whole,
      reason: `it was sealed under the data key ${parts.keyId}, which the organisation does not have: restore data_keys`
    })
  }
  const plain = openWith(key, boundTo(org, place), parts)
  if (plain === undefined)
    throw new VaultRefused({ place: whole, reason: "it was altered, or sealed for another place" })
  return plain
}

const boundTo = (org: string, place: Omit<Place, "organisation">) => [
  "svc-value",
  org,
  place.table,
  place.column,
  place.row
]

// --- Data keys under a master key ---

const wrapped = (keyring: Keyring, key: DataKey, plain: Uint8Array): Effect.Effect<DataKey, VaultRefused> =>
  Effect.suspend(() => {
    const master = keyring.keys.get(keyring.active)
    if (master === undefined) return refused(placeOf(key.org, key.id), "the keyring does not hold its own active key")
    const sealed = sealWith(Redacted.value(master), keyring.active, ["svc-data-key", key.org, key.id], plain)
    return Effect.succeed({ ...key, wrapped: sealed, masterKeyId: keyring.active })
  })

/** Unwraps a data key. Fails if its master key is not in the keyring, or differs. */
export const unwrapDataKey = (keyring: Keyring, key: DataKey): Effect.Effect<Uint8Array, VaultRefused> =>
  Effect.suspend(() => {
    const master = keyring.keys.get(key.masterKeyId)
    if (master === undefined) {
      return refused(
        placeOf(key.org, key.id),
        `the data key is wrapped by the master key "${key.masterKeyId}", which is not in the keyring: add it to SVC_MASTER_KEYS behind the active one`
      )
    }
    const parts = readSealed(key.wrapped)
    const plain =
      parts === undefined ? undefined : openWith(Redacted.value(master), ["svc-data-key", key.org, key.id], parts)
    return plain === undefined
      ? refused(
          placeOf(key.org, key.id),
          `the master key "${key.masterKeyId}" of the keyring is not the one that wrapped this data key: put the right bytes behind that id in SVC_MASTER_KEYS`
        )
      : Effect.succeed(plain)
  })

const placeOf = (organisation: string, row = "*"): Place => ({
  organisation,
  table: "data_keys",
  column: "wrapped",
  row
})

const refused = (place: Place, reason: string) => Effect.fail(new VaultRefused({ place, reason }))

const unreadable = (org: string, error: DataKeysUnavailable) =>
  new VaultRefused({ place: placeOf(org), reason: `the data keys cannot be reached at the moment: ${error.reason}` })

export const layer = (options: VaultOptions): Layer.Layer<Vault, never, DataKeys> => Layer.effect(Vault, make(options))
