/**
 * `svc.db` without the rest of the service, on fresh databases: runs statements of any workspace of any organisation.
 */
import { SharedSessions } from "../../src/runtime/workspace/SharedSessions.js"
import { Effect, Either, Layer, Logger, LogLevel, ManagedRuntime, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { Client } from "pg"
import { holdAnswers } from "../../src/actors/ports/HeldBytes.js"
import {
  type DbCaller,
  type DbRefused,
  type DbResult,
  type DbTransaction,
  WorkspaceDb
} from "../../src/actors/ports/run/WorkspaceDb.js"
import type { Json } from "../../src/domain/Json.js"
import { ExecutionId, OrganisationId, SpaceId } from "../../src/domain/Ids.js"
import { databaseNamesOf } from "../../src/runtime/workspace/DatabaseNames.js"
import { ByteLedger } from "../../src/runtime/memory/ByteLedger.js"
import { layer as workspaceDb } from "../../src/runtime/workspace/WorkspaceDb.js"
import { withSafeErrors } from "../../src/runtime/telemetry/Logging.js"
import * as Database from "./Database.js"
import { ownerOf } from "./shareOwners.js"

export const testPepper = Redacted.make("a pepper for tests")

/** A workspace with an organisation of its own, or another workspace of that of `sibling`. */
export const newCaller = (sibling?: DbCaller): DbCaller => ({
  owner: sibling?.owner ?? ownerOf(OrganisationId.make(`org_${ulidBody()}`)),
  spaceId: SpaceId.make(`spc_${ulidBody()}`),
  executionId: ExecutionId.make(`exec_${ulidBody()}`)
})

type RunningQuery = (
  caller: DbCaller,
  sql: string,
  params?: ReadonlyArray<Json>,
  transaction?: DbTransaction | null
) => Effect.Effect<DbResult, DbRefused>

/** `bytes`: the maximum size of a workspace; `ledgerBytes`: of the answers in memory. */
export const startWorkspaces = async (options: { readonly bytes?: number; readonly ledgerBytes?: number } = {}) => {
  const logged: Array<string> = []
  const capture = Logger.replace(
    Logger.defaultLogger,
    Logger.map(withSafeErrors(Logger.jsonLogger), (line) => void logged.push(line))
  )
  const pepper = testPepper
  const layer = Layer.unwrapEffect(
    Effect.map(Database.TestDatabase, ({ admin, name }) =>
      workspaceDb({ admin: Option.some(Redacted.make(Database.databaseUrl(admin, `${name}_ws`))), pepper, ...options })
    )
  ).pipe(
    // Of a lone node, whose turns bound the sessions of an organisation.
    Layer.provide(Layer.succeed(SharedSessions, { acquire: () => Effect.succeed(() => undefined) })),
    Layer.provideMerge(
      Layer.scopedDiscard(
        Effect.flatMap(Database.TestDatabase, ({ name }) =>
          Effect.addFinalizer(() => Database.dropWorkspaces(`${name}_ws`))
        )
      )
    ),
    Layer.provideMerge(Layer.scoped(Database.TestDatabase, Database.freshDatabase)),
    Layer.provideMerge(Layer.merge(capture, Logger.minimumLogLevel(LogLevel.Error)))
  )
  const runtime = ManagedRuntime.make(layer)
  const { admin, name } = await runtime.runPromise(Database.TestDatabase)
  const db = await runtime.runPromise(WorkspaceDb)
  const base = `${name}_ws`

  const ledger = new ByteLedger({ bytes: options.ledgerBytes ?? 2 ** 28, patienceMillis: 200 })

  const query: RunningQuery = (caller, sql, params = [], transaction = null) =>
    holdAnswers(ledger, caller.owner, db.query(caller, sql, params, transaction))

  const outcome = async <A>(effect: Effect.Effect<A, DbRefused>): Promise<A | DbRefused> =>
    Either.merge(await runtime.runPromise(Effect.either(effect)))

  /** Runs a statement as the superuser, in the database of a workspace or in another one. */
  const asAdmin = async <A>(database: string, body: (client: Client) => Promise<A>): Promise<A> => {
    const client = new Client({ connectionString: Database.databaseUrl(admin, database) })
    await client.connect()
    try {
      return await body(client)
    } finally {
      await client.end()
    }
  }

  return {
    db,
    base,
    logged,
    asAdmin,
    databaseOf: (caller: DbCaller) => databaseNamesOf(base, pepper).of(caller.spaceId),
    outcome,
    query: (
      caller: DbCaller,
      sql: string,
      params: ReadonlyArray<Json> = [],
      transaction: DbTransaction | null = null
    ): Promise<DbResult | DbRefused> => outcome(query(caller, sql, params, transaction)),
    ledger,
    started: query,
    run: <A>(effect: Effect.Effect<A>) => runtime.runPromise(effect),
    stop: () => runtime.dispose()
  }
}

/** Ids in hexadecimal digits, which are valid digits of a ULID. */
const ulidBody = () => randomBytes(13).toString("hex")

export type RunningWorkspaces = Awaited<ReturnType<typeof startWorkspaces>>
