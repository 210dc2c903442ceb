/**
 * The privileges of a workspace's login in its own database. All databases share the server's catalogues, so the walls
 * deny by rule and allow by name: a function of a later release of Postgres is denied until it is listed.
 */
import type { Client } from "pg"

/** Raise it when the walls change: they are rebuilt in the template, and in each database at its next use. */
const revision = 2
export const mark = `svc workspaces, walls ${revision}`

/**
 * Allowed functions that are not immutable: they read the clock, the session, or the caller's own database. Immutable
 * functions, and those behind operators and casts, need no entry.
 */
const allowed = `
  age array_sample array_shuffle array_to_json array_to_string clock_timestamp concat concat_ws convert convert_from
  convert_to current_database current_schema current_schemas current_user currval date_add date_cmp_timestamptz date_part
  date_subtract date_trunc enum_first enum_last enum_range extract format format_type gen_random_uuid generate_series
  get_current_ts_config in_range json_agg json_agg_strict json_build_array json_build_object json_object_agg
  json_object_agg_strict json_object_agg_unique json_object_agg_unique_strict json_populate_record json_populate_recordset
  json_to_record json_to_recordset json_to_tsvector jsonb_agg jsonb_agg_strict jsonb_build_array jsonb_build_object
  jsonb_object_agg jsonb_object_agg_strict jsonb_object_agg_unique jsonb_object_agg_unique_strict jsonb_path_exists_tz
  jsonb_path_match_tz jsonb_path_query_array_tz jsonb_path_query_first_tz jsonb_path_query_tz jsonb_populate_record
  jsonb_populate_record_valid jsonb_populate_recordset jsonb_to_record jsonb_to_recordset jsonb_to_tsvector lastval length
  make_timestamptz nextval now overlaps pg_collation_for pg_column_compression pg_column_is_updatable pg_column_size
  pg_current_xact_id pg_get_constraintdef pg_get_expr pg_get_indexdef pg_get_serial_sequence pg_get_viewdef
  pg_input_error_info pg_input_is_valid pg_is_other_temp_schema pg_my_temp_schema pg_relation_is_updatable pg_sequence_last_value
  pg_sequence_parameters pg_typeof phraseto_tsquery plainto_tsquery quote_literal quote_nullable random random_normal
  row_to_json session_user setseed setval statement_timestamp timeofday timestamp_cmp_timestamptz timestamptz
  timestamptz_cmp_date timestamptz_cmp_timestamp timezone to_char to_date to_json to_jsonb to_number to_regclass to_regtype
  to_timestamp to_tsquery to_tsvector transaction_timestamp ts_debug ts_headline ts_parse ts_token_type uuidv4 uuidv7
  version websearch_to_tsquery xml_is_well_formed`
  .trim()
  .split(/\s+/)

/** Allowed functions about the caller and objects of its own database: `information_schema` needs them. */
const aboutCaller = "^(pg_has_role|has_(table|any_column|column|sequence|type|function)_privilege)$"

/** Immutable functions that are denied: they print names of roles or positions of the write-ahead log. */
const deniedImmutable = "^(makeaclitem|acl(default|insert|remove|explode)|pg_walfile_name.*)$"

/** Views of `information_schema` that read no shared catalogue. */
const views = `
  attributes check_constraints column_domain_usage column_udt_usage columns constraint_column_usage constraint_table_usage
  domain_constraints domains element_types information_schema_catalog_name key_column_usage referential_constraints
  sequences table_constraints tables user_defined_types view_column_usage view_table_usage views`
  .trim()
  .split(/\s+/)

const quoted = (names: ReadonlyArray<string>) => names.map((name) => `'${name}'`).join(", ")

/** Statements of the administrator inside a workspace's database or the template. Repeatable. */
const statements: ReadonlyArray<string> = [
  "REVOKE ALL ON SCHEMA public FROM PUBLIC",
  "REVOKE ALL ON ALL TABLES IN SCHEMA pg_catalog, information_schema FROM PUBLIC",
  `GRANT SELECT ON ${views.map((view) => `information_schema.${view}`).join(", ")} TO PUBLIC`,
  // `key_column_usage` reads it with the caller's privileges.
  "GRANT SELECT ON pg_catalog.pg_index TO PUBLIC",
  "REVOKE ALL ON LANGUAGE plpgsql, sql FROM PUBLIC",
  `DO $walls$ DECLARE one regprocedure; BEGIN
     FOR one IN SELECT p.oid::regprocedure FROM pg_proc p
       WHERE p.pronamespace = 'pg_catalog'::regnamespace
         AND (p.proacl IS NULL OR EXISTS (SELECT FROM aclexplode(p.proacl) a WHERE a.grantee = 0))
         AND CASE
           WHEN p.proname ~ '${deniedImmutable}' THEN true
           WHEN p.provolatile = 'i' AND p.prokind <> 'p' THEN false
           WHEN p.proname ~ '${aboutCaller}'
             THEN oidvectortypes(p.proargtypes) NOT IN ('oid, text', 'oid, smallint, text')
           WHEN p.proname IN (${quoted(allowed)}) THEN false
           ELSE NOT EXISTS (SELECT FROM pg_operator o WHERE o.oprcode = p.oid)
            AND NOT EXISTS (SELECT FROM pg_cast c WHERE c.castfunc = p.oid)
         END
     LOOP EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', one); END LOOP; END $walls$`,
  // A cast to these types prints the name of a role or database for its oid without a check of privileges.
  "SET allow_system_table_mods = on",
  `UPDATE pg_type SET typisdefined = false
   WHERE typnamespace = 'pg_catalog'::regnamespace AND typisdefined
     AND typname IN ('regrole', '_regrole', 'regdatabase', '_regdatabase')`,
  // Parsing an ACL tells whether a role of that name exists.
  "UPDATE pg_type SET typinput = 'pg_catalog.shell_in(cstring)'::regprocedure WHERE oid = 'pg_catalog.aclitem'::regtype",
  "RESET allow_system_table_mods",
  // A table outside the workspace's schema: the canary tries to read it.
  "CREATE SCHEMA IF NOT EXISTS svc_walls",
  "CREATE TABLE IF NOT EXISTS svc_walls.secret (word text)"
]

/** Builds the walls in the database that this client is connected to. `admin` should be a superuser. */
export const build = async (admin: Client): Promise<void> => {
  for (const statement of statements) await admin.query(statement)
}
