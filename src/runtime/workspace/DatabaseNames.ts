/**
 * Names and passwords of what a workspace has in Postgres. Logins and databases are visible to every login of a server
 * by name, so their names are made with the pepper: whoever knows the id of a workspace cannot ask for it.
 */
import { createHash, createHmac } from "node:crypto"
import { Redacted } from "effect"

export interface DatabaseNames {
  /** The database that the walls are built in, and every workspace's own is copied from. Nobody connects to it. */
  readonly template: string
  /** All databases of workspaces begin with it, and no other one does. */
  readonly prefix: string
  /** The database of a workspace, and its login. */
  readonly of: (spaceId: string) => string
  readonly password: (login: string) => string
}

/** The schema of a workspace inside its database. Contract: `ws_<hash>`. */
export const schemaOf = (spaceId: string): string =>
  `ws_${createHash("sha256").update(spaceId).digest("hex").slice(0, 12)}`

/** `base`: the database that the administrator's URL names. Postgres' names have at most 63 characters. */
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
