/** API keys: issued once, narrowed, rotated, revoked. A key never grants more than it holds. */
import { DateTime, Effect, Option, Redacted } from "effect"
import { Addresses } from "../../actors/ports/Addresses.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import type { Tx } from "../../actors/ports/Records.js"
import { Vault } from "../../actors/ports/Vault.js"
import {
  type ApiKey,
  askedPermissions,
  type CreateApiKey,
  excessOf,
  expiryOf,
  keyBounds,
  keyPrefix,
  keyStatus,
  keyView,
  type UpdateApiKey
} from "../../domain/ApiKey.js"
import {
  type Failure,
  InvalidState,
  invalid,
  NotFound,
  PlanLimitReached,
  Unavailable,
  ValidationFailed
} from "../../domain/Failure.js"
import type { ApiKeyId, CustomerId } from "../../domain/Ids.js"
import { toMatrix, toSet } from "../../domain/Permission.js"
import { checkCustomerLimit } from "../../actors/management/CustomerLimits.js"
import { findKeyWorkspace } from "../../actors/management/WorkspaceRecords.js"
import { Current } from "../auth/Authenticated.js"
import type { Principal } from "../../actors/management/Caller.js"
import { ResourceApi } from "./Api.js"
import { checkVersion } from "../../actors/management/CallContext.js"
import { Changes } from "../../actors/management/Changes.js"
import { Pages } from "../../actors/management/Pages.js"
import { group } from "../pipeline/Dispatch.js"

const secretLength = 43
const gone = () => new NotFound({ what: "API key" })

const findKey = (tx: Tx, id: string, lock: boolean): Effect.Effect<ApiKey, Failure> => {
  const where = { id: id as ApiKeyId } // any text: no other row matches
  return Effect.flatMap(
    lock ? tx.apiKeys.lock(where) : tx.apiKeys.find(where),
    Option.match({ onNone: gone, onSome: Effect.succeed })
  )
}

export const ApiKeysLive = group(ResourceApi, "apiKeys", (handlers) =>
  Effect.gen(function* () {
    const { change, read: view } = yield* Changes
    const listing = yield* Pages
    const identifiers = yield* Identifiers
    const digests = yield* Digests
    const addresses = yield* Addresses
    const vault = yield* Vault

    const identityPlace = (key: Pick<ApiKey, "organisationId" | "id">) => ({
      organisation: key.organisationId,
      table: "api_keys",
      column: "hmac_secret",
      row: key.id
    })
    const sealed = () => new Unavailable({ reason: "the vault cannot be opened", retryAfterSeconds: 5 })

    // --- Checks ---

    const checkIps = (ranges: ReadonlyArray<string> | undefined): ValidationFailed | undefined => {
      const mistake = (ranges ?? [])
        .map((range, i) => [i, addresses.mistake(range)] as const)
        .find(([, text]) => text !== undefined)
      return mistake === undefined
        ? undefined
        : invalid(`allowedIps[${mistake[0]}]`, "INVALID_VALUE", mistake[1] ?? "is not a range")
    }

    const customersOf = (
      tx: Tx,
      asked: CreateApiKey["customers"]
    ): Effect.Effect<Pick<ApiKey, "customersMode" | "customerIds">, Failure> =>
      Effect.gen(function* () {
        if (asked === undefined || asked.mode === "all") return { customersMode: "all", customerIds: [] }
        const ids = [...new Set(asked.ids ?? [])]
        if (ids.length === 0)
          return yield* invalid("customers.ids", "REQUIRED", "must name at least one customer with the mode subset")
        const found: Array<CustomerId> = []
        for (const [i, id] of ids.entries()) {
          const customer = yield* tx.customers.find({ id: id as CustomerId, deletedAt: null })
          if (Option.isNone(customer))
            return yield* invalid(`customers.ids[${i}]`, "NOT_FOUND", `names no customer: ${id}`)
          found.push(customer.value.id)
        }
        return { customersMode: "subset", customerIds: found }
      })

    /** No caller makes, changes, rotates or reveals a key that is wider than its own. */
    const withinCaller = (caller: Principal, key: ApiKey): Effect.Effect<void, Failure> => {
      const own = keyBounds(caller.key, caller.key.hmacSecret !== null)
      return excessOf(keyBounds(key, key.hmacSecret !== null), own, addresses.covers) ?? Effect.void
    }

    /** When a key ends whose maker did not say so: after the usual time, and not after its maker's key. */
    const expiryAsked = (caller: Principal, expires: CreateApiKey["expires"], at: number) => {
      const found = expiryOf(expires ?? "90d", at)
      const own = caller.key.expiresAt === null ? Infinity : Date.parse(caller.key.expiresAt)
      return expires === undefined && typeof found === "number" ? Math.min(found, own) : found
    }

    const withinPlan = (tx: Tx, caller: Principal, customers: Pick<ApiKey, "customersMode" | "customerIds">) =>
      Effect.gen(function* () {
        const { apiKeysPerCustomer, organisationKeys } = caller.plan
        // Exact: whoever makes one waits for whoever does so now.
        yield* tx.hold("api_keys")
        const keys = yield* tx.apiKeys.list({ where: { revokedAt: null }, limit: 10_000 })
        if (customers.customersMode === "all") {
          const used = keys.filter((key) => key.customersMode === "all").length
          if (organisationKeys !== null && used >= organisationKeys)
            return yield* new PlanLimitReached({ dimension: "organisation_api_keys", limit: organisationKeys, used })
          return
        }
        for (const id of customers.customerIds) {
          yield* checkCustomerLimit(tx, id, "api_keys_per_customer")
          const used = keys.filter((key) => key.customerIds.includes(id)).length
          if (apiKeysPerCustomer !== null && used >= apiKeysPerCustomer)
            return yield* new PlanLimitReached({ dimension: "api_keys_per_customer", limit: apiKeysPerCustomer, used })
        }
      })

    // --- Making ---

    const secretOf = (mode: ApiKey["mode"]) => {
      const text = `${keyPrefix(mode)}${identifiers.token(secretLength)}`
      return { text, hash: digests.keyHash(text), last4: text.slice(-4) }
    }

    const identitySecret = (id: ApiKeyId, caller: Principal, enabled: boolean) =>
      Effect.gen(function* () {
        if (!enabled) return { text: null, sealed: null }
        const text = `svs_${identifiers.token(secretLength)}`
        return {
          text,
          sealed: yield* vault
            .seal(identityPlace({ organisationId: caller.organisationId, id }), Redacted.make(text))
            .pipe(Effect.mapError(sealed))
        }
      })

    const issue = (tx: Tx, caller: Principal, input: CreateApiKey, at: number) =>
      Effect.gen(function* () {
        const mode = input.mode ?? "test"
        const preset = input.preset ?? "viewer"
        const permissions = askedPermissions(preset, input.permissions)
        if (permissions instanceof ValidationFailed) return yield* permissions
        const expires = expiryAsked(caller, input.expires, at)
        if (expires instanceof ValidationFailed) return yield* expires
        const mistake = checkIps(input.allowedIps)
        if (mistake !== undefined) return yield* mistake
        const customers = yield* customersOf(tx, input.customers)
        const id = identifiers.next("key")
        const now = new Date(at).toISOString()
        const secret = secretOf(mode)
        const identity = yield* identitySecret(id, caller, input.hmac?.enabled === true)
        const key: ApiKey = {
          id,
          organisationId: caller.organisationId,
          spaceId: yield* findKeyWorkspace(tx, caller, input.spaceId),
          name: input.name,
          hash: secret.hash,
          hashBefore: null,
          beforeUntil: null,
          prefix: keyPrefix(mode),
          last4: secret.last4,
          mode,
          preset,
          permissions: toMatrix(permissions),
          ...customers,
          hmacSecret: identity.sealed,
          resourceScope: input.resourceScope ?? [],
          allowedIps: input.allowedIps ?? [],
          rateLimit: input.rateLimitPerMinute ?? null,
          expiresAt: expires === null ? null : new Date(expires).toISOString(),
          revokedAt: null,
          lastUsedAt: null,
          rotatedAt: null,
          createdBy: caller.key.id,
          createdAt: now,
          updatedAt: now,
          version: 1
        }
        yield* withinCaller(caller, key)
        yield* withinPlan(tx, caller, customers)
        yield* tx.apiKeys.insert(key)
        return {
          value: { ...keyView(key, at), key: secret.text, hmacSecret: identity.text },
          resource: { id, name: key.name },
          after: keyView(key, at)
        }
      })

    const changed = (
      tx: Tx,
      caller: Principal,
      key: ApiKey,
      input: UpdateApiKey,
      now: string
    ): Effect.Effect<ApiKey, Failure> =>
      Effect.gen(function* () {
        const mistake = checkIps(input.allowedIps)
        if (mistake !== undefined) return yield* mistake
        const permissions = input.permissions === undefined ? toSet(key.permissions) : toSet(input.permissions)
        if (input.permissions !== undefined && key.preset !== "custom") {
          return yield* invalid("permissions", "NOT_ALLOWED", "can only be changed of a key with the preset custom")
        }
        if (permissions.size === 0)
          return yield* invalid("permissions", "REQUIRED", "must grant at least one permission")
        const customers =
          input.customers === undefined
            ? { customersMode: key.customersMode, customerIds: key.customerIds }
            : yield* customersOf(tx, input.customers)
        const after: ApiKey = {
          ...key,
          ...customers,
          name: input.name ?? key.name,
          permissions: toMatrix(permissions),
          allowedIps: input.allowedIps ?? key.allowedIps,
          rateLimit: input.rateLimitPerMinute === undefined ? key.rateLimit : input.rateLimitPerMinute,
          updatedAt: now,
          version: key.version + 1
        }
        yield* withinCaller(caller, after)
        return after
      })

    const usable = (key: ApiKey, at: number): Effect.Effect<void, InvalidState> => {
      const status = keyStatus(key, at)
      return status === "active" ? Effect.void : new InvalidState({ state: status, message: `the key is ${status}` })
    }

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const at = DateTime.toEpochMillis(yield* DateTime.now)
          const { mode, q } = urlParams
          const page = yield* view(exchange, (tx) =>
            listing.list(tx.apiKeys, urlParams, {
              ...(mode === undefined || mode === "all" ? {} : { where: { mode } }),
              ...(q === undefined ? {} : { search: { text: q, in: ["name", "last4"] } })
            })
          )
          return { ...page, data: page.data.map((key) => keyView(key, at)) }
        })
      )
      .handle("create", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const at = DateTime.toEpochMillis(yield* DateTime.now)
          const made = yield* change(exchange, (tx) => issue(tx, exchange.caller, payload, at))
          return { data: made }
        })
      )
      .handle("get", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const at = DateTime.toEpochMillis(yield* DateTime.now)
          return {
            data: yield* view(exchange, (tx) => Effect.map(findKey(tx, path.kid, false), (key) => keyView(key, at)))
          }
        })
      )
      .handle("update", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const now = yield* DateTime.now
          const at = DateTime.toEpochMillis(now)
          return {
            data: yield* change(exchange, (tx) =>
              Effect.gen(function* () {
                const before = yield* findKey(tx, path.kid, true)
                yield* checkVersion(exchange, payload.version, before.version)
                yield* usable(before, at)
                const after = yield* changed(tx, exchange.caller, before, payload, DateTime.formatIso(now))
                yield* tx.apiKeys.update(after)
                return {
                  value: keyView(after, at),
                  resource: { id: after.id, name: after.name },
                  before: keyView(before, at),
                  after: keyView(after, at)
                }
              })
            )
          }
        })
      )
      .handle("revoke", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const now = yield* DateTime.now
          const at = DateTime.toEpochMillis(now)
          return {
            data: yield* change(exchange, (tx) =>
              Effect.gen(function* () {
                const before = yield* findKey(tx, path.kid, true)
                const resource = { id: before.id, name: before.name }
                // In an emergency any manager of all customers' keys may end one; a key of some customers only its like.
                if (exchange.caller.customers !== "all") yield* withinCaller(exchange.caller, before)
                if (before.revokedAt !== null) return { value: keyView(before, at), resource }
                const after: ApiKey = {
                  ...before,
                  revokedAt: DateTime.formatIso(now),
                  updatedAt: DateTime.formatIso(now),
                  version: before.version + 1
                }
                yield* tx.apiKeys.update(after)
                return { value: keyView(after, at), resource, before: keyView(before, at), after: keyView(after, at) }
              })
            )
          }
        })
      )
      .handle("rotate", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const now = yield* DateTime.now
          const at = DateTime.toEpochMillis(now)
          return {
            data: yield* change(exchange, (tx) =>
              Effect.gen(function* () {
                const before = yield* findKey(tx, path.kid, true)
                yield* usable(before, at)
                yield* withinCaller(exchange.caller, before)
                const secret = secretOf(before.mode)
                const grace = payload.graceSeconds ?? 0
                const after: ApiKey = {
                  ...before,
                  hash: secret.hash,
                  last4: secret.last4,
                  hashBefore: grace > 0 ? before.hash : null,
                  beforeUntil: grace > 0 ? new Date(at + grace * 1000).toISOString() : null,
                  rotatedAt: DateTime.formatIso(now),
                  updatedAt: DateTime.formatIso(now),
                  version: before.version + 1
                }
                yield* tx.apiKeys.update(after)
                return {
                  value: { ...keyView(after, at), key: secret.text, hmacSecret: null },
                  resource: { id: after.id, name: after.name },
                  before: keyView(before, at),
                  after: keyView(after, at)
                }
              })
            )
          }
        })
      )
      .handle("identitySecret", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          return {
            data: yield* change(exchange, (tx) =>
              Effect.gen(function* () {
                const key = yield* findKey(tx, path.kid, false)
                if (key.hmacSecret === null)
                  return yield* new InvalidState({
                    state: "hmac_disabled",
                    message: "this key does not verify its callers"
                  })
                yield* withinCaller(exchange.caller, key)
                const text = yield* vault.open(identityPlace(key), key.hmacSecret).pipe(Effect.mapError(sealed))
                return { value: { hmacSecret: Redacted.value(text) }, resource: { id: key.id, name: key.name } }
              })
            )
          }
        })
      )
  })
)
