/** Conditions in which Postgres refuses work for a cause that only its operator can remove. */

import type { DatabaseCondition } from "../../../actors/ports/DatabaseTrouble.js"

const full: DatabaseCondition = {
  name: "disk_full",
  cause: "the disk of the database is full",
  remedy: "free space on the disk of Postgres' data directory, or enlarge it",
  refusesAll: true
}
const readOnly: DatabaseCondition = {
  name: "read_only",
  cause: "the database is read-only",
  remedy: "connect svc to the primary, or set default_transaction_read_only of Postgres to off",
  refusesAll: true
}
const connections: DatabaseCondition = {
  name: "too_many_connections",
  cause: "the database accepts no further connection",
  remedy: "raise max_connections of Postgres, or lower SVC_DB_POOL_APP and SVC_DB_POOL_WRITER",
  refusesAll: false
}
const memory: DatabaseCondition = {
  name: "out_of_memory",
  cause: "the database has too little memory",
  remedy: "give Postgres more memory, or lower its work_mem and max_connections",
  refusesAll: false
}
const limit: DatabaseCondition = {
  name: "configuration_limit_exceeded",
  cause: "the database has reached a limit of its configuration",
  remedy: "raise the limit that the log of Postgres names",
  refusesAll: false
}
const files: DatabaseCondition = {
  name: "io_error",
  cause: "the database cannot read or write its files",
  remedy: "check the disk, and read the log of Postgres",
  refusesAll: true
}
const damage: DatabaseCondition = {
  name: "data_corrupted",
  cause: "files of the database are damaged",
  remedy: "read the log of Postgres, and restore a backup",
  refusesAll: true
}
const login: DatabaseCondition = {
  name: "login_refused",
  cause: "the database refuses the login of svc",
  remedy: "put the right user and password into the settings of svc",
  refusesAll: true
}

const conditions: Readonly<Record<string, DatabaseCondition>> = {
  "25006": readOnly,
  "28000": login,
  "28P01": login,
  "53100": full,
  "53200": memory,
  "53300": connections,
  "53400": limit,
  "58030": files,
  "58P01": files,
  XX001: damage,
  XX002: damage
}

/** The condition of an error code of Postgres, if it is one. */
export const databaseConditionOf = (sqlState: string): DatabaseCondition | undefined => conditions[sqlState]

/** The condition that a text of Postgres' log tells of, if it is one: it may have ended before it could answer. */
export const databaseConditionIn = (text: string): DatabaseCondition | undefined =>
  /No space left on device|Disk quota exceeded/.test(text)
    ? full
    : /Read-only file system/.test(text)
      ? files
      : undefined
