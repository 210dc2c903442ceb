/**
 * Statements of a migration that hold a lock for as long as a large table takes to read or to rewrite, while nodes of the
 * release before wait for it. A table that the migration creates itself is empty.
 */

/** What a comment of the migration says of a table to allow such a statement: `Lock on nodes: one row for each node.` */
const reasonFor = (table: string): RegExp => new RegExp(`Lock on ${table}: \\S+ \\S+ `)

interface LongForm {
  /** Finds the table as its first group. */
  readonly pattern: RegExp
  readonly instead: string
}

const longForms: ReadonlyArray<LongForm> = [
  {
    pattern: /CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?\w+ ON (?:ONLY )?(\w+)/gi,
    instead: "builds an index under a lock"
  },
  {
    pattern: /ALTER TABLE (?:ONLY )?(\w+) ADD CONSTRAINT (?!(?:[^;`"]|"")*\bNOT VALID\b)/gi,
    instead: "checks every row: add the constraint NOT VALID, and validate it in a later migration"
  },
  {
    pattern:
      /ALTER TABLE (?:ONLY )?(\w+) ADD (?!CONSTRAINT)(?:COLUMN )?(?:[^;`]*?)\b(?:REFERENCES|CHECK|UNIQUE|PRIMARY KEY|GENERATED|DEFAULT (?:now|clock_timestamp|random|gen_random_uuid|nextval|uuidv7)\b)/gi,
    instead: "rewrites or checks every row: add the column without it"
  },
  {
    pattern: /ALTER TABLE (?:ONLY )?(\w+) ALTER (?:COLUMN )?\w+ (?:SET DATA )?TYPE\b/gi,
    instead: "rewrites every row: add a column"
  },
  {
    pattern: /ALTER TABLE (?:ONLY )?(\w+) ALTER (?:COLUMN )?\w+ SET NOT NULL/gi,
    instead: "reads every row: add a CHECK that is NOT VALID"
  },
  {
    pattern: /\bUPDATE (?:ONLY )?(\w+) (?:AS )?(?:\w+ )?SET\b/gi,
    instead: "writes many rows in one transaction: let a background task do it"
  },
  { pattern: /\bDELETE FROM (\w+)/gi, instead: "writes many rows in one transaction: let a background task do it" },
  { pattern: /\b(?:VACUUM FULL|CLUSTER|LOCK TABLE|REINDEX TABLE) (\w+)/gi, instead: "locks the table" }
]

/** The statements that a migration must not have, each with its table and what to do. */
export const longLocks = (text: string): ReadonlyArray<string> => {
  const created = new Set([...text.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/gi)].map(([, name]) => name))
  return longForms.flatMap(({ instead, pattern }) =>
    [...text.matchAll(pattern)].flatMap(([statement, table = ""]) =>
      created.has(table) || reasonFor(table).test(text)
        ? []
        : [
            `${statement.replaceAll(/\s+/g, " ").slice(0, 80)}: ${instead}, or say \`Lock on ${table}: why it is short\``
          ]
    )
  )
}

/** The tables that a migration changes and does not create. */
export const touchedTables = (text: string): ReadonlySet<string> => {
  const named = (pattern: RegExp) =>
    [...text.matchAll(pattern)].flatMap(([, name]) => (name === undefined ? [] : [name]))
  const touched = named(
    /(?:ALTER TABLE|INDEX \w+ ON|\bUPDATE|DELETE FROM|LOCK TABLE) (?:ONLY )?(?!ON\b|SET\b)([a-z_]+)\b/g
  )
  const created = new Set(named(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/g))
  return new Set(touched.filter((name) => !created.has(name)))
}
