/** Checks an API key before it is stored: its addresses, customers, scope, the bounds of the creating key, and the plan. */
import { didYouMean } from "../../../domain/ClosestName.js"
import { Effect, Option } from "effect"
import { type ApiKey, type CreateApiKey, expiryOf } from "../../../domain/access/ApiKey.js"
import { keyExcess, keyBounds } from "../../../domain/access/KeyBounds.js"
import type { KeyCustomers } from "../../../domain/access/ApiKeyChanges.js"
import { builtInConnectorId, type ConnectorRecord } from "../../../domain/connector/ConnectorRecord.js"
import { builtInConnectors, builtInSlugs } from "../../../domain/connectors/index.js"
import {
  type Failure,
  invalid,
  PlanLimitReached,
  type Unavailable,
  type ValidationFailed
} from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import type { ResourceScope } from "../../../domain/access/ResourceScope.js"
import { Addresses } from "../../ports/organisation/Addresses.js"
import { Digests } from "../../ports/Digests.js"
import type { Tx } from "../../ports/Records.js"
import type { Principal } from "../Caller.js"
import { checkCustomerLimit } from "../organisation/CustomerLimits.js"

/** More keys than any plan allows. */
const maxCountedKeys = 10_000
/** Own connectors whose slugs are suggested. */
const maxSuggested = 500

/** Finds the customers that a request names; fails unless all exist. */
export const findKeyCustomers = Effect.fnUntraced(function* (
  tx: Tx,
  customers: CreateApiKey["customers"]
): Effect.fn.Return<KeyCustomers, Failure> {
  if (customers === undefined || customers.mode === "all") return { customersMode: "all", customerIds: [] }
  const ids = [...new Set(customers.ids ?? [])]
  if (ids.length === 0)
    return yield* invalid("customers.ids", "REQUIRED", "must name at least one customer with the mode subset")
  const found: Array<CustomerId> = []
  for (const [i, id] of ids.entries()) {
    const customer = yield* tx.customers.find({ id: id as CustomerId, deletedAt: null }) // unchecked text from the request
    if (Option.isNone(customer)) return yield* invalid(`customers.ids[${i}]`, "NOT_FOUND", `names no customer: ${id}`)
    found.push(customer.value.id)
  }
  return { customersMode: "subset", customerIds: found }
})

/** When a new key expires, in Unix milliseconds; by default together with the key that creates it. */
export const requestedExpiry = (
  { bounds }: Principal,
  expires: CreateApiKey["expires"],
  at: number
): Effect.Effect<number | null, ValidationFailed> => {
  const own = bounds.expiresAt === null ? Infinity : Date.parse(bounds.expiresAt)
  return Effect.map(expiryOf(expires ?? "90d", at), (found) =>
    expires === undefined && found !== null ? Math.min(found, own) : found
  )
}

/** Fails if the plan does not allow one more key of these customers. */
export const checkKeyPlan = Effect.fnUntraced(function* (
  tx: Tx,
  { plan: { apiKeysPerCustomer, organisationKeys } }: Principal,
  { customerIds, customersMode }: KeyCustomers
): Effect.fn.Return<void, Failure> {
  // The locks serialise creations, so that the counts are exact.
  yield* tx.lockKeyOfAccount("api_keys")
  if (customersMode === "all") {
    if (organisationKeys === null) return
    const used = yield* tx.countOfAccount("organisation_api_keys")
    if (used >= organisationKeys)
      return yield* new PlanLimitReached({ dimension: "organisation_api_keys", limit: organisationKeys, used })
    return
  }
  const keys = yield* tx.apiKeys.list({ where: { revokedAt: null }, limit: maxCountedKeys })
  for (const id of customerIds) {
    yield* checkCustomerLimit(tx, id, "api_keys_per_customer")
    const used = keys.filter((key) => key.customerIds.includes(id)).length
    if (apiKeysPerCustomer !== null && used >= apiKeysPerCustomer)
      return yield* new PlanLimitReached({ dimension: "api_keys_per_customer", limit: apiKeysPerCustomer, used })
  }
})

export const makeApiKeyChecks = Effect.gen(function* () {
  const addresses = yield* Addresses
  const { sha256Hex } = yield* Digests

  const addressRefusal = (ranges: ReadonlyArray<string> = []): ValidationFailed | undefined => {
    for (const [i, range] of ranges.entries()) {
      const mistake = addresses.mistake(range)
      if (mistake !== undefined) return invalid(`allowedIps[${i}]`, "INVALID_VALUE", mistake)
    }
    return undefined
  }

  /** Fails if the key has more rights than the caller's own. */
  const checkWithinCaller = ({ bounds, kind }: Principal, key: ApiKey): Effect.Effect<void, Failure> =>
    keyExcess(keyBounds(key, key.hmacSecret !== null), bounds, kind, addresses.covers) ?? Effect.void

  /** The slug of a connector by its id or slug; the organisation's own connectors take precedence over built-in ones. */
  const findSlug = (tx: Tx, idOrSlug: string): Effect.Effect<string | undefined, Unavailable> => {
    const by = idOrSlug.startsWith("ctr_") ? { id: idOrSlug as ConnectorRecord["id"] } : { slug: idOrSlug } // unchecked text from the request
    return Effect.map(tx.connectors.find({ ...by, deletedAt: null }), (own) =>
      Option.isSome(own)
        ? own.value.slug
        : builtInConnectors.find(({ slug }) => slug === idOrSlug || builtInConnectorId(slug, sha256Hex) === idOrSlug)
            ?.slug
    )
  }

  /** Slugs to suggest for a mistyped one. */
  const ownAndBuiltInSlugs = (tx: Tx): Effect.Effect<ReadonlyArray<string>, Unavailable> =>
    Effect.map(tx.connectors.list({ where: { deletedAt: null }, limit: maxSuggested }), (own) => [
      ...own.map(({ slug }) => slug),
      ...builtInSlugs
    ])

  const findSlugs = Effect.fnUntraced(function* (tx: Tx, ids: ReadonlyArray<string>, path: string) {
    const slugs = new Set<string>()
    for (const [i, id] of ids.entries()) {
      const slug = yield* findSlug(tx, id)
      if (slug === undefined)
        return yield* invalid(
          `${path}[${i}]`,
          "NOT_FOUND",
          `names no connector: ${id}.${didYouMean(id, yield* ownAndBuiltInSlugs(tx))}`
        )
      slugs.add(slug)
    }
    return [...slugs]
  })

  /** The scope as it is stored: connectors by slug, also if the request names them by id. */
  const resolveScope = (tx: Tx, scope: ResourceScope): Effect.Effect<ResourceScope, Failure> =>
    Effect.forEach(scope, (entry, i) =>
      entry.type === "connector"
        ? Effect.map(findSlugs(tx, entry.ids, `resourceScope[${i}].ids`), (ids) => ({ ...entry, ids }))
        : Effect.succeed(entry)
    )

  return { addressRefusal, checkWithinCaller, resolveScope }
})
