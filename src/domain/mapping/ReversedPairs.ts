/** A map for reading in reverse, where the definition has none for writing. */
import type { Json } from "../Json.js"
import type { FieldMap } from "./FieldMap.js"

/** The pairs that can be reversed, from the common record to the provider's. A constant of the map writes nothing. */
export const reversedPairs = (fields: ReadonlyArray<FieldMap>): ReadonlyArray<FieldMap> =>
  fields.flatMap((pair) => {
    const { dateFormat, enum: words, from, items, locale, minorUnits, split, to } = pair
    if (from === undefined || pair.transforms.length > 0) return []
    return [
      {
        from: to,
        to: from,
        transforms: [],
        ...(words === undefined ? {} : { enum: reversedWords(words) }),
        ...(dateFormat === undefined ? {} : { dateFormat }),
        ...(locale === undefined ? {} : { locale }),
        ...(minorUnits === undefined ? {} : { minorUnits }),
        ...(split === undefined ? {} : { split }),
        ...(items === undefined ? {} : { items: reversedPairs(items) })
      }
    ]
  })

/** The first provider's word of each common one. The words `true` and `false` become booleans. */
const reversedWords = (words: NonNullable<FieldMap["enum"]>): NonNullable<FieldMap["enum"]> => {
  const reversed = new Map<string, string | boolean>()
  for (const [word, common] of Object.entries(words)) {
    const key = String(common satisfies Json)
    if (!reversed.has(key)) reversed.set(key, word === "true" || word === "false" ? word === "true" : word)
  }
  return Object.fromEntries(reversed)
}
