/**
 * What keeps the logins of workspaces apart, inside the one database that they share: everything that the server lets
 * anybody do, and that would reach beyond a schema, is taken away. And the attempts that must fail afterwards.
 */
import type { Client } from "pg"

/** Raise it when the walls change: they are built again. */
const revision = 1
const mark = `svc workspaces, walls ${revision}`

/** Functions that reach beyond the caller's own schema, by name. */
const forbidden = [
  "^pg_(try_)?advisory_",
  "^(lo_|loread$|lowrite$)",
  "_to_xml",
  "^pg_sleep",
  "^pg_(notify|listening_channels|notification_queue_usage)$",
  "^set_config$",
  "^pg_(cancel|terminate)_backend$",
  "^pg_stat_",
  "^pg_(ls_|read_|current_logfile|show_|hba_|ident_|config$|file)",
  "^pg_(get_userbyid|lock_status|blocking_pids|safe_snapshot_blocking_pids|prepared_|cursor$|export_snapshot)",
  "^pg_(logical_|replication_|create_|drop_|backup_|switch_|wal_|walfile_|promote|log_|get_replication|get_wal|control_)",
  "^pg_(tablespace|database)_",
  "^(currtid|dblink|pg_event_trigger)"
]

/** Statements of the administrator. Repeatable. */
const statements = (database: string): ReadonlyArray<string> => [
  `REVOKE ALL ON DATABASE ${database} FROM PUBLIC`,
  "REVOKE ALL ON SCHEMA public FROM PUBLIC",
  `DO $walls$ DECLARE one regprocedure; BEGIN
     FOR one IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
       AND proname ~ '${forbidden.map((pattern) => `(${pattern})`).join("|")}'
     LOOP EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', one); END LOOP; END $walls$`,
  "REVOKE ALL ON ALL TABLES IN SCHEMA pg_catalog FROM PUBLIC",
  "REVOKE ALL ON LANGUAGE plpgsql, sql FROM PUBLIC",
  // What lies behind the wall, for the attempt to look over it.
  "CREATE SCHEMA IF NOT EXISTS svc_walls",
  "CREATE TABLE IF NOT EXISTS svc_walls.secret (word text)",
  `COMMENT ON DATABASE ${database} IS '${mark}'`
]

/** Builds the walls unless they stand. `admin` owns the database, and should be a superuser. */
export const build = async (admin: Client, database: string): Promise<void> => {
  const found = await admin.query<{ readonly mark: string | null }>(
    "SELECT shobj_description(oid, 'pg_database') AS mark FROM pg_database WHERE datname = $1",
    [database]
  )
  if (found.rows[0]?.mark === mark) return
  for (const statement of statements(database)) await admin.query(statement)
}

/** Each of these must fail for the login of a workspace. */
export const attempts: ReadonlyArray<string> = [
  "SELECT pg_advisory_lock(1)",
  "SELECT pg_try_advisory_xact_lock(1)",
  "SELECT lo_create(0)",
  "SELECT lo_from_bytea(0, 'x')",
  "SELECT query_to_xml('SELECT 1', true, false, '')",
  "SELECT database_to_xml(true, false, '')",
  "SELECT pg_sleep(0)",
  "SELECT pg_notify('a', 'b')",
  "SELECT set_config('statement_timeout', '0', false)",
  "SELECT pg_read_file('PG_VERSION')",
  "SELECT pg_ls_dir('.')",
  "SELECT pg_get_userbyid(10)",
  "SELECT pg_stat_get_activity(NULL)",
  "SELECT pg_terminate_backend(1)",
  "SELECT pg_database_size('postgres')",
  "SELECT rolname FROM pg_roles",
  "SELECT nspname FROM pg_namespace",
  "SELECT query FROM pg_stat_activity",
  "SELECT datname FROM pg_database",
  "SELECT word FROM svc_walls.secret",
  "CREATE TABLE public.t (x int)",
  "CREATE TEMP TABLE t (x int)",
  "CREATE SCHEMA elsewhere",
  "CREATE EXTENSION hstore",
  "CREATE ROLE another",
  "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
  "DO $$ BEGIN END $$",
  "COPY (SELECT 1) TO PROGRAM 'true'",
  "COPY (SELECT 1) TO '/tmp/svc-walls'",
  "SET ROLE postgres",
  "SET SESSION AUTHORIZATION postgres"
]

/** The first attempt that succeeds for this login, if one does. */
export const breach = async (login: Client): Promise<string | undefined> => {
  for (const attempt of attempts) {
    try {
      await login.query(attempt)
      return attempt
    } catch {
      // As it must be.
    }
  }
  return undefined
}
