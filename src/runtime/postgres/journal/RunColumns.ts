/**
 * The columns of a run: what each member is called in `runs`, its type, and where it goes when the run ends. The rows and
 * the statement of a flush, the queries that hand out runs and the reads of the API are all made of these tables, when
 * the module is loaded. `runs` and `executions` have no other columns.
 */
import type { FinishedRun, OpenRun, RunPatch } from "../../../actors/ports/Journal.js"
import { columnName } from "../records/Table.js"

/** Types of Postgres that hold a value; a time is Unix milliseconds here and `timestamptz` there. */
type TypeFor<Value> = [NonNullable<Value>] extends [boolean]
  ? "boolean"
  : [NonNullable<Value>] extends [number]
    ? "int" | "smallint" | "timestamptz"
    : [NonNullable<Value>] extends [string]
      ? "text"
      : "json"

interface RunColumn<Value> {
  readonly type: TypeFor<Value>
  /** Where a run that has ended keeps it: in a column of `executions`, as a member of its document `record`, or nowhere. */
  readonly ended: "column" | "record" | "none"
  /** What it is called in Postgres, where that is not the member's name in snake case. */
  readonly column?: string
}

type RunColumns<Record> = { readonly [Member in keyof Record]-?: RunColumn<Record[Member]> }

/** A run that has not ended: its row in `runs`. */
const open: RunColumns<OpenRun> = {
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

/** What a run has only once it has ended: the rest of its row in `executions`. */
const end: RunColumns<Omit<FinishedRun, "run">> = {
  status: { type: "text", ended: "column" },
  statusReason: { type: "text", ended: "record" },
  finishedAt: { type: "timestamptz", ended: "column" },
  output: { type: "json", ended: "column" },
  error: { type: "json", ended: "record" },
  metrics: { type: "json", ended: "record" }
}

/** Members that a patch of a run may change; one that may be null needs a mark that it is set. */
const patchable: { readonly [Member in keyof Required<RunPatch>]: { readonly isNullable: boolean } } = {
  attempt: { isNullable: false },
  wakeAt: { isNullable: true },
  deadlineAt: { isNullable: false },
  waiting: { isNullable: true }
}

// --- The tables above, as rows and statements need them ---

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
  Object.entries(columns).map(([member, { column = columnName(member), ended, type }]) => ({
    member,
    column,
    type,
    ended
  }))

const inRuns = bind(open)
/** The end's status replaces the one that the run had. */
const keptOfOpen = inRuns.filter(({ ended }) => ended !== "none")
const keptOfEnd = bind(end)
const inExecutions = [...keptOfOpen, ...keptOfEnd]
const endedInColumns = inExecutions.filter(({ ended }) => ended === "column")
const typesOf = (columns: ReadonlyArray<BoundColumn>): { readonly [column: string]: string } =>
  Object.fromEntries(columns.map(({ column, type }) => [column, type]))

export const openColumns = typesOf(inRuns)
export const endedColumns = typesOf(endedInColumns)

// --- Rows ---

/** An instant as a row's JSON holds it. */
export const timestamp = (millis: number | null): string | null =>
  millis === null ? null : new Date(millis).toISOString()

/** The value of a column as a row's JSON holds it. */
const columnValue = ({ member, type }: BoundColumn, members: Members): unknown => {
  const value = members[member]
  return type === "timestamptz" && typeof value === "number" ? timestamp(value) : value
}

/**
 * A copy has all keys from the start: an object that gets them one by one becomes a hash table, which takes half as long
 * again to write as JSON.
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
  for (const column of inRuns) row[column.column] = columnValue(column, members)
  return row
}

/** The record of a run that has ended: what was known at its start and what came of it. */
export const endedRow = (finished: FinishedRun): Members => {
  const row = { ...emptyEndedRow }
  const record: { [member: string]: unknown } = { ...finished.run.record }
  const members = membersOf(finished.run)
  for (const column of keptOfOpen) {
    if (column.ended === "column") row[column.column] = columnValue(column, members)
    else record[column.member] = members[column.member]
  }
  const own = membersOf(finished)
  for (const column of keptOfEnd) {
    if (column.ended === "column") row[column.column] = columnValue(column, own)
    else record[column.member] = own[column.member]
  }
  row["record"] = record
  return row
}

// --- Patches ---

const patched = inRuns.flatMap((column) =>
  Object.hasOwn(patchable, column.member)
    ? [{ ...column, isNullable: patchable[column.member as keyof RunPatch].isNullable }]
    : []
)
const mark = (column: string) => `sets_${column}`

export const patchColumns: { readonly [column: string]: string } = {
  id: "text",
  ...Object.fromEntries(
    patched.flatMap(({ column, isNullable, type }) => [
      [column, type],
      ...(isNullable ? [[mark(column), "boolean"]] : [])
    ])
  )
}

export const patchRow = (id: string, patch: RunPatch): Members => {
  const members: Members = { ...patch }
  const row: { [column: string]: unknown } = { id }
  for (const column of patched) {
    row[column.column] = columnValue(column, members) ?? null
    if (column.isNullable) row[mark(column.column)] = members[column.member] !== undefined
  }
  return row
}

/** Sets the columns of `run` that `patch` sets. A run that is suspended was survived: its activations begin anew. */
export const patchAssignments = (run: string, patch: string): string =>
  [
    ...patched.map(({ column, isNullable }) =>
      isNullable
        ? `${column} = CASE WHEN ${patch}.${mark(column)} THEN ${patch}.${column} ELSE ${run}.${column} END`
        : `${column} = COALESCE(${patch}.${column}, ${run}.${column})`
    ),
    `activations = CASE WHEN ${patch}.${mark("wake_at")} THEN 0 ELSE ${run}.activations END`
  ].join(", ")

// --- Reads ---

/** A column under the name of its member; a time as Unix milliseconds. */
const selected = ({ column, member, type }: BoundColumn, table: string): string =>
  type === "timestamptz"
    ? `floor(extract(epoch FROM ${table}.${column}) * 1000)::float8 AS "${member}"`
    : `${table}.${column} AS "${member}"`

/** Selects rows of `runs` that are `OpenRun`s as they come. */
export const selectOpen = (table: string): string => inRuns.map((column) => selected(column, table)).join(", ")

const allColumns = [...inRuns, ...inExecutions]
const columnOf = (table: "runs" | "executions", member: string): BoundColumn | undefined =>
  (table === "runs" ? inRuns : endedInColumns).find((column) => column.member === member)

export const isColumn = (table: "runs" | "executions", member: string): boolean => columnOf(table, member) !== undefined

const absent = (member: string): string => {
  const type = allColumns.find((column) => column.member === member)?.type ?? "text"
  return `NULL::${type === "timestamptz" ? "float8" : type} AS "${member}"`
}

/** Selects the same members of either table: `NULL` where the table has no column for one. */
export const selectMembers = (table: "runs" | "executions", members: ReadonlyArray<string>): string =>
  members
    .map((member) => {
      const column = columnOf(table, member)
      return column === undefined ? absent(member) : selected(column, table)
    })
    .join(", ")

/** The name of a column that both tables have: a condition on it holds for both. */
export const sharedColumn = (member: keyof OpenRun): string => columnOf("executions", member)?.column ?? member

export const isTime = (member: string): boolean =>
  allColumns.some((column) => column.member === member && column.type === "timestamptz")
