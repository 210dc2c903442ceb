/** To which resources a key is narrowed, by type. A type that is not named is not narrowed. Specification: API keys. */
import { Schema } from "effect"

export const ScopeType = Schema.Literal("connector", "connection", "workflow", "widget", "secret", "environment")
export type ScopeType = typeof ScopeType.Type

/** As a key is asked for: connectors by id or slug, environments by slug, everything else by id. */
export const ResourceScope = Schema.Array(
  Schema.Struct({
    type: ScopeType,
    ids: Schema.Array(Schema.String).pipe(Schema.minItems(1), Schema.maxItems(1_000))
  })
)
export type ResourceScope = typeof ResourceScope.Type

/** The ids of each type that is narrowed. Of connectors the slugs. */
export type ScopeIds = { readonly [T in ScopeType]?: ReadonlySet<string> }

export const scopeIds = (scope: ResourceScope): ScopeIds => {
  const ids: { [T in ScopeType]?: Set<string> } = {}
  for (const entry of scope) {
    const known = (ids[entry.type] ??= new Set())
    for (const id of entry.ids) known.add(id)
  }
  return ids
}

/** Where one scope reaches further than another: a type that it leaves open, or an id that the other has not. */
export const scopeExcess = (
  asked: ResourceScope,
  held: ResourceScope
): { readonly type: ScopeType; readonly id: string | null } | undefined => {
  const theirs = scopeIds(asked)
  const own = scopeIds(held)
  for (const { type } of held) {
    const ids = theirs[type]
    if (ids === undefined) return { type, id: null }
    const outside = [...ids].find((id) => own[type]?.has(id) !== true)
    if (outside !== undefined) return { type, id: outside }
  }
  return undefined
}
