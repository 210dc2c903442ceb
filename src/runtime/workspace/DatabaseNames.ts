/**
 * Names and passwords of a workspace's database and login. Every login of a server sees the names of all others, so
 * they are derived with the pepper: a tenant that knows the id of another workspace cannot compute its names.
 */
import { createHash, createHmac } from "node:crypto"
import { Redacted } from "effect"

export interface DatabaseNames {
  /** The database with the walls, of which every workspace's database is a copy. No workspace connects to it. */
  readonly template: string
  /** The prefix of the names of all workspaces' databases, and of no others. */
  readonly prefix: string
  /** The name of a workspace's database and of its login. */
  readonly of: (spaceId: string) => string
  readonly password: (login: string) => string
}

/** The schema of a workspace inside its database. Contract: `ws_<hash>`. */
export const schemaOf = (spaceId: string): string =>
  `ws_${createHash("sha256").update(spaceId).digest("hex").slice(0, 12)}`

/** `base`: the database of the administrator's URL. Names in Postgres have at most 63 characters. */
export const databaseNamesOf = (base: string, pepper: Redacted.Redacted): DatabaseNames => {
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(base))
    throw new Error("the URL's path must name a database: up to 40 small letters, digits and underscores")
  const digest = (text: string) => createHmac("sha256", Redacted.value(pepper)).update(`svc.db|${base}|${text}`)
  return {
    template: `${base}_template`,
    prefix: `${base}_w_`,
    of: (spaceId) => `${base}_w_${digest(`name|${spaceId}`).digest("hex").slice(0, 20)}`,
    password: (login) => digest(login).digest("base64url")
  }
}
