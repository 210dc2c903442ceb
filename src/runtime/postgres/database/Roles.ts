/**
 * The four Postgres roles of the service. Each has only the privileges that its work needs; with row-level security and
 * the grants of the migrations they are the second layer of tenant isolation. Specification: Tenant isolation.
 */
import { Duration, Effect, Redacted } from "effect"
import { Client, escapeLiteral } from "pg"
import { reasonOf, OperatorError } from "../../process/OperatorError.js"
import { ConnectTimeout } from "./pool/ConnectTimeout.js"
import { explainUnreachable, UnreachableDatabase } from "./UnreachableDatabase.js"

/** The login of each role. */
export interface DatabaseUrls {
  /** Owns the tables and migrates them. */
  readonly owner: Redacted.Redacted
  /** Journal, intake, sweeps, key look-up: sees every organisation, but only the tables of its work. */
  readonly writer: Redacted.Redacted
  /** Requests: sees one organisation at a time. */
  readonly app: Redacted.Redacted
  /** Reads the audit trail and nothing else. */
  readonly auditReader: Redacted.Redacted
}

export type RoleKey = keyof DatabaseUrls

export const roleNames: Record<RoleKey, string> = {
  owner: "svc_owner",
  writer: "svc_writer",
  app: "svc_app",
  auditReader: "svc_audit_reader"
}

/** The environment variables of the four logins. */
export const loginVariables = {
  owner: "SVC_DATABASE_URL_OWNER",
  writer: "SVC_DATABASE_URL_WRITER",
  app: "SVC_DATABASE_URL_APP",
  auditReader: "SVC_DATABASE_URL_AUDIT"
} as const satisfies Record<RoleKey, string>

/** The environment variable that this login comes from. */
export const variableOf = (login: Redacted.Redacted, role: RoleKey): string => {
  const options = new URL(Redacted.value(login)).searchParams.get("options") ?? ""
  return options.includes(`role=${roleNames[role]}`) ? "SVC_DATABASE_URL" : loginVariables[role]
}

export type RolePasswords = Readonly<Record<RoleKey, Redacted.Redacted>>

/** Makes a value for each role. */
export const forEachRole = <A>(make: (role: RoleKey) => A): Record<RoleKey, A> => ({
  owner: make("owner"),
  writer: make("writer"),
  app: make("app"),
  auditReader: make("auditReader")
})

/** The four logins on the server of `base`, each with its own role and password. */
export const urlsOf = (base: Redacted.Redacted, passwords: RolePasswords, database = "svc"): DatabaseUrls =>
  forEachRole((role) => {
    const url = new URL(Redacted.value(base))
    url.username = roleNames[role]
    url.password = Redacted.value(passwords[role])
    url.pathname = `/${database}`
    return Redacted.make(url.href)
  })

/** The four logins of one user, which sets its role as it connects; it must be a member of all four. */
export const urlsOfLogin = (login: Redacted.Redacted): DatabaseUrls =>
  forEachRole((role) => {
    const url = new URL(Redacted.value(login))
    const options = url.searchParams.get("options")
    url.searchParams.set("options", `${options === null ? "" : `${options} `}-c role=${roleNames[role]}`)
    return Redacted.make(url.href)
  })

/**
 * The SQL that creates the roles and the database, for an administrator to run with psql. Repeatable; an existing role
 * keeps its password.
 */
export const rolesSql = (passwords: RolePasswords, database = "svc"): string =>
  [
    ...roleStatements(passwords).map((statement) => `${statement};`),
    `SELECT 'CREATE DATABASE ${database} OWNER svc_owner TEMPLATE template0 ENCODING ${"''UTF8''"}'`,
    `  WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '${database}') \\gexec`,
    `\\connect ${database}`,
    ...databaseStatements(database).map((statement) => `${statement};`)
  ].join("\n")

/**
 * Creates the missing roles and the database, and returns the names of the roles that it created. Repeatable; an
 * existing role keeps its password. `admin` needs CREATEROLE and CREATEDB; it becomes a member of the roles unless it
 * is a superuser.
 */
export const ensureRoles = Effect.fn("Roles.ensure")(function* (
  admin: Redacted.Redacted,
  passwords: RolePasswords,
  database = "svc"
) {
  const timeout = yield* ConnectTimeout
  return yield* Effect.tryPromise({
    try: async () => {
      const created = await withAdmin(admin, undefined, timeout, async (client) => {
        const present = await client.query<{ readonly rolname: string }>(
          "SELECT rolname FROM pg_roles WHERE rolname = ANY($1)",
          [Object.values(roleNames)]
        )
        for (const statement of roleStatements(passwords)) await client.query(statement)
        const superuser = await client.query<{ readonly rolsuper: boolean }>(
          "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
        )
        if (superuser.rows[0]?.rolsuper !== true) {
          await client.query(`GRANT ${Object.values(roleNames).join(", ")} TO CURRENT_USER`)
        }
        const exists = await client.query("SELECT FROM pg_database WHERE datname = $1", [database])
        if (exists.rowCount === 0) {
          await client.query(`CREATE DATABASE ${database} OWNER svc_owner TEMPLATE template0 ENCODING 'UTF8'`)
        }
        return Object.values(roleNames).filter((name) => !present.rows.some((row) => row.rolname === name))
      })
      await withAdmin(admin, database, timeout, async (client) => {
        for (const statement of databaseStatements(database)) await client.query(statement)
      })
      return created
    },
    catch: (cause) =>
      new OperatorError({
        message:
          cause instanceof UnreachableDatabase
            ? cause.message
            : `The roles could not be created: ${reasonOf(cause)}. ` +
              "Use an administrator's URL, or run what `npm run svc -- migrate --print` prints."
      })
  })
})

/** Whether `ensureRoles` has completed on this server before. */
export const hasRoles = async (session: Client, database = "svc"): Promise<boolean> => {
  const answer = await session.query<{ readonly complete: boolean }>(
    `SELECT count(*) = $1 AND EXISTS (
       SELECT FROM pg_database WHERE datname = $2 AND NOT has_database_privilege('public', oid, 'TEMPORARY')
     ) AS complete FROM pg_roles WHERE rolname = ANY($3)`,
    [Object.keys(roleNames).length, database, Object.values(roleNames)]
  )
  return answer.rows[0]?.complete === true
}

const withAdmin = async <A>(
  admin: Redacted.Redacted,
  database: string | undefined,
  timeout: Duration.Duration,
  use: (client: Client) => Promise<A>
): Promise<A> => {
  const url = new URL(Redacted.value(admin))
  if (database !== undefined) url.pathname = `/${database}`
  const client = new Client({
    connectionString: url.href,
    application_name: "svc roles",
    connectionTimeoutMillis: Duration.toMillis(timeout)
  })
  // A lost connection fails the statement.
  client.on("error", () => undefined)
  try {
    await client.connect()
  } catch (cause) {
    throw explainUnreachable(cause, admin, "--admin-url")
  }
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

const roleStatements = (passwords: RolePasswords) =>
  Object.values(
    forEachRole((role) => {
      const name = roleNames[role]
      const password = Redacted.value(passwords[role])
      const attributes = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS"
      return (
        `DO $svc$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${name}') THEN ` +
        `CREATE ROLE ${name} ${attributes} PASSWORD ${escapeLiteral(password)}; END IF; END $svc$`
      )
    })
  )

/** `hasRoles` checks for the effect of the last one. */
const databaseStatements = (database: string) => [
  `GRANT CONNECT, CREATE, TEMPORARY ON DATABASE ${database} TO svc_owner`,
  `GRANT CONNECT ON DATABASE ${database} TO svc_writer, svc_app, svc_audit_reader`,
  "REVOKE ALL ON SCHEMA public FROM PUBLIC",
  "GRANT USAGE, CREATE ON SCHEMA public TO svc_owner",
  "GRANT USAGE ON SCHEMA public TO svc_writer, svc_app, svc_audit_reader",
  `REVOKE ALL ON DATABASE ${database} FROM PUBLIC`
]
