/**
 * Counts what organisations store with `svc.db`, soon after the start and every hour, where a plan limits storage. The
 * last count stays while the server of the workspaces is away. Nodes that count at the same time write the same.
 */
import { Chunk, Duration, Effect, Layer, Schedule, Schema } from "effect"
import { WorkspaceDb } from "../../actors/ports/run/WorkspaceDb.js"
import { backgroundTask, repeatPasses } from "../../actors/BackgroundTask.js"
import { OrganisationId, SpaceId } from "../../domain/Ids.js"
import { WriterSql } from "../postgres/database/Pools.js"
import { limitedPlans } from "../postgres/organisation/StorageUsage.js"
import { rowDecoder } from "../postgres/record/Table.js"

/** After the first requests of the service. */
const firstCount = Duration.seconds(10)
const interval = Duration.hours(1)
const pauseAfterFailure = Duration.minutes(1)
const organisationsPerPage = 100
/** Databases measured by one statement: about 30 ms. */
const databasesPerStatement = 100
const statementTimeout = Duration.seconds(30)
/** For an error that passes, such as a database that is dropped while it is measured. */
const retries = { times: 2, schedule: Schedule.spaced("1 second") }

const decode = rowDecoder("workspaces", { org: OrganisationId, spaces: Schema.Array(SpaceId) })
type OrganisationSpaces = ReturnType<typeof decode>

/** One pass; runs `advance`, which reports progress, after each statement. */
const runPass = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
  const sql = yield* WriterSql
  const db = yield* WorkspaceDb

  const measure = (spaces: ReadonlyArray<SpaceId>) =>
    db.sizes(spaces).pipe(Effect.timeout(statementTimeout), Effect.retry(retries), Effect.zipLeft(advance))

  const countPage = Effect.fnUntraced(function* (page: ReadonlyArray<OrganisationSpaces>) {
    const spaces = Chunk.fromIterable(page.flatMap((organisation) => organisation.spaces))
    const sizes = new Map<SpaceId, number>()
    for (const part of Chunk.chunksOf(spaces, databasesPerStatement))
      for (const [space, bytes] of yield* measure(Chunk.toReadonlyArray(part))) sizes.set(space, bytes)
    const totals = page.map(({ spaces: own }) => own.reduce((sum, space) => sum + (sizes.get(space) ?? 0), 0))
    // Organisations that have never stored anything need no row.
    yield* sql`
      INSERT INTO storage_usage (org, bytes, workspace_bytes)
      SELECT t.org, 0, t.bytes FROM unnest(${page.map(({ org }) => org)}::text[], ${totals}::bigint[]) AS t (org, bytes)
      WHERE t.bytes > 0 OR EXISTS (SELECT FROM storage_usage u WHERE u.org = t.org)
      ON CONFLICT (org) DO UPDATE SET workspace_bytes = excluded.workspace_bytes
      WHERE storage_usage.workspace_bytes <> excluded.workspace_bytes`
    yield* advance
  })

  let after = ""
  while (true) {
    const rows: ReadonlyArray<object> = yield* sql`
      SELECT o.id AS org, COALESCE(array_agg(w.id) FILTER (WHERE w.id IS NOT NULL), '{}') AS spaces
      FROM (SELECT id FROM organisations WHERE plan = ANY(${limitedPlans}) AND id > ${after}
        ORDER BY id LIMIT ${organisationsPerPage}) o
      LEFT JOIN workspaces w ON w.org = o.id GROUP BY o.id ORDER BY o.id`
    const page = rows.map(decode)
    const last = page.at(-1)
    if (last === undefined) return
    yield* countPage(page)
    after = last.org
  }
})

/**
 * One pass that reports no progress.
 * @internal Tests count with it.
 */
export const countWorkspaces = runPass(Effect.void)

export const layer = Layer.scopedDiscard(
  Effect.flatMap(backgroundTask("workspaces.count_storage", runPass), (task) =>
    repeatPasses(task, { interval, pause: pauseAfterFailure }).pipe(
      Effect.delay(firstCount),
      Effect.interruptible,
      Effect.forkScoped
    )
  )
)
