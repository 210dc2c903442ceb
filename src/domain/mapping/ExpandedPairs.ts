/** The pairs of a map with those of nested lists beside them, each with paths from the record. */
import type { FieldMap } from "./FieldMap.js"
import { belowItem } from "./ItemPath.js"

/** A pair without `items`, and its place in the map. */
export interface PlacedPair {
  readonly at: string
  readonly pair: Omit<FieldMap, "items">
}

/** Lists nested in each other; deeper pairs are left as they are, and refused for their paths. */
const maxDepth = 8

/** Lays pairs of items beside the others: `{from: lines, to: lineItems, items: [{from: sku, to: sku}]}` is `lines[*].sku`. */
export const expandPairs = (fields: ReadonlyArray<FieldMap>, at: string, depth = 0): ReadonlyArray<PlacedPair> =>
  fields.flatMap((field, index): ReadonlyArray<PlacedPair> => {
    const { items, ...pair } = field
    const place = `${at}[${index}]`
    if (items === undefined || depth >= maxDepth) return [{ at: place, pair }]
    return expandPairs(items, `${place}.items`, depth + 1).map((one) => ({
      at: one.at,
      pair: {
        ...one.pair,
        ...(one.pair.from === undefined ? {} : { from: belowItem(pair.from ?? "", one.pair.from) }),
        to: belowItem(pair.to, one.pair.to)
      }
    }))
  })
