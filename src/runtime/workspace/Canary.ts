/**
 * Tests the isolation of workspaces at every start with a login like theirs: `svc.db` stays off if an attempt succeeds.
 */
import type { Client } from "pg"

/** Statements that must fail for the login of a workspace. `10` is the oid of the server's first superuser. */
export const attempts: ReadonlyArray<string> = [
  // Locks, large objects, queries in text, sleeping, signals, settings, files.
  "SELECT pg_advisory_lock(1)",
  "SELECT pg_try_advisory_xact_lock(1)",
  "SELECT lo_create(0)",
  "SELECT lo_from_bytea(0, 'x')",
  "SELECT query_to_xml('SELECT 1', true, false, '')",
  "SELECT database_to_xml(true, false, '')",
  "SELECT pg_sleep(0)",
  "SELECT pg_notify('a', 'b')",
  "SELECT set_config('statement_timeout', '0', false)",
  "SELECT current_setting('data_directory')",
  "SELECT pg_read_file('PG_VERSION')",
  "SELECT pg_ls_dir('.')",
  "SELECT pg_terminate_backend(1)",
  // Roles and databases, which all databases of a server share.
  "SELECT pg_get_userbyid(10)",
  "SELECT 10::oid::regrole::text",
  "SELECT '{10}'::regrole[]::text",
  "SELECT regroleout(10::oid)",
  "SELECT to_regrole('postgres')",
  "SELECT makeaclitem(10, 10, 'SELECT', false)",
  "SELECT acldefault('r', 10)",
  "SELECT 'postgres=r/postgres'::aclitem",
  "SELECT '{postgres=r/postgres}'::aclitem[]",
  "SELECT pg_describe_object(1260, 10, 0)",
  "SELECT pg_identify_object(1260, 10, 0)",
  "SELECT pg_identify_object_as_address(1262, 1, 0)",
  "SELECT pg_get_object_address('role', '{postgres}', '{}')",
  "SELECT pg_get_acl(1262, 1, 0)",
  "SELECT pg_has_role('postgres', 'USAGE')",
  "SELECT has_database_privilege('postgres', 'CONNECT')",
  "SELECT has_database_privilege(1::oid, 'CONNECT')",
  "SELECT has_tablespace_privilege('pg_default', 'CREATE')",
  "SELECT shobj_description(1, 'pg_database')",
  "SELECT pg_stat_get_activity(NULL)",
  "SELECT pg_stat_get_db_numbackends(1)",
  "SELECT pg_database_size('postgres')",
  "SELECT pg_relation_size('pg_catalog.pg_authid')",
  "SELECT pg_total_relation_size('pg_catalog.pg_database')",
  "SELECT pg_relation_filepath('pg_catalog.pg_database')",
  "SELECT pg_xact_status('3'::xid8)",
  "SELECT pg_current_wal_lsn()",
  "SELECT rolname FROM pg_roles",
  "SELECT nspname FROM pg_namespace",
  "SELECT query FROM pg_stat_activity",
  "SELECT datname FROM pg_database",
  "SELECT subname FROM pg_subscription",
  "SELECT * FROM information_schema.schemata",
  "SELECT * FROM information_schema.enabled_roles",
  "SELECT * FROM information_schema.table_privileges",
  // Objects outside the schema, state that outlives a call, and code that runs as another role.
  "SELECT word FROM svc_walls.secret",
  "CREATE TABLE public.t (x int)",
  "CREATE TEMP TABLE t (x int)",
  "CREATE SCHEMA elsewhere",
  "CREATE EXTENSION hstore",
  "CREATE ROLE another",
  "CREATE DATABASE another",
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
      // The attempt failed, as it must.
    }
  }
  return undefined
}
