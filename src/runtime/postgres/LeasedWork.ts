/**
 * The statements of leased work: written once, for kinds that are data. Each stands in its driver, or in `WorkKinds.ts` if
 * other modules use it, too. A statement that takes rows waits for no lock: it leaves out what another one has locked.
 */
import { type Sql, castRows } from "./database/Sql.js"
import { Effect } from "effect"
import type { PlaceBounds, Room } from "../../actors/Places.js"
import type { StoredJob } from "../../actors/ports/FailedJobs.js"
import type { DueWork, FindWork, LeasedWork } from "../../actors/ports/LeasedWork.js"
import { Ownership } from "../../actors/ports/Ownership.js"
import { execute, rowsOf } from "./database/DatabaseUnavailable.js"
import { notSetAside } from "./FailedJobs.js"

/** Due rows that one statement considers. */
const mostConsidered = 1_000

/** A kind of stored work, as data. Its conditions and expressions are SQL and call a row `w`. */
export interface DueKind<N extends string = string> {
  /** The task by which a job that fails is set aside; `null`: such a job becomes a dead letter instead. */
  readonly task: N | null
  readonly table: string
  /** Joins to the table, for its condition. */
  readonly joins?: string
  /** Further joins, for what is looked for: `isWanted`, `partner`. */
  readonly joinsToFind?: string
  /** The columns of the key. */
  readonly key: ReadonlyArray<string>
  /** The id of a job. Default: the values of its key, with `|` between two. */
  readonly id?: string
  /** The condition of due work, apart from its lease and from what is set aside. */
  readonly isDue: string
  /** Further conditions on what is looked for; what was found is leased without them. */
  readonly isWanted?: string
  /** Since when it is due. */
  readonly dueAt: string
  /** Default: the longest due first. */
  readonly orderBy?: string
  /**
   * Whether only the owner of a row's shard takes it, by the column `shard`: then each statement asks for own shards, so
   * that the work of a node that hangs keeps nobody else's waiting. Absent: each node takes any row.
   */
  readonly hasShards?: true
  /** Any due row is work when that is asked, also one that is set aside or does not fit `isWanted`. */
  readonly isAnyDueWork?: true
}

/** Of work that is leased. */
export interface WorkKind<N extends string = string> extends DueKind<N> {
  readonly lease: {
    /** The column with the time until which a node has the row. Default: `leased_until`. */
    readonly until?: string
    readonly seconds: number
    /** The column that names the process which has it, if only that one may end it. */
    readonly holder?: string
    /** The column that counts leases that ended with their process. */
    readonly lost?: string
  }
  /** Values of the condition's tables at the time of the lease, for `columns`, which call them `due`. */
  readonly reads?: string
  /** What a lease returns beside `id` and `organisationId`. */
  readonly columns: string
}

/** Work without a lease is locked by the statement that ends it. */
type LeasableKind<N extends string = string> = DueKind<N> & Partial<Pick<WorkKind, "lease">>

/** Of work that waits for a partner outside. */
export interface PlacedKind<N extends string = string> extends LeasableKind<N> {
  readonly partner: string
  readonly bounds: PlaceBounds
}

const fromSql = ({ joins = "", table }: DueKind) => `${table} w ${joins}`
const fromToFind = (kind: DueKind) => `${fromSql(kind)} ${kind.joinsToFind ?? ""}`
const idSql = ({ id, key }: DueKind) => id ?? key.map((column) => `w.${column}`).join(" || '|' || ")

/** The rows of the ids, whose keys the first parameters are, column by column. */
const isAmong = ({ key }: DueKind) =>
  key.length === 1
    ? `w.${key[0]} = ANY($1::text[])`
    : `(${key.map((column) => `w.${column}`).join(", ")}) IN (SELECT * FROM unnest(${key.map((_, at) => `$${at + 1}::text[]`).join(", ")}))`

/** The column with the time until which a node has the row. */
export const leasedUntil = ({ lease: { until = "leased_until" } }: Pick<WorkKind, "lease">): string => until

/** The condition of work that a node may take now. */
const canBeTaken = ({ dueAt, isDue, lease }: LeasableKind): string => {
  if (lease === undefined) return isDue
  const until = `w.${leasedUntil({ lease })}`
  return `${isDue} AND ${until === dueAt ? `${until} <= now()` : `(${until} IS NULL OR ${until} <= now())`}`
}

/** The condition of work that is looked for. */
const isLookedFor = (kind: LeasableKind): string => {
  const { isWanted, task } = kind
  const conditions = [isWanted, task === null ? undefined : notSetAside(task, idSql(kind))]
  return [canBeTaken(kind), ...conditions.filter((one) => one !== undefined)].join(" AND ")
}

/** Whether there is work that a node may take now. */
export const hasWork = (kind: LeasableKind): string => `EXISTS (SELECT FROM ${fromSql(kind)} WHERE ${canBeTaken(kind)})`

/** Whether there is work that a sweep would find. */
export const isWorkLookedFor = (kind: LeasableKind): string =>
  kind.isAnyDueWork === true ? hasWork(kind) : `EXISTS (SELECT FROM ${fromToFind(kind)} WHERE ${isLookedFor(kind)})`

/** The end of a lease that begins now. */
export const leaseEnd = ({ lease }: WorkKind): string => `now() + interval '${lease.seconds} seconds'`

/** The assignments that end a lease. */
export const noLease = (kind: WorkKind): string => {
  const { holder } = kind.lease
  return holder === undefined ? `${leasedUntil(kind)} = NULL` : `${leasedUntil(kind)} = NULL, ${holder} = NULL`
}

/** Reads the work that is due, in order. */
export const dueSql = (kind: LeasableKind, columns: string, limit: number | "$1" = "$1"): string =>
  `SELECT ${columns} FROM ${fromToFind(kind)} WHERE ${isLookedFor(kind)} ORDER BY ${kind.orderBy ?? kind.dueAt} LIMIT ${limit}`

/** Lets a statement take the rows of a selection, without those that another one has locked. */
export const withoutWaiting = (selection: string): string => `${selection} FOR UPDATE OF w SKIP LOCKED`

/** Takes those of the found rows that may still be taken. `condition`: in place of the ids in the first parameters. */
export const takeFound = (kind: LeasableKind, columns: string, condition = isAmong(kind)): string =>
  withoutWaiting(`SELECT ${columns} FROM ${fromSql(kind)} WHERE ${condition} AND ${canBeTaken(kind)}`)

/**
 * The lease. `rows`: those of the ids in the first parameters, or what is due, at most `$1`, or a condition. `set`: further
 * assignments.
 */
export const leaseSql = (kind: WorkKind, rows: "found" | "due" | { readonly where: string }, set = ""): string => {
  const { key, reads, table } = kind
  const columns = [...key.map((column) => `w.${column}`), ...(reads === undefined ? [] : [reads])].join(", ")
  const taken =
    rows === "due"
      ? withoutWaiting(dueSql(kind, columns))
      : takeFound(kind, columns, rows === "found" ? undefined : rows.where)
  return `WITH due AS MATERIALIZED (${taken})
    UPDATE ${table} w SET ${leasedUntil(kind)} = ${leaseEnd(kind)} ${set === "" ? "" : `, ${set}`} FROM due
    WHERE ${key.map((column) => `w.${column} = due.${column}`).join(" AND ")}
    RETURNING ${idSql(kind)} AS id, w.org AS "organisationId", ${kind.columns}`
}

/** Changes the row whose key the first parameters are. `guard`: a further condition. */
export const changeSql = ({ key, table }: WorkKind, set: string, guard = "true"): string =>
  `UPDATE ${table} w SET ${set} WHERE ${key.map((column, at) => `w.${column} = $${at + 1}`).join(" AND ")} AND ${guard}`

/** Ends its lease as well. `guard`: the condition by which a node whose lease has ended changes nothing. */
export const settleSql = (kind: WorkKind, set: string, guard?: string): string =>
  changeSql(kind, `${set}, ${noLease(kind)}`, guard)

/** The account of the organisation that the expression `org` names. */
export const accountSql = (org: string): string =>
  `COALESCE((SELECT o.parent_id FROM organisations o WHERE o.id = ${org}), ${org})`

/** The organisations of the accounts that a parameter names. */
const organisationsOf = (accounts: `$${number}`): string =>
  `(${accounts}::text[] || ARRAY(SELECT o.id FROM organisations o WHERE o.parent_id = ANY(${accounts}::text[])))`

/**
 * The CTEs `due` and `placed`: the work that may get a place, at most that of one node, accounts and their organisations in turn, the longest
 * due first. `columns`: further ones to select. The first parameters are `roomValues`.
 */
export const findCtes = (kind: PlacedKind, columns = ""): string => {
  const { bounds, dueAt, partner } = kind
  return `due AS MATERIALIZED (
    SELECT ${idSql(kind)} AS id ${columns}, w.org, ${partner} AS partner, ${dueAt} AS due_at FROM ${fromToFind(kind)}
    WHERE ${isLookedFor(kind)} AND NOT w.org = ANY(${organisationsOf("$1")}) AND NOT ${partner} = ANY($2::text[])
      AND (${partner} = ANY($5::text[]) OR NOT ($3::boolean OR w.org = ANY(${organisationsOf("$4")})))
    ORDER BY ${dueAt} LIMIT ${mostConsidered}
  ), placed AS (
    SELECT r.* FROM (
      SELECT m.*, row_number() OVER (PARTITION BY m.account ORDER BY m.turn, m.due_at, m.partner) AS place FROM (
        SELECT n.*, ${accountSql("n.org")} AS account,
          row_number() OVER (PARTITION BY n.org ORDER BY n.due_at, n.partner) AS turn
        FROM (
          SELECT due.*, row_number() OVER (PARTITION BY due.partner ORDER BY due.due_at) AS nth FROM due
        ) n WHERE n.nth <= ${bounds.perPartner}
      ) m
    ) r WHERE r.place <= ${bounds.perAccount}
    ORDER BY r.place, r.due_at LIMIT ${bounds.perNode}
  )`
}

/** The room of places as the first parameters, so that no work is found that would get no place. See `Places`. */
export const roomValues = (room: Room): ReadonlyArray<unknown> => [
  room.fullAccounts,
  room.closedPartners,
  room.isReserved,
  room.reservedFor,
  room.answering
]

/** The values of a job's key, for the first parameters of the statement that settles it. */
export const keyOf = ({ key }: WorkKind, id: string): ReadonlyArray<string> => {
  const end = id.indexOf("|")
  return key.length === 1 ? [id] : [id.slice(0, end), id.slice(end + 1)]
}

/** The assignments that end a lease whose process has ended. */
const lostLease = (kind: WorkKind): string =>
  kind.lease.lost === undefined ? noLease(kind) : `${noLease(kind)}, ${kind.lease.lost} = ${kind.lease.lost} + 1`

/** At the start of the only node, ends all leases: they belong to a process that has ended. */
export const endFormerLeases = (sql: Sql, kind: WorkKind, condition = "true") =>
  Effect.flatMap(Ownership, ({ isAlone }) =>
    isAlone
      ? Effect.asVoid(
          sql.unsafe(
            `UPDATE ${kind.table} SET ${lostLease(kind)} WHERE ${kind.lease.holder ?? leasedUntil(kind)} IS NOT NULL AND ${condition}`
          )
        )
      : Effect.void
  )

/** The operations that kinds have in common. */
export const makeLeasedWork = <J extends StoredJob>(sql: Sql, kind: WorkKind): LeasedWork<J> => {
  const [foundSql, batchSql] = [leaseSql(kind, "found"), leaseSql(kind, "due")]
  const renewSql = `UPDATE ${kind.table} w SET ${leasedUntil(kind)} = ${leaseEnd(kind)} WHERE ${isAmong(kind)}`
  const keysOf = (jobs: ReadonlyArray<Pick<StoredJob, "id">>) => {
    const keys = jobs.map(({ id }) => keyOf(kind, id))
    return kind.key.map((_, at) => keys.map((values) => values[at]))
  }
  // Not decoded, since a pass leases up to hundreds of rows, of which one that cannot be read would keep the others waiting.
  return {
    lease: (found) => rowsOf(castRows<J>(sql.unsafe(foundSql, keysOf(found)))),
    leaseDue: (limit) => rowsOf(castRows<J>(sql.unsafe(batchSql, [limit]))),
    renew: (job) => execute(sql.unsafe(renewSql, keysOf([job])))
  }
}

/** The work of the shards that this parameter names. */
export const ofShards = <K extends DueKind & { readonly hasShards: true }>(kind: K, parameter: `$${number}`): K => ({
  ...kind,
  isDue: `w.shard = ANY(${parameter}::int[]) AND ${kind.isDue}`
})

/** Finds work of those who would get a place. `ownedShards`: of this node, for a kind that has shards. */
export const makeFind = (
  sql: Sql,
  { hasShards, ...kind }: PlacedKind,
  ownedShards?: () => ReadonlyArray<number>
): FindWork => {
  if ((hasShards === true) !== (ownedShards !== undefined)) throw new Error(`${kind.table}: are there shards or not?`)
  const sought = hasShards === undefined ? kind : ofShards({ ...kind, hasShards }, "$6")
  const findSql = `WITH ${findCtes(sought)} SELECT id, org AS "organisationId", account AS "accountId", partner FROM placed ORDER BY place, due_at`
  // Not decoded, since one row that cannot be read would keep the others from being done.
  return (room) =>
    rowsOf(
      castRows<DueWork>(
        sql.unsafe(findSql, [...roomValues(room), ...(ownedShards === undefined ? [] : [ownedShards()])])
      )
    )
}
