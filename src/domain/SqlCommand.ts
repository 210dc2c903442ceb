/**
 * Decides by its first words whether a workflow may send an SQL statement: none that changes the session, opens a
 * transaction or runs code. Postgres checks the rest. Contract: runtime calls, `svc.db.query`.
 */

/** An allowed command. */
export interface SqlCommand {
  /** Its first words, such as `CREATE TABLE`. */
  readonly name: string
  /** Whether it frees space. In a full workspace, other commands run in a read-only transaction. */
  readonly freesSpace: boolean
}

const objects = ["TABLE", "INDEX", "VIEW", "SEQUENCE", "TYPE", "DOMAIN", "MATERIALIZED VIEW"]
const reads = ["SELECT", "WITH", "VALUES", "TABLE", "EXPLAIN"]
const changes = ["INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE"]
const definitions = [
  ...["CREATE", "ALTER", "DROP"].flatMap((verb) => objects.map((object) => `${verb} ${object}`)),
  "CREATE UNIQUE INDEX",
  "CREATE UNLOGGED TABLE",
  "CREATE OR REPLACE VIEW",
  "REFRESH MATERIALIZED VIEW",
  "COMMENT",
  "ANALYZE"
]
const spaceFreeingCommands = new Set(["DELETE", "TRUNCATE", ...objects.map((object) => `DROP ${object}`)])
/** The longest first, so that `CREATE UNIQUE INDEX` is matched before its prefixes. */
const commandsByLength = [...reads, ...changes, ...definitions].sort((a, b) => b.length - a.length)

/** The allowed commands, for an error message. */
export const allowedCommands =
  "SELECT, INSERT, UPDATE, DELETE, MERGE, TRUNCATE, and CREATE, ALTER and DROP of tables, views and indexes"

/** The command of a statement; `undefined` if a workflow may not send it. */
export const sqlCommand = (sql: string): SqlCommand | undefined => {
  const words = leadingWords(sql)
  const name = commandsByLength.find((command) => words === command || words.startsWith(`${command} `))
  return name === undefined ? undefined : { name, freesSpace: spaceFreeingCommands.has(name) }
}

/** The first words in upper case, without comments. */
const leadingWords = (sql: string): string => {
  let rest = sql
  let words = ""
  for (let count = 0; count < 4; count++) {
    rest = withoutComments(rest)
    const word = /^[A-Za-z]+/.exec(rest)?.[0]
    if (word === undefined) break
    words += `${words === "" ? "" : " "}${word.toUpperCase()}`
    rest = rest.slice(word.length)
  }
  return words
}

const withoutComments = (sql: string): string => {
  let rest = sql.trimStart()
  for (;;) {
    if (rest.startsWith("--")) {
      const end = rest.indexOf("\n")
      rest = end < 0 ? "" : rest.slice(end + 1).trimStart()
    } else if (rest.startsWith("/*")) {
      const end = endOfComment(rest)
      rest = end < 0 ? "" : rest.slice(end).trimStart()
    } else return rest
  }
}

/** The end of a block comment; comments of SQL nest. */
const endOfComment = (sql: string): number => {
  let depth = 0
  for (const { 0: mark, index } of sql.matchAll(/\/\*|\*\//g)) {
    depth += mark === "/*" ? 1 : -1
    if (depth === 0) return index + 2
  }
  return -1
}
