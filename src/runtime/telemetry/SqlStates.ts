/** The names that Postgres gives to its error codes (SQLSTATE). Source: the documentation of Postgres 18, appendix A. */
import sqlStates from "./SqlStates.json" with { type: "json" }

/** The name of the condition, for example `disk_full` of 53100; of an unknown one, that of its class. */
export const conditionOf = (sqlState: string): string | undefined =>
  conditions[sqlState] ?? conditions[`${sqlState.slice(0, 2)}000`]

/** Every condition, by its code. */
export const conditions: Readonly<Record<string, string>> = sqlStates
