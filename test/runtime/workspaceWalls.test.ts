/**
 * A workspace's login learns nothing of another workspace. The test reads from the server's catalogue what the login
 * may call, so that it covers functions and types of later releases of Postgres.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { Client } from "pg"
import { inject } from "vitest"
import { type DbCaller, DbRefused } from "../../src/actors/ports/run/WorkspaceDb.js"
import { attempts } from "../../src/runtime/workspace/Canary.js"
import { databaseNamesOf, schemaOf } from "../../src/runtime/workspace/DatabaseNames.js"
import { databaseUrl } from "../support/Database.js"
import { newCaller, type RunningWorkspaces, startWorkspaces, testPepper } from "../support/workspaces.js"

/** The values of one argument: one of the other workspace, and similar ones that do not exist. */
interface Probe {
  readonly real: string
  readonly decoys: ReadonlyArray<string>
}

/**
 * Oids that name nothing: those from initdb's last one to 16,384, which are never given away, and two beyond the real one. They
 * differ in their digits, too: as a time of day some are none.
 */
const unusedOids = (real: number): ReadonlyArray<string> => [
  ...(real <= 32_767 && real + 800 > 32_767 ? [] : [`${real + 700}`, `${real + 800}`]),
  "16000",
  "16100",
  "16259",
  "16359"
]

/** Numbers differ from answer to answer. */
const withoutNumbers = (text: string): string => text.replaceAll(/\d+/g, "#")

/** A caller whose names, without their numbers, do not contain those of the other. */
const callerUnlike = (other: DbCaller, namesOf: (caller: DbCaller) => ReadonlyArray<string>): DbCaller => {
  const others = namesOf(other).map(withoutNumbers)
  const one = newCaller()
  const isLike = namesOf(one).some((name) => others.some((text) => withoutNumbers(name).includes(text)))
  return isLike ? callerUnlike(other, namesOf) : one
}

describe("The login of a workspace", () => {
  let world: RunningWorkspaces
  let victim: DbCaller
  let login: Client
  let numbers: ReadonlyArray<Probe>
  let words: ReadonlyArray<Probe>
  let secrets: ReadonlyArray<string>

  const loginTo = (own: string, database: string) => {
    const url = new URL(databaseUrl(Redacted.make(inject("postgres").admin), database))
    url.username = own
    url.password = databaseNamesOf(world.base, testPepper).password(own)
    return new Client({ connectionString: url.href })
  }

  beforeAll(async () => {
    world = await startWorkspaces()
    victim = newCaller()
    const intruder = callerUnlike(victim, (caller) => [world.databaseOf(caller), schemaOf(caller.spaceId)])
    for (const sql of [
      "CREATE TABLE hidden_orders (id int PRIMARY KEY, word text DEFAULT 'hidden_default' CHECK (word <> 'hidden_literal'))",
      "COMMENT ON TABLE hidden_orders IS 'hidden_comment'",
      "CREATE VIEW hidden_view AS SELECT * FROM hidden_orders",
      "CREATE TYPE hidden_type AS ENUM ('hidden_label')",
      "INSERT INTO hidden_orders VALUES (1, 'hidden_word')"
    ]) {
      const made = await world.query(victim, sql)
      assert.notInstanceOf(made, DbRefused, JSON.stringify(made))
    }
    await world.query(intruder, "CREATE TABLE mine (id int)")
    const own = world.databaseOf(intruder)
    const theirs = world.databaseOf(victim)
    const oids = await world.asAdmin(theirs, async (client) => {
      const { rows } = await client.query<{ readonly oid: string }>(
        `SELECT oid::text FROM pg_roles WHERE rolname = $1 UNION ALL SELECT oid::text FROM pg_database WHERE datname = $1
         UNION ALL SELECT oid::text FROM pg_class WHERE relname LIKE 'hidden%'
         UNION ALL SELECT oid::text FROM pg_constraint WHERE connamespace = to_regnamespace($2)
         UNION ALL SELECT oid::text FROM pg_type WHERE typname = 'hidden_type'
         UNION ALL SELECT oid::text FROM pg_attrdef UNION ALL SELECT oid::text FROM pg_rewrite WHERE ev_class > 16384
         UNION ALL SELECT to_regnamespace($2)::oid::text`,
        [theirs, schemaOf(victim.spaceId)]
      )
      return rows.map(({ oid }) => oid)
    })
    numbers = [...new Set(oids)].map((real) => ({ real, decoys: unusedOids(Number(real)) }))
    words = [theirs, "hidden_orders", schemaOf(victim.spaceId)].map((real) => ({
      real,
      decoys: [3, 5, 7, 9, 11, 13].map((by) => shifted(real, by))
    }))
    secrets = [theirs, schemaOf(victim.spaceId), "hidden_"].map(withoutNumbers)
    login = loginTo(own, own)
    await login.connect()
    // Some functions count up to their argument.
    await login.query("SET statement_timeout = '100ms'")
  })
  afterAll(async () => {
    await login.end()
    await world.stop()
  })

  const answerTo = async (sql: string): Promise<string> => {
    try {
      return JSON.stringify((await login.query(sql)).rows)
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  /**
   * Whether the answer contains more than the arguments, or differs from the answers about things that do not exist.
   */
  const findLeak = async (
    statement: (at: string) => string,
    { decoys, real }: Probe,
    computes = false
  ): Promise<string | undefined> => {
    const plain = async (at: string) => withoutNumbers((await answerTo(statement(at))).replaceAll(at, "?"))
    /** What the answer tells, if it does so again: a statement may have taken too long for once. */
    const told = async (tries: number): Promise<string | undefined> => {
      const about = await plain(real)
      const repeated = secrets.find((secret) => about.includes(secret))
      if (repeated !== undefined) return `${statement(real)} told ${repeated}: ${about}`
      if (computes) return undefined
      const [first = "", ...others] = decoys
      const expected = await plain(first)
      if (about === expected) return undefined
      // Hashes and random numbers always differ.
      for (const one of others) if ((await plain(one)) !== expected) return undefined
      return tries > 1 ? told(tries - 1) : `${statement(real)} answered ${about}, and of a decoy ${expected}`
    }
    return told(3)
  }

  it("calls no function that reveals another workspace, by oid or by name", async () => {
    const { rows } = await world.asAdmin(String(login.database), (client) =>
      client.query<{ readonly call: string; readonly computes: boolean; readonly types: ReadonlyArray<string> }>(
        `SELECT format('%I.%I', n.nspname, p.proname) AS call, p.provolatile = 'i' OR p.proname ~ '^to_(number|timestamp|date)$' AS computes,
           ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS a(t, i) ORDER BY i) AS types
         FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE p.prokind = 'f' AND p.pronargs BETWEEN 1 AND 4 AND has_function_privilege($1, p.oid, 'EXECUTE')
           AND NOT 'internal'::regtype = ANY(p.proargtypes)`,
        [login.user]
      )
    )
    assert.isAbove(rows.length, 1_500)
    const leaks: Array<string> = []
    for (const { call, computes, types } of rows) {
      for (const [place, type] of types.entries()) {
        const isOid = type === "oid" || type.startsWith("reg") || (numeric.has(type) && !computes)
        const probes = isOid ? numbers : textual.has(type) ? words : []
        for (const probe of probes) {
          for (const other of computes || !types.includes("oid") ? ["1"] : catalogues) {
            const sample = (t: string) => (t === "oid" ? `${other}::oid` : sampleOf(t))
            const statement = (at: string) =>
              `SELECT ${call}(${types.map((t, i) => (i === place ? `'${at}'::${t}` : sample(t))).join(", ")}) LIMIT 3`
            const leak = await findLeak(statement, probe, computes)
            if (leak !== undefined) leaks.push(leak)
          }
        }
      }
    }
    assert.deepStrictEqual(leaks, [])
  })

  it("casts no value to a type that reveals another workspace", async () => {
    const { rows } = await world.asAdmin(String(login.database), (client) =>
      client.query<{ readonly type: string }>(
        "SELECT oid::regtype::text AS type FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype <> 'c'"
      )
    )
    assert.isAbove(rows.length, 150)
    const leaks: Array<string> = []
    for (const { type } of rows) {
      const forms: ReadonlyArray<(at: string) => string> = [
        (at) => `SELECT '${at}'::${type}::text`,
        (at) => `SELECT '{${at}}'::${type}::text`,
        (at) => `SELECT '${at}=r/${at}'::${type}::text`,
        (at) => `SELECT ${/^\d+$/.test(at) ? at : `'${at}'`}::oid::${type}::text`
      ]
      for (const form of forms)
        for (const probe of [...numbers.slice(0, 3), ...words]) {
          const leak = await findLeak(form, probe)
          if (leak !== undefined) leaks.push(leak)
        }
    }
    assert.deepStrictEqual(leaks, [])
  })

  it("reads no column of relations that databases share, and no attempt finds the canary", async () => {
    const { rows } = await world.asAdmin(String(login.database), (client) =>
      client.query<{ readonly name: string }>(
        `SELECT c.oid::regclass::text AS name FROM pg_class c
         WHERE c.relkind IN ('r', 'v', 'm', 'S', 't') AND has_any_column_privilege($1, c.oid, 'SELECT')`,
        [login.user]
      )
    )
    const outside = rows.map(({ name }) => name).filter((name) => !/^(information_schema\.|ws_\w+\.mine$)/.test(name))
    assert.deepStrictEqual(outside, ["pg_index"])
    for (const { name } of rows) {
      const told = withoutNumbers(await answerTo(`SELECT * FROM ${name}`))
      assert.isUndefined(
        secrets.find((secret) => told.includes(secret)),
        name
      )
    }
    for (const attempt of attempts) {
      let refused = false
      await login.query(attempt).catch(() => (refused = true))
      assert.isTrue(refused, attempt)
    }
  })

  it("enters its own database and no other one", async () => {
    const { rows } = await world.asAdmin("postgres", (client) =>
      client.query<{ readonly name: string }>(
        "SELECT datname AS name FROM pg_database WHERE datname = ANY($1) OR starts_with(datname, $2)",
        [["postgres", "template1", "svc", world.base], `${world.base}_`]
      )
    )
    assert.includeMembers(
      rows.map(({ name }) => name),
      ["postgres", "template1", "svc", world.databaseOf(victim), `${world.base}_template`]
    )
    for (const { name } of rows.filter((row) => row.name !== login.database)) {
      const client = loginTo(String(login.user), name)
      const refusal = await client.connect().then(
        () => "connected",
        (error: Error) => error.message
      )
      await client.end()
      assert.match(refusal, /permission denied for database|not currently accepting connections/, name)
    }
  })
})

/** A name of the same form, with other letters and digits. */
const shifted = (name: string, by: number): string =>
  name
    .replaceAll(/[a-z]/g, (letter) => String.fromCharCode(97 + ((letter.charCodeAt(0) - 97 + by) % 26)))
    .replaceAll(/\d/g, (digit) => `${(Number(digit) + by) % 10}`)

/** The second argument beside an oid: none, or the oid of the catalogue that contains it (roles, databases). */
const catalogues = ["1", "1260", "1262"]

const numeric: ReadonlySet<string> = new Set(["integer", "bigint", "xid", "cid", "xid8"])
const textual: ReadonlySet<string> = new Set(["text", "name", "character varying", "cstring", '"any"', "anyelement"])

const samples: Readonly<Record<string, string>> = {
  text: "'SELECT'",
  name: "'usage'",
  integer: "1",
  bigint: "1",
  smallint: "1",
  boolean: "true",
  regclass: "1::regclass",
  '"char"': `'r'::"char"`,
  json: "'{}'::json",
  jsonb: "'{}'::jsonb",
  pg_node_tree: "NULL::pg_node_tree"
}

const sampleOf = (type: string): string =>
  samples[type] ?? `NULL::${type.startsWith("any") || type === '"any"' ? "text" : type}`
