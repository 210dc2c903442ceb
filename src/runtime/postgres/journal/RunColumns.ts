/**
 * The columns of a run: each member's column in `runs`, its type, and where it is kept when the run ends. The rows and
 * the statement of a flush, the queries that claim runs and the reads of the API are built from these tables when the
 * module loads. `runs` and `executions` have no other columns but `changed`, the transaction that clients' watches find them
 * by, which Postgres sets.
 */
import type { FinishedRun, OpenRun, RunPatch } from "../../../actors/ports/run/Journal.js"
import { columnOf } from "../record/Table.js"

/** The Postgres types that hold a value. A time is Unix milliseconds in memory and `timestamptz` in Postgres. */
type TypeFor<Value> = [NonNullable<Value>] extends [boolean]
  ? "boolean"
  : [NonNullable<Value>] extends [number]
    ? "int" | "smallint" | "timestamptz"
    : [NonNullable<Value>] extends [string]
      ? "text"
      : "json"

interface RunColumn<Value> {
  readonly type: TypeFor<Value>
  /** Where an ended run keeps it: in a column of `executions`, as a member of its document `record`, or nowhere. */
  readonly ended: "column" | "record" | "none"
  /** The column's name, if it is not the member's name in snake case. */
  readonly column?: string
}

type RunColumns<Record> = { readonly [Member in keyof Record]-?: RunColumn<Record[Member]> }

/** The row of a run in `runs`: it has not ended. */
const openMembers: RunColumns<OpenRun> = {
  id: { type: "text", ended: "column" },
  organisationId: { type: "text", ended: "column" },
  spaceId: { type: "text", ended: "column" },
  shard: { type: "int", ended: "none" },
  epoch: { type: "int", ended: "none" },
  engine: { type: "text", ended: "none" },
  retention: { type: "smallint", ended: "column", column: "class" },
  status: { type: "text", ended: "none" },
  tier: { type: "text", ended: "record" },
  priority: { type: "smallint", ended: "record" },
  workflowId: { type: "text", ended: "column" },
  customerId: { type: "text", ended: "column" },
  triggerType: { type: "text", ended: "column" },
  attempt: { type: "int", ended: "record" },
  mock: { type: "text", ended: "column" },
  activations: { type: "int", ended: "none" },
  progress: { type: "int", ended: "none" },
  wakeAt: { type: "timestamptz", ended: "none" },
  deadlineAt: { type: "timestamptz", ended: "record" },
  waiting: { type: "json", ended: "none" },
  createdAt: { type: "timestamptz", ended: "record" },
  startedAt: { type: "timestamptz", ended: "record" },
  record: { type: "json", ended: "column" },
  input: { type: "json", ended: "column" }
}

/** Members that a run has only once it has ended: the rest of its row in `executions`. */
const endMembers: RunColumns<Omit<FinishedRun, "run">> = {
  status: { type: "text", ended: "column" },
  statusReason: { type: "text", ended: "record" },
  finishedAt: { type: "timestamptz", ended: "column" },
  output: { type: "json", ended: "column" },
  error: { type: "json", ended: "record" },
  answerStatus: { type: "int", ended: "record" },
  metrics: { type: "json", ended: "record" }
}

/** Members that a patch of a run may change. A nullable one needs a marker column that says that it is set. */
const patchMembers: { readonly [Member in keyof Required<RunPatch>]: { readonly isNullable: boolean } } = {
  attempt: { isNullable: false },
  wakeAt: { isNullable: true },
  deadlineAt: { isNullable: false },
  waiting: { isNullable: true }
}

// --- The tables above, bound to columns ---

interface BoundColumn {
  readonly member: string
  readonly column: string
  readonly type: string
  readonly ended: "column" | "record" | "none"
}

interface Members {
  readonly [member: string]: unknown
}

const bind = (columns: {
  readonly [member: string]: Omit<BoundColumn, "member" | "column"> & { readonly column?: string }
}): ReadonlyArray<BoundColumn> =>
  Object.entries(columns).map(([member, { column = columnOf(member), ended, type }]) => ({
    member,
    column,
    type,
    ended
  }))

const runsColumns = bind(openMembers)
/** Without the run's status: that of its end replaces it. */
const retainedOpenColumns = runsColumns.filter(({ ended }) => ended !== "none")
const endColumns = bind(endMembers)
const executionsColumns = [...retainedOpenColumns, ...endColumns]
const endedTableColumns = executionsColumns.filter(({ ended }) => ended === "column")
const typesOf = (columns: ReadonlyArray<BoundColumn>): { readonly [column: string]: string } =>
  Object.fromEntries(columns.map(({ column, type }) => [column, type]))

export const openColumns = typesOf(runsColumns)
export const endedColumns = typesOf(endedTableColumns)

// --- Rows ---

/** The last time that was written: most rows of a change, and of a burst of changes, have the same. */
const lastTime = { millis: Number.NaN, text: "" }

/** A time as a row's JSON document holds it: RFC 3339. */
export const timestamp = (millis: number | null): string | null => {
  if (millis === null) return null
  if (millis !== lastTime.millis) {
    lastTime.text = new Date(millis).toISOString()
    lastTime.millis = millis
  }
  return lastTime.text
}

/** The value of a column as a row's JSON document holds it. */
const columnValue = ({ member, type }: BoundColumn, members: Members): unknown => {
  const value = members[member]
  return type === "timestamptz" && typeof value === "number" ? timestamp(value) : value
}

/**
 * A row to copy, with all keys set. An object that gets its keys one by one becomes a dictionary in V8, which takes 1.5
 * times as long to serialise.
 */
const emptyRow = (keys: ReadonlyArray<string>): { [key: string]: unknown } =>
  Object.fromEntries(keys.map((key) => [key, null]))

const emptyOpenRow = emptyRow(Object.keys(openColumns))
const emptyEndedRow = emptyRow(Object.keys(endedColumns))

// An interface has no index signature; the tables name its own members.
const membersOf = (value: object) => value as Members

export const openRow = (run: OpenRun): Members => {
  const row = { ...emptyOpenRow }
  const members = membersOf(run)
  for (const column of runsColumns) row[column.column] = columnValue(column, members)
  return row
}

/** The row in `executions` of a run that has ended. */
export const endedRow = (finished: FinishedRun): Members => {
  const row = { ...emptyEndedRow }
  const record: { [member: string]: unknown } = { ...finished.run.record }
  const members = membersOf(finished.run)
  for (const column of retainedOpenColumns) {
    if (column.ended === "column") row[column.column] = columnValue(column, members)
    else record[column.member] = members[column.member]
  }
  const own = membersOf(finished)
  for (const column of endColumns) {
    if (column.ended === "column") row[column.column] = columnValue(column, own)
    else record[column.member] = own[column.member]
  }
  row["record"] = record
  return row
}

// --- Patches ---

const patchedColumns = runsColumns.flatMap((column) =>
  Object.hasOwn(patchMembers, column.member)
    ? [{ ...column, isNullable: patchMembers[column.member as keyof RunPatch].isNullable }]
    : []
)
const markColumn = (column: string) => `sets_${column}`

export const patchColumns: { readonly [column: string]: string } = {
  id: "text",
  ...Object.fromEntries(
    patchedColumns.flatMap(({ column, isNullable, type }) => [
      [column, type],
      ...(isNullable ? [[markColumn(column), "boolean"]] : [])
    ])
  )
}

export const patchRow = (id: string, patch: RunPatch): Members => {
  const members: Members = { ...patch }
  const row: { [column: string]: unknown } = { id }
  for (const column of patchedColumns) {
    row[column.column] = columnValue(column, members) ?? null
    if (column.isNullable) row[markColumn(column.column)] = members[column.member] !== undefined
  }
  return row
}

/**
 * The wake-up time of a run that was woken by a decision about its approval. A suspension that commits after the decision
 * keeps it, so that the run goes on at once.
 */
export const wokenAt = "to_timestamp(0)"

/** Shows a run to clients' watches as changed. */
export const isChanged = "changed = pg_current_xact_id()"

/**
 * Assignments for the columns of `run` that `patch` sets. A run that is suspended did not crash: its activations
 * restart.
 */
export const patchAssignments = (run: string, patch: string): string =>
  [
    ...patchedColumns.map(({ column, isNullable }) =>
      isNullable
        ? `${column} = CASE ${column === "wake_at" ? `WHEN ${run}.wake_at = ${wokenAt} THEN ${run}.wake_at ` : ""}WHEN ${patch}.${markColumn(column)} THEN ${patch}.${column} ELSE ${run}.${column} END`
        : `${column} = COALESCE(${patch}.${column}, ${run}.${column})`
    ),
    `activations = CASE WHEN ${patch}.${markColumn("wake_at")} THEN 0 ELSE ${run}.activations END`,
    isChanged
  ].join(", ")

// --- Reads ---

/** Selects a column under the name of its member; a time as Unix milliseconds. */
const selectColumn = ({ column, member, type }: BoundColumn, table: string): string =>
  type === "timestamptz"
    ? `floor(extract(epoch FROM ${table}.${column}) * 1000)::float8 AS "${member}"`
    : `${table}.${column} AS "${member}"`

/** Selects the columns of `runs` so that each row is an `OpenRun`. */
export const selectOpen = (table: string): string => runsColumns.map((column) => selectColumn(column, table)).join(", ")

const allColumns = [...runsColumns, ...executionsColumns]
const boundColumnOf = (table: "runs" | "executions", member: string): BoundColumn | undefined =>
  (table === "runs" ? runsColumns : endedTableColumns).find((column) => column.member === member)

/** Whether the member has a column of its own in the table; if not, it is in the document `record` or nowhere. */
export const isColumn = (table: "runs" | "executions", member: string): boolean =>
  boundColumnOf(table, member) !== undefined

const selectNull = (member: string): string => {
  const type = allColumns.find((column) => column.member === member)?.type ?? "text"
  return `NULL::${type === "timestamptz" ? "float8" : type} AS "${member}"`
}

/** Selects the same members from either table, as `NULL` if the table has no column for one. */
export const selectMembers = (table: "runs" | "executions", members: ReadonlyArray<string>): string =>
  members
    .map((member) => {
      const column = boundColumnOf(table, member)
      return column === undefined ? selectNull(member) : selectColumn(column, table)
    })
    .join(", ")

/** The name of a column that both tables have, so that one condition serves both. */
export const sharedColumn = (member: keyof OpenRun): string => boundColumnOf("executions", member)?.column ?? member

/** Whether the member is a time: Unix milliseconds in the service, `timestamptz` in its column. */
export const isTime = (member: string): boolean =>
  allColumns.some((column) => column.member === member && column.type === "timestamptz")
