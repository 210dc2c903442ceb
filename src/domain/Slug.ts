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
