/** Slugs: names that paths and code use. */
import { Schema } from "effect"

/** The form of a slug. */
export const slugPattern = /^[a-z0-9][a-z0-9-]{0,62}$/

/** The slug of a record. */
export const Slug = Schema.String.pipe(
  Schema.pattern(slugPattern, {
    message: () => "must be lower-case letters, digits and hyphens, at most 63, and begin with a letter or a digit"
  })
)

/** The slug of a name: lower case, with hyphens. */
export const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 63) || "workflow"

const longestSlug = 63
const suffixLength = 8

/** The slug with the end of its record's id, which makes it unique. */
export const suffixedSlug = (slug: string, id: string): string =>
  `${slug.slice(0, longestSlug - suffixLength - 1).replace(/-+$/, "")}-${id.slice(-suffixLength)}`

/** The slug of a record's name, without accents; the noun with a suffix for a name without Latin letters or digits. */
export const slugOfRecord = (name: string, noun: string, id: string): string => {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "")
  return /[a-z0-9]/i.test(plain) ? slugOf(plain) : suffixedSlug(noun, id)
}
