/**
 * Which SQL a workflow may send: by its first words, before the database judges the rest. Nothing that changes a
 * session, opens a transaction or runs code is among it. Contract: runtime calls, `svc.db.query`.
 */

export interface SqlCommand {
  /** Its first words, e.g. `CREATE TABLE`. */
  readonly name: string
  /** It makes room: allowed when the workspace is full. Every other one then runs in a transaction that reads only. */
  readonly frees: boolean
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
const frees = new Set(["DELETE", "TRUNCATE", ...objects.map((object) => `DROP ${object}`)])
/** The longest first: `CREATE UNIQUE INDEX` before what begins it. */
const allowed = [...reads, ...changes, ...definitions].sort((a, b) => b.length - a.length)

export const allowedCommands =
  "SELECT, INSERT, UPDATE, DELETE, MERGE, TRUNCATE, and CREATE, ALTER and DROP of tables, views and indexes"

/** What the statement is, or `undefined` when it is nothing that a workflow may send. */
export const sqlCommand = (sql: string): SqlCommand | undefined => {
  const words = opening(sql)
  const name = allowed.find((command) => words === command || words.startsWith(`${command} `))
  return name === undefined ? undefined : { name, frees: frees.has(name) }
}

/** Its first words in capitals, without the comments before and between them. */
const opening = (sql: string): string => {
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

/** Comments of SQL nest. */
const endOfComment = (sql: string): number => {
  let depth = 0
  for (const { 0: mark, index } of sql.matchAll(/\/\*|\*\//g)) {
    depth += mark === "/*" ? 1 : -1
    if (depth === 0) return index + 2
  }
  return -1
}
