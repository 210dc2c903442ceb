/** The resources to which a key is restricted, by type; absent types are unrestricted. Specification: API keys. */
import { Schema } from "effect"

/** Types of resources to which a key can be narrowed. */
export const ScopeType = Schema.Literal("connector", "connection", "workflow", "widget", "secret", "environment")
export type ScopeType = typeof ScopeType.Type

/** The scope of a key. Connectors are named by id or slug, environments by slug, others by id. */
export const ResourceScope = Schema.Array(
  Schema.Struct({
    type: ScopeType,
    ids: Schema.Array(Schema.String).pipe(Schema.minItems(1), Schema.maxItems(1_000))
  })
)
export type ResourceScope = typeof ResourceScope.Type

/** The ids of each restricted type; for connectors the slugs. */
export type ScopeIds = { readonly [T in ScopeType]?: ReadonlySet<string> }

/** The scope as sets, for look-ups. */
export const scopeIds = (scope: ResourceScope): ScopeIds => {
  const ids: { [T in ScopeType]?: Set<string> } = {}
  for (const entry of scope) {
    const idsOfType = (ids[entry.type] ??= new Set())
    for (const id of entry.ids) idsOfType.add(id)
  }
  return ids
}

/** The first type that `requested` leaves unrestricted or id that it adds, compared with `own`; `undefined` if none. */
export const scopeExcess = (
  requested: ResourceScope,
  own: ResourceScope
): { readonly type: ScopeType; readonly id: string | null } | undefined => {
  const requestedIds = scopeIds(requested)
  const ownIds = scopeIds(own)
  for (const { type } of own) {
    const ids = requestedIds[type]
    if (ids === undefined) return { type, id: null }
    const outside = [...ids].find((id) => ownIds[type]?.has(id) !== true)
    if (outside !== undefined) return { type, id: outside }
  }
  return undefined
}
