/** Reads as the request role, which row-level security admits to the rows of one organisation. */
import { Clock, Duration, Effect, identity } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import { type OrganisationId, timeOfId } from "../../../domain/Ids.js"
import { logStatementErrors } from "./pool/ConnectionLoss.js"
import { databaseUnavailable } from "./DatabaseUnavailable.js"
import type { Sql } from "./Sql.js"

/** Runs its body in a transaction that sees one organisation. */
type OrganisationReader = <A>(
  sql: Sql,
  organisation: OrganisationId,
  body: Effect.Effect<A, unknown>
) => Effect.Effect<A, Unavailable>

const readerWith =
  (settings: string, event: string | undefined): OrganisationReader =>
  (sql, organisation, body) =>
    sql
      .withTransaction(
        Effect.zipRight(sql.unsafe(`SELECT set_config('svc.org', $1, true)${settings}`, [organisation]), body)
      )
      .pipe(event === undefined ? identity : logStatementErrors(event), Effect.mapError(databaseUnavailable))

/** `event`: what a failure is logged as. */
export const organisationReader = (event?: string): OrganisationReader => readerWith("", event)

const withoutSorting = ["enable_sort", "enable_incremental_sort"].map((name) => `, set_config('${name}', 'off', true)`)

/**
 * For pages in the order of an index. A partition is new each week: until Postgres has statistics of it, it would read all
 * rows of the organisation and sort them.
 */
export const pageReader = (event: string): OrganisationReader => readerWith(withoutSorting.join(""), event)

/** Periods that a page is searched in before all partitions are. */
const recentPeriods = [Duration.days(2), Duration.days(16)]

/**
 * Reads a page of a list, the newest first. It nearly always lies within a few days, hence a few partitions; opening all
 * partitions costs several times the read of the page. Earlier periods are read only if the page is not full.
 */
export const readRecentFirst = Effect.fnUntraced(function* <
  Query extends { readonly before?: string; readonly from?: number; readonly to?: number },
  Page,
  E
>(query: Query, read: (query: Query) => Effect.Effect<Page, E>, isFull: (page: Page) => boolean) {
  const newest = query.before === undefined ? yield* Clock.currentTimeMillis : timeOfId(query.before)
  for (const period of recentPeriods) {
    const since = Math.min(newest, query.to ?? newest) - Duration.toMillis(period)
    if (since <= (query.from ?? 0)) break
    const recent = yield* read({ ...query, from: since })
    if (isFull(recent)) return recent
  }
  return yield* read(query)
})
