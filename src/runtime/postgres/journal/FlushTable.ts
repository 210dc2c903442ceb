/** A table that a flush inserts into, as a part of its statement. */
import type { RunChange } from "../../../actors/ports/run/Journal.js"
import type { OrganisationVault } from "../../../actors/ports/Vault.js"
import { type ColumnTypes, type FlushPart, type HasPart, noRows, recordset } from "./FlushPart.js"
import type { Unit } from "./Unit.js"

type RowsOf<From, C extends ColumnTypes> = (
  from: From,
  /** The vault of the change's organisation. */
  vault: () => OrganisationVault
) => ReadonlyArray<{ readonly [Column in keyof C]: unknown }>

/** V8 has another space for texts of twice this length. */
const largeCharacters = 64 * 1024

interface TableShape<C extends ColumnTypes, From> {
  readonly name: string
  /** A column `run` is not inserted: it names the row's change if the row's own id is not the run's. */
  readonly columns: C
  /** The expressions to insert, if they are not simply the columns. */
  readonly expressions?: (has: HasPart) => string
  /** What happens when a row exists already. */
  readonly conflict: string
  /** The columns of inserted rows that another part reads; empty if none does. */
  readonly returning?: (has: HasPart) => string
  readonly rows: RowsOf<From, C>
}

/** A part that inserts rows, which were serialised before their unit entered the queue. */
export interface FlushTable extends FlushPart {
  readonly name: string
  readonly rows: RowsOf<Unit, ColumnTypes>
  /** Inserts the rows of the JSON document in a parameter, all of them and without regard to rows that exist. */
  readonly insert: (parameter: string, has: HasPart) => string
}

/** A table whose rows are those of the unit's event. */
export const eventTable = <const C extends ColumnTypes>(shape: TableShape<C, Unit>): FlushTable => {
  const { columns, conflict, expressions, name, returning, rows } = shape
  const { run, ...inserted } = columns
  const names = Object.keys(inserted).join(", ")
  const insert: FlushTable["insert"] = (parameter, has) =>
    `INSERT INTO ${name} (${names}) SELECT ${expressions?.(has) ?? names}
    FROM ${recordset(parameter, columns)}`
  return {
    name,
    rows,
    insert,
    when: ({ units }) => units.some((item) => item.rows[name] !== undefined),
    text: ({ has, next }) => {
      const returned = returning?.(has) ?? ""
      return [
        `${name}_in AS (${insert(next(), has)}
    WHERE ${run === undefined ? "id" : "run"} IN (SELECT ok.id FROM ok) ${conflict}${returned === "" ? "" : ` RETURNING ${returned}`})`
      ]
    },
    values: ({ units }) => {
      const lines: Array<string> = []
      for (const item of units) for (const line of item.rows[name] ?? noRows) lines.push(line)
      return [listText(lines)]
    }
  }
}

/**
 * Rows as a JSON list. A large one as bytes: as a text it would take V8's space of large objects twice, which is moved to that
 * of old objects by each collection that finds it in use.
 */
const listText = (lines: ReadonlyArray<string>): string | Buffer => {
  let characters = 0
  for (const line of lines) characters += line.length
  if (characters < largeCharacters) return `[${lines.join(",")}]`
  let size = lines.length + 1
  for (const line of lines) size += Buffer.byteLength(line)
  const bytes = Buffer.allocUnsafe(size)
  let at = 0
  for (const line of lines) {
    at += bytes.write(at === 0 ? "[" : ",", at)
    at += bytes.write(line, at)
  }
  bytes.write("]", at)
  return bytes
}

/** A table whose rows are those of the unit's runs. */
export const runTable = <const C extends ColumnTypes>({ rows, ...shape }: TableShape<C, RunChange>): FlushTable =>
  eventTable<C>({
    ...shape,
    rows: ({ runs }, vault) => {
      const [only] = runs
      if (only === undefined) return noRows
      return runs.length === 1 ? rows(only, vault) : runs.flatMap((run) => rows(run, vault))
    }
  })
