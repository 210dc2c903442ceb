/** The connection pools of the service, one for each Postgres role that it uses. */
import { Reactivity } from "@effect/experimental"
import { PgClient } from "@effect/sql-pg"
import { SqlError } from "@effect/sql/SqlError"
import { Context, Duration, Effect, Layer, Option, Redacted } from "effect"
import { types } from "pg"
import { DatabaseTrouble, type TroubleRegistry } from "../../../actors/ports/DatabaseTrouble.js"
import { sessionName } from "../../process/ProcessName.js"
import { failOnConnectionLoss } from "./pool/ConnectionLoss.js"
import { limitAnswers } from "./pool/AnswerLimit.js"
import { ConnectTimeout, StartWait } from "./pool/ConnectTimeout.js"
import { OpenSockets } from "./pool/OpenSockets.js"
import { QueuedPool } from "./pool/QueuedPool.js"
import { type DatabaseUrls, variableOf } from "./Roles.js"
import { explainUnreachable, passingReason } from "./UnreachableDatabase.js"
import type { Sql } from "./Sql.js"

/** As `svc_app`: requests. Row-level security shows one organisation, named by `svc.org` in each transaction. */
export class AppSql extends Context.Tag("svc/AppSql")<AppSql, Sql>() {}

/** As `svc_writer`: journal, intake, sweeps, key look-up. Sees every organisation. */
export class WriterSql extends Context.Tag("svc/WriterSql")<WriterSql, Sql>() {}

export interface PoolOptions {
  readonly maxConnections: number
  readonly applicationName: string
  /** The server ends a statement that takes longer. Default: none. */
  readonly statementTimeout?: Duration.DurationInput
  /** The setting that the login comes from, for messages. */
  readonly setting?: string
  /** Where the errors of the server are counted. */
  readonly trouble?: TroubleRegistry
}

/**
 * Opens a pool for the life of the scope, with one connection open. `bigint` columns are read as numbers if that is
 * exact, else as text; `numeric` as text; times as `Date`. Fails with `SqlError` when Postgres cannot be reached.
 */
export const connect = Effect.fn("Pools.connect")(function* (url: Redacted.Redacted, options: PoolOptions) {
  const sockets = Option.getOrUndefined(yield* Effect.serviceOption(OpenSockets))
  const timeout = yield* ConnectTimeout
  const acquire = Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const pool = makePool(url, options, timeout, sockets)
        try {
          const first = await pool.connect()
          first.release()
          return pool
        } catch (cause) {
          await pool.end()
          throw cause
        }
      },
      catch: (cause) =>
        new SqlError({
          cause: explainUnreachable(cause, url, options.setting ?? "SVC_DATABASE_URL"),
          message: "Postgres cannot be reached"
        })
    }),
    (pool) => Effect.promise(() => pool.end()).pipe(Effect.interruptible, Effect.timeoutOption("1 second"))
  )
  const client = PgClient.fromPool({ acquire, applicationName: options.applicationName })
  return failOnConnectionLoss(yield* waitForServer(client, yield* StartWait))
}, Effect.provide(Reactivity.layer))

/** Between two tries of a start. */
const startPause = Duration.millis(500)

/** Tries again for so long while the server may come, and logs once what is waited for. */
const waitForServer = <A, R>(connecting: Effect.Effect<A, SqlError, R>, wait: Duration.Duration) => {
  const until = performance.now() + Duration.toMillis(wait)
  const attempt = (isTold: boolean): Effect.Effect<A, SqlError, R> =>
    Effect.catchAll(connecting, (failure) => {
      const reason = passingReason(failure.cause)
      if (reason === undefined || performance.now() >= until) return Effect.fail(failure)
      const told = Effect.annotateLogs(Effect.logWarning("postgres.awaited"), { reason, wait: Duration.format(wait) })
      return Effect.zipRight(isTold ? Effect.void : told, Effect.delay(attempt(true), startPause))
    })
  return attempt(false)
}

/** The most connections of each pool. */
export interface PoolSizes {
  readonly app: number
  readonly writer: number
}

/** Both pools. */
export const layer = (urls: DatabaseUrls, sizes: PoolSizes) =>
  Layer.unwrapEffect(Effect.map(DatabaseTrouble, (trouble) => bothPools(urls, sizes, trouble)))

const bothPools = (urls: DatabaseUrls, sizes: PoolSizes, trouble: TroubleRegistry) =>
  Layer.merge(
    Layer.scoped(
      AppSql,
      connect(urls.app, {
        trouble,
        maxConnections: sizes.app,
        applicationName: sessionName("svc app"),
        statementTimeout: "30 seconds",
        setting: variableOf(urls.app, "app")
      })
    ),
    Layer.scoped(
      WriterSql,
      connect(urls.writer, {
        trouble,
        maxConnections: sizes.writer,
        applicationName: sessionName("svc writer"),
        statementTimeout: "60 seconds",
        setting: variableOf(urls.writer, "writer")
      })
    )
  )

/**
 * How long a transaction may wait for its next statement: one whose node is cut off keeps its locks, and the sealing of
 * every organisation's audit trail, for no longer. Others take such a node's work over after five seconds.
 */
const idleInTransaction = Duration.seconds(10)

const makePool = (
  url: Redacted.Redacted,
  options: PoolOptions,
  timeout: Duration.Duration,
  sockets: OpenSockets["Type"] | undefined
) => {
  const { trouble } = options
  const settings = {
    connectionString: withServerSettings(Redacted.value(url)),
    max: options.maxConnections,
    // The first request after an idle time waits for no login.
    min: 1,
    application_name: options.applicationName,
    connectionTimeoutMillis: Duration.toMillis(timeout),
    // Each connection is a process of 4 to 7 MB; a new one takes 5 ms.
    idleTimeoutMillis: 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...(sockets === undefined ? {} : { stream: sockets.open }),
    ...(options.statementTimeout === undefined
      ? {}
      : { statement_timeout: Duration.toMillis(options.statementTimeout) }),
    idle_in_transaction_session_timeout: Duration.toMillis(idleInTransaction),
    types: { getTypeParser }
  }
  const pool = new QueuedPool(settings, (sqlState) => {
    if (sqlState !== "") trouble?.note(sqlState)
  })
  // Without a limit of the server, as for migrations, a statement may take any time.
  if (options.statementTimeout !== undefined) pool.on("connect", (client) => limitAnswers(client))
  // The pool drops a broken connection by itself; without a listener the error would end the process.
  pool.on("error", () => {})
  return pool
}

/** Makes the server detect a vanished client: a half-open session would keep its locks for hours. */
export const withServerSettings = (href: string) => {
  const url = new URL(href)
  const existing = url.searchParams.get("options")
  const keepAlive = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
  url.searchParams.set("options", `${existing === null ? "" : `${existing} `}${keepAlive} -c tcp_user_timeout=25000`)
  return url.href
}

const int8 = 20
const readInt8 = (text: string) => {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : text
}

const getTypeParser: typeof types.getTypeParser = (id: number, format?: "text" | "binary") =>
  id === int8 && format !== "binary" ? readInt8 : types.getTypeParser(id, format as "text")
