/** `svc.db` over the workspaces' own logins: one statement a call by the extended protocol, with its limits. */
import { randomUUID } from "node:crypto"
import { Effect, Layer, Option, type Redacted } from "effect"
import { DatabaseError, type PoolClient, Query, type QueryConfig, types } from "pg"
import {
  type DbCaller,
  DbRefused,
  type DbResult,
  type DbTransaction,
  transactionLost,
  WorkspaceDb
} from "../../actors/ports/WorkspaceDb.js"
import type { Json } from "../../domain/Json.js"
import { workspaceDb } from "../../domain/Limits.js"
import { allowedCommands, sqlCommand } from "../../domain/SqlCommand.js"
import { reasonOf } from "../Refusal.js"
import { open, type Workspaces } from "./Workspaces.js"

export interface WorkspaceDbOptions {
  /** An administrator's login to the server; its path names the database of the workspaces. None: `svc.db` is off. */
  readonly admin: Option.Option<Redacted.Redacted>
  readonly pepper: Redacted.Redacted
}

/** How long after its start the service makes the database of the workspaces ready, unless somebody needs it earlier. */
const preparation = "2 seconds"
/** How long the size of a workspace is believed. */
const sizeMillis = 10_000
/** Pause before a server that could not be used is asked again. */
const retryMillis = 30_000

export const layer = (options: WorkspaceDbOptions): Layer.Layer<WorkspaceDb> =>
  Layer.scoped(
    WorkspaceDb,
    Effect.gen(function* () {
      if (Option.isNone(options.admin)) return off("set SVC_WS_DATABASE_URL to an administrator's login")
      const server = lazily({ admin: options.admin.value, pepper: options.pepper })
      yield* Effect.addFinalizer(() => Effect.promise(server.close))
      // Known early, for whoever asks whether it works; the first requests of the service come first.
      yield* Effect.forkScoped(Effect.delay(Effect.ignore(Effect.tryPromise(server.get)), preparation))
      return make(server)
    })
  )

// --- Private ---

const refused = (message: string, code: string, more: Partial<DbRefused> = {}) =>
  new DbRefused({ message, code, detail: null, hint: null, position: null, transient: false, ...more })

const unusable = (reason: string) => refused(`svc.db is off: ${reason}`, "DB_OFF")

const off = (reason: string) =>
  WorkspaceDb.of({
    query: () => unusable(reason),
    begin: () => unusable(reason),
    commit: () => unusable(reason),
    rollback: () => Effect.void,
    status: Effect.succeed({ ok: false, detail: reason })
  })

/** The server, opened once; after a failure again, when somebody asks some time later. */
const lazily = (options: { readonly admin: Redacted.Redacted; readonly pepper: Redacted.Redacted }) => {
  let opened: Promise<Workspaces> | undefined
  let failedAt = -Infinity
  let failure = ""
  let ready = false
  const get = (): Promise<Workspaces> => {
    if (opened === undefined || (failure !== "" && performance.now() - failedAt > retryMillis)) {
      failure = ""
      opened = open(options)
      opened.then(
        () => {
          ready = true
        },
        (error: unknown) => {
          failedAt = performance.now()
          failure = reasonOf(error)
        }
      )
    }
    return opened
  }
  return {
    get,
    failure: () => failure,
    ready: () => ready,
    close: async () => (await opened?.catch(() => undefined))?.close()
  }
}

type Server = ReturnType<typeof lazily>

/** A connection while somebody uses it. Broken: it may not be used again. */
interface Held {
  readonly client: PoolClient
  broken: boolean
}

interface OpenTransaction {
  readonly held: Held
  readonly executionId: string
  timer: NodeJS.Timeout
}

const make = (server: Server): WorkspaceDb["Type"] => {
  const transactions = new Map<string, OpenTransaction>()
  const sizes = new Map<string, { readonly bytes: number; readonly until: number }>()
  const room = Effect.unsafeMakeSemaphore(workspaceDb.connectionsPerNode)

  const attempt = <A>(body: (workspaces: Workspaces) => Promise<A>): Effect.Effect<A, DbRefused> =>
    Effect.tryPromise({ try: async () => body(await server.get()), catch: (error) => refusalOf(error, server) })

  const take = (spaceId: string): Effect.Effect<Held, DbRefused> =>
    attempt(async (workspaces) => ({ client: await (await workspaces.poolOf(spaceId)).connect(), broken: false }))

  /** Back to the pool without anything of the session; a broken one is thrown away. */
  const giveBack = ({ broken, client }: Held): void => {
    if (broken) return client.release(true)
    client.query("DISCARD ALL").then(
      () => client.release(),
      () => client.release(true)
    )
  }

  /** A statement of this service's own. */
  const control = <A>(held: Held, body: (client: PoolClient) => Promise<A>): Effect.Effect<A, DbRefused> =>
    Effect.tryPromise({
      try: () => body(held.client),
      catch: (error) => {
        held.broken = true
        return refusalOf(error, server)
      }
    })

  // --- Transactions ---

  const end = (id: string): void => {
    const found = transactions.get(id)
    if (found === undefined) return
    transactions.delete(id)
    clearTimeout(found.timer)
    giveBack(found.held)
  }

  const timeOut = (id: string): void => {
    const found = transactions.get(id)
    if (found !== undefined) found.held.broken = true
    end(id)
  }

  const openFor = (caller: DbCaller, { id }: DbTransaction): OpenTransaction | undefined => {
    const found = transactions.get(id)
    if (found?.executionId !== caller.executionId) return undefined
    found.timer.refresh()
    return found
  }

  const lost = () =>
    refused("the transaction is no longer open, and what it did is undone: begin it again", transactionLost, {
      transient: true
    })

  const begin = (caller: DbCaller): Effect.Effect<DbTransaction, DbRefused> =>
    Effect.gen(function* () {
      if (transactions.size >= workspaceDb.connectionsPerNode / 2)
        return yield* refused("too many transactions are open: try again", "53300", { transient: true })
      const held = yield* take(caller.spaceId)
      const started = control(held, async (client) => {
        await client.query("BEGIN")
        return client.query<{ readonly xid: string }>("SELECT pg_current_xact_id()::text AS xid")
      })
      const { rows } = yield* Effect.tapError(started, () => Effect.sync(() => giveBack(held)))
      const id = randomUUID()
      const timer = setTimeout(() => timeOut(id), workspaceDb.idleMillis).unref()
      transactions.set(id, { held, executionId: caller.executionId, timer })
      return { id, xid: rows[0]?.xid ?? "0" }
    })

  const commit = (caller: DbCaller, transaction: DbTransaction): Effect.Effect<void, DbRefused> =>
    Effect.suspend(() => {
      const found = openFor(caller, transaction)
      if (found === undefined) {
        return Effect.flatMap(
          attempt((workspaces) => workspaces.outcome(transaction.xid)),
          (status) => (status === "committed" ? Effect.void : lost())
        )
      }
      return control(found.held, (client) => client.query("COMMIT")).pipe(
        Effect.ensuring(Effect.sync(() => end(transaction.id))),
        // After a failed statement Postgres answers COMMIT by rolling back.
        Effect.flatMap(({ command }) =>
          command === "COMMIT"
            ? Effect.void
            : refused("a statement of the transaction failed: nothing is kept", "25P02")
        )
      )
    })

  const rollback = (caller: DbCaller, transaction: DbTransaction): Effect.Effect<void> =>
    Effect.suspend(() => {
      const found = openFor(caller, transaction)
      if (found === undefined) return Effect.void
      return Effect.ignore(control(found.held, (client) => client.query("ROLLBACK"))).pipe(
        Effect.ensuring(Effect.sync(() => end(transaction.id)))
      )
    })

  // --- Statements ---

  const hasRoom = (spaceId: string) =>
    attempt(async (workspaces) => {
      const known = sizes.get(spaceId)
      const now = performance.now()
      if (known !== undefined && known.until > now) return known.bytes < workspaceDb.bytes
      const bytes = await workspaces.size(spaceId)
      sizes.set(spaceId, { bytes, until: now + sizeMillis })
      return bytes < workspaceDb.bytes
    })

  /** When the run stops waiting, the connection goes, and with it the statement. */
  const run = (held: Held, sql: string, params: ReadonlyArray<Json>) =>
    Effect.async<DbResult, DbRefused>((resume) => {
      submit(held.client, sql, params, (outcome) => {
        if ("rows" in outcome) return resume(Effect.succeed(outcome))
        held.broken = !(outcome.cause instanceof DatabaseError)
        resume(refusalOf(outcome.cause, server))
      })
      return Effect.sync(() => {
        held.broken = true
      })
    })

  const query: WorkspaceDb["Type"]["query"] = (caller, sql, params, transaction) =>
    Effect.gen(function* () {
      const command = sqlCommand(sql)
      if (command === undefined)
        return yield* refused(`svc.db.query takes one statement: ${allowedCommands}`, "COMMAND_NOT_ALLOWED")
      if (command.writes && !(yield* hasRoom(caller.spaceId))) {
        return yield* refused(
          `the workspace's database holds more than its ${workspaceDb.bytes} bytes: delete something first`,
          "53100"
        )
      }
      if (transaction !== null) {
        const found = openFor(caller, transaction)
        if (found === undefined) return yield* lost()
        return yield* Effect.ensuring(
          run(found.held, sql, params),
          Effect.sync(() => {
            if (found.held.broken) end(transaction.id)
          })
        )
      }
      return yield* room.withPermits(1)(
        Effect.acquireUseRelease(
          take(caller.spaceId),
          (held) => run(held, sql, params),
          (held) => Effect.sync(() => giveBack(held))
        )
      )
    })

  return WorkspaceDb.of({
    query,
    begin,
    commit,
    rollback,
    status: Effect.sync(() => ({
      ok: server.ready(),
      detail: server.ready() ? "" : server.failure() || "is being made ready"
    }))
  })
}

const refusalOf = (error: unknown, server: Server): DbRefused => {
  if (error instanceof DbRefused) return error
  if (error instanceof DatabaseError) {
    const code = error.code ?? "XX000"
    return refused(error.message, code, {
      detail: error.detail ?? null,
      hint: error.hint ?? null,
      position: error.position === undefined ? null : Number(error.position),
      // Serialisation, resources, an operator's intervention: not the statement's fault. A time-out is.
      transient: /^(40|53|57P|58|08)/.test(code)
    })
  }
  const failed = server.failure()
  return failed === ""
    ? refused(`the database did not answer: ${reasonOf(error)}`, "UNREACHABLE", { transient: true })
    : unusable(failed)
}

type Outcome = DbResult | { readonly cause: unknown }

/** One statement by the extended protocol, which takes no second; rows are counted as they come. */
const submit = (held: PoolClient, sql: string, params: ReadonlyArray<Json>, done: (outcome: Outcome) => void): void => {
  const rows: Array<Json> = []
  let bytes = 0
  let over = false
  const finish = (outcome: Outcome) => {
    if (over) return
    over = true
    done(outcome)
  }
  const config: QueryConfig & { readonly queryMode: "extended" } = {
    text: sql,
    values: [...params],
    queryMode: "extended",
    types: asJson
  }
  const query = new Query<{ readonly [column: string]: Json }>(config)
  query.on("row", (row: { readonly [column: string]: Json }) => {
    if (over) return
    bytes += JSON.stringify(row).length
    rows.push(row)
    if (rows.length > workspaceDb.rows || bytes > workspaceDb.resultBytes) {
      const most = `${workspaceDb.rows} rows or ${workspaceDb.resultBytes} bytes`
      finish({ cause: refused(`the result has more than ${most}: use LIMIT`, "TOO_LARGE") })
    }
  })
  query.on("error", (cause: Error) => finish({ cause }))
  query.on("end", (result) =>
    finish({
      rows,
      rowCount: result.rowCount ?? rows.length,
      fields: result.fields.map(({ dataTypeID, name }) => ({ name, type: dataTypeID }))
    })
  )
  try {
    held.query(query)
  } catch (cause) {
    finish({ cause })
  }
}

// --- Values as JSON ---

const { builtins } = types
const finite = (text: string): Json => (Number.isFinite(Number(text)) ? Number(text) : text)
const instant = (text: string): Json => {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? text : at.toISOString()
}
/** What is exact in JSON is a number; money, numerics and 64-bit integers stay text, as they would lose digits. */
const parsers: { readonly [oid: number]: (text: string) => Json } = {
  [builtins.BOOL]: (text) => text === "t",
  [builtins.INT2]: Number,
  [builtins.INT4]: Number,
  [builtins.OID]: Number,
  [builtins.FLOAT4]: finite,
  [builtins.FLOAT8]: finite,
  [builtins.JSON]: (text): Json => JSON.parse(text),
  [builtins.JSONB]: (text): Json => JSON.parse(text),
  [builtins.TIMESTAMPTZ]: instant
}
const arrays = new Set([1000, 1005, 1007, 1009, 1015, 1021, 1022, 1016, 1231, 2951])
const asJson = {
  getTypeParser: (oid: number): ((text: string) => Json) => {
    const own = parsers[oid]
    if (own !== undefined) return own
    if (!arrays.has(oid)) return (text) => text
    const parse: (text: string) => unknown = types.getTypeParser(oid, "text")
    // Arrays of numbers, booleans and text become arrays of the same.
    return (text): Json => JSON.parse(JSON.stringify(parse(text)))
  }
}
