/** A cluster: several processes of the program on one fresh database, each with its own port. */
import { Effect, Redacted } from "effect"
import { assert } from "vitest"
import { randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Client, Pool } from "pg"
import type { FaultPoint } from "../../src/actors/ports/Faults.js"
import { movingMillis } from "../../src/runtime/cluster/ShardOwners.js"
import { generateSecrets } from "../../src/runtime/vault/InstallationSecrets.js"
import { type Api, apiOf } from "./api.js"
import { copyDatabase, type Database, databaseUrl, dropDatabase, dropWorkspaces } from "./Database.js"
import { eventually } from "./eventually.js"
import { announce } from "./LogExpectations.js"
import { assertSound } from "./proofs.js"
import { makeDataDirectory, prepareCompiled, type Service, startService } from "./Service.js"

export interface ClusterNode extends Service {
  readonly dataDir: string
  readonly client: Api
  readonly url: string
  readonly role: string
}

interface NodeOptions {
  readonly kill?: string
  readonly hang?: FaultPoint
  readonly env?: Readonly<Record<string, string>>
  /** The data directory, of a node before it; without it a new one. */
  readonly dataDir?: string
  /** The path of another release's bundle. */
  readonly release?: string
}

export interface TestCluster {
  readonly database: Database
  readonly apiKey: string
  /** The variables that all nodes share. */
  readonly env: Readonly<Record<string, string>>
  /** Starts a node and waits until it is ready. */
  readonly start: (options?: NodeOptions) => Promise<ClusterNode>
  /** The nodes that run. */
  readonly nodes: () => ReadonlyArray<ClusterNode>
  /** Runs a statement as the superuser. */
  readonly sql: <Row extends object>(text: string, values?: ReadonlyArray<unknown>) => Promise<ReadonlyArray<Row>>
  /** How many shards each process holds, by its place in Postgres. */
  readonly shards: () => Promise<ReadonlyArray<number>>
  /** Waits until all shards are held, by so many nodes, each its part, and runs begin on those that have just moved, too. */
  readonly whole: (nodes: number) => Promise<void>
  /** Proves every node sound, stops all, and drops the database. */
  readonly end: () => Promise<void>
}

export const shardCount = 300

/** The node of this number, or of its remainder: tests ask all nodes in turn. */
export const nodeOf = (nodes: ReadonlyArray<ClusterNode>, at: number): ClusterNode =>
  nodes[at % nodes.length] ?? assert.fail("there is no node")

/**
 * Allows what a node that was frozen logs when it wakes: the others ended its sessions, so whatever it had under way in
 * Postgres fails once, by any of the words in which the driver says so.
 */
export const announceEndedSessions = (): void =>
  announce(
    /"(?:background_task\.failed|audit\.seal_failed|events\.not_loaded|event\.not_dispatched)".*(?:admin_shutdown|Connection terminated|connection error and is not queryable|timeout exceeded when trying to connect|SealFailed)/
  )

/**
 * Takes the seats of the nodes of a role away; no node takes one until `release`. Returns once the others have removed them.
 */
export const withholdSeats = async ({ database }: TestCluster, role: "api" | "runner") => {
  const client = new Client({ connectionString: Redacted.value(database.admin) })
  await client.connect()
  let ended: Promise<void> | undefined
  const release = () => (ended ??= client.end())
  try {
    // Whoever takes a seat waits for this row.
    await client.query("BEGIN")
    await client.query("SELECT FROM service_release FOR UPDATE")
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity JOIN nodes ON application_name = 'svc node ' || process
       WHERE role = $1 AND datname = current_database()`,
      [role]
    )
    await eventually(
      () => client.query("SELECT FROM nodes WHERE role = $1", [role]),
      ({ rowCount }) => rowCount === 0
    )
  } catch (cause) {
    await release()
    throw cause
  }
  return { release }
}

/** Starts a run that the queue starts, and returns its id. */
export const beginRun = async ({ client }: ClusterNode, workflow: string, input: object): Promise<string> => {
  const answer = await client.run(workflow, input)
  assert.strictEqual(answer.status, 202, JSON.stringify(answer.body))
  return answer.body.executionId
}

interface Bootstrapped {
  readonly database: string
  readonly apiKey: string
  /** The variables that its secrets are in. */
  readonly secrets: Readonly<Record<string, string>>
}

const databasesOf = ({ urls }: Database): Readonly<Record<string, string>> => ({
  SVC_DATABASE_URL_OWNER: Redacted.value(urls.owner),
  SVC_DATABASE_URL_WRITER: Redacted.value(urls.writer),
  SVC_DATABASE_URL_APP: Redacted.value(urls.app),
  SVC_DATABASE_URL_AUDIT: Redacted.value(urls.auditReader)
})

/** The database that the clusters of this process copy: the command takes as long as a start. Postgres ends with it. */
let bootstrapped: Promise<Bootstrapped> | undefined

/** Creates the first organisation of a database by the command, as an operator does. */
const bootstrap = async (database: Database): Promise<Bootstrapped> => {
  const { keyPepper, masterKeys } = generateSecrets(new Date())
  const secrets = { SVC_MASTER_KEYS: masterKeys, SVC_KEY_PEPPER: keyPepper }
  const place = makeDataDirectory()
  const command = startService({
    dataDir: place.dataDir,
    env: { ...databasesOf(database), ...secrets, SVC_DEFAULT_PLAN: "unlimited" },
    command: ["bootstrap", "--organisation", "Acme"]
  })
  await command.ended
  place.remove()
  const apiKey = /^(svk_live_\S+)$/m.exec(command.output())?.[1]
  if (apiKey === undefined) throw new Error(command.output())
  return { database: database.name, apiKey, secrets }
}

/** `own`: a migrated database on a server of the test's own, which is neither copied nor dropped. */
export const makeCluster = async (
  more: Readonly<Record<string, string>> = {},
  own?: Database
): Promise<TestCluster> => {
  const {
    apiKey,
    database: template,
    secrets
  } = await (own === undefined ? (bootstrapped ??= copyDatabase("svc").then(bootstrap)) : bootstrap(own))
  const database = own ?? (await copyDatabase(template))
  const { admin, name } = database
  const env = {
    ...databasesOf(database),
    ...secrets,
    SVC_CLUSTER_SECRET: randomBytes(32).toString("hex"),
    SVC_DEFAULT_PLAN: "unlimited",
    SVC_EGRESS_ALLOW: "127.0.0.1/32",
    SVC_WS_DATABASE_URL: databaseUrl(admin, `${name}_ws`),
    SVC_DB_POOL_APP: "6",
    SVC_DB_POOL_WRITER: "6",
    ...more
  }
  const directories = new Set<ReturnType<typeof makeDataDirectory>>()
  const alive = new Set<ClusterNode>()
  /** A node has come since all shards were last held: for a moment no run begins on those that it gets. */
  let hasNews = false
  const directory = () => {
    const made = makeDataDirectory()
    directories.add(made)
    return made.dataDir
  }

  // One session, which is opened again if the server was restarted.
  const client = new Pool({ connectionString: Redacted.value(database.admin), max: 1, idleTimeoutMillis: 0 })
  client.on("error", () => undefined)

  const start: TestCluster["start"] = async ({ dataDir: earlier, env: more = {}, hang, kill, release } = {}) => {
    const dataDir = earlier ?? directory()
    if (earlier === undefined) await prepareCompiled(dataDir)
    const service = startService({
      dataDir,
      env: { ...env, SVC_ROLE: "all", ...more },
      ...(hang === undefined ? {} : { hang }),
      ...(kill === undefined ? {} : { kill }),
      ...(release === undefined ? {} : { release })
    })
    await service.ready
    // A node with a public address listens on the port that it is given.
    const url =
      more["SVC_PORT"] === undefined
        ? (/"service\.ready".*?"url":"([^"]+)"/.exec(service.output())?.[1] ?? "")
        : `http://127.0.0.1:${more["SVC_PORT"]}`
    const dev = { baseUrl: url, apiKey } as Api["dev"]
    const node: ClusterNode = { ...service, dataDir, url, role: more["SVC_ROLE"] ?? "all", client: apiOf(dev) }
    alive.add(node)
    hasNews = true
    void node.ended.then(() => alive.delete(node))
    return node
  }

  const shards: TestCluster["shards"] = async () => {
    const { rows } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid::bigint = 1937137969
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY pid`
    )
    return rows.map(({ n }) => n)
  }

  return {
    database,
    apiKey,
    env,
    start,
    nodes: () => [...alive],
    sql: async <Row extends object>(text: string, values: ReadonlyArray<unknown> = []) =>
      (await client.query<Row>(text, [...values])).rows,
    shards,
    whole: async (nodes) => {
      const isWhole = (held: ReadonlyArray<number>) =>
        held.length === nodes &&
        held.reduce((sum, n) => sum + n, 0) === shardCount &&
        held.every((n) => n >= Math.floor(shardCount / nodes))
      await eventually(shards, isWhole).catch(async (error: unknown) => {
        const { rows } = await client.query("SELECT now(), * FROM nodes")
        const said = [...alive].map((node) => node.output().slice(-3_000))
        throw new Error([String(error), JSON.stringify(rows), ...said].join("\n"))
      })
      // A node that heard no notice sees the others at its next sign of life.
      if (hasNews) await sleep(movingMillis + 600)
      hasNews = false
    },
    end: async () => {
      try {
        for (const node of alive)
          if (node.role === "runner") assert.strictEqual((await fetch(`${node.url}/readyz`)).status, 200)
          else await assertSound(async (target) => (await node.client.call("GET", target)).body)
        const trouble = [...alive].flatMap((node) => node.trouble())
        if (trouble.length > 0) throw new Error(`a node said: ${trouble.join("\n")}`)
      } finally {
        // A test that failed may have left one frozen: it would not end.
        for (const node of alive) for (const signal of ["SIGCONT", "SIGTERM"] as const) node.kill(signal)
        await Promise.all([...alive].map(({ ended }) => ended))
        await client.end()
        if (own === undefined) {
          await Effect.runPromise(dropWorkspaces(`${name}_ws`))
          await Effect.runPromise(dropDatabase(name))
        }
        for (const { remove } of directories) remove()
      }
    }
  }
}
