/** `svc migrate`: creates the roles and migrates the tables of the database. */
import { Command, Options } from "@effect/cli"
import { Console, Effect, Option, Redacted } from "effect"
import { readConfig } from "../configuration/Config.js"
import { layerBeside } from "../program/Layers.js"
import { freshPassword } from "../embedded/DataDirectory.js"
import { reachEmbedded } from "../embedded/EmbeddedServer.js"
import { migrate as migrateTables } from "../postgres/database/Migrations.js"
import { ensureRoles, forEachRole, loginVariables, rolesSql, urlsOf, urlsOfLogin } from "../postgres/database/Roles.js"
import { unreachableError } from "../postgres/database/UnreachableDatabase.js"

const adminUrl = Options.redacted("admin-url").pipe(
  Options.withDescription("A login that may create roles and databases: makes what is missing of svc's, then migrates"),
  Options.optional
)
const print = Options.boolean("print").pipe(
  Options.withDescription("Print the SQL that makes roles and database, for psql, and do nothing")
)

export const migrateCommand = Command.make("migrate", { adminUrl, print }, ({ adminUrl, print }) =>
  print ? printed : Option.match(adminUrl, { onSome: asAdministrator, onNone: () => asConfigured })
).pipe(Command.withDescription("Bring the database to this release"))

const printed = Effect.gen(function* () {
  const passwords = forEachRole(freshPassword)
  const urls = urlsOf(Redacted.make("postgres://HOST:5432"), passwords)
  yield* Console.log("-- Run with psql as an administrator. Then these are svc's logins:")
  for (const [role, variable] of entries) yield* Console.log(`-- ${variable}=${Redacted.value(urls[role])}`)
  yield* Console.log(rolesSql(passwords))
})

const asConfigured = Effect.gen(function* () {
  const config = yield* readConfig()
  const { database, dataDir } = config
  const { owner } = database._tag === "External" ? database.urls : (yield* reachEmbedded({ dataDir })).urls
  yield* tell(yield* migrateTables(owner))
  // Checks, before the first start, that the secrets are this database's.
  yield* Effect.void.pipe(Effect.provide(layerBeside(config)))
}).pipe(Effect.scoped, Effect.catchTag("SqlError", unreachableError))

const asAdministrator = Effect.fnUntraced(function* (admin: Redacted.Redacted) {
  const passwords = forEachRole(freshPassword)
  const made = yield* ensureRoles(admin, passwords)
  const urls = urlsOf(admin, passwords)
  if (made.length === entries.length) {
    yield* Console.log("# Roles and database are made. Their passwords are shown once:")
    for (const [role, variable] of entries) yield* Console.log(`${variable}=${Redacted.value(urls[role])}`)
  } else if (made.length > 0) {
    yield* Console.log(`# ${made.join(", ")} were missing and are made; set their passwords with ALTER ROLE.`)
  }
  const asMember = new URL(Redacted.value(admin))
  asMember.pathname = "/svc"
  yield* tell(yield* migrateTables(urlsOfLogin(Redacted.make(asMember.href)).owner))
})

const tell = (names: ReadonlyArray<string>) =>
  Console.log(names.length === 0 ? "# The database is up to date." : `# Migrated: ${names.join(", ")}.`)

const entries = (["owner", "writer", "app", "auditReader"] as const).map(
  (role) => [role, loginVariables[role]] as const
)
