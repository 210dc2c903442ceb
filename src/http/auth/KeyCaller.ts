/** The caller that an API key makes. */
import type { ApiKey } from "../../domain/access/ApiKey.js"
import type { Caller } from "../../domain/access/Caller.js"
import { keyBounds } from "../../domain/access/KeyBounds.js"
import { toSet } from "../../domain/access/Permission.js"
import { scopeIds } from "../../domain/access/ResourceScope.js"

/** Kept as long as the key is in memory: a request copies members, and derives none. */
const callers = new WeakMap<ApiKey, Caller>()

export const keyCaller = (key: ApiKey): Caller => {
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
    starter: { keyId: key.id, keyName: key.name }
  }
  callers.set(key, caller)
  return caller
}
