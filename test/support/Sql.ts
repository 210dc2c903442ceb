/** The service's pools for statements of tests, whose rows have the types that the tests name. */
import type { PgClient } from "@effect/sql-pg"
import type { Context } from "effect"
import * as pools from "../../src/runtime/postgres/database/Pools.js"

// The clients of the pools are whole; `src` sees the part of them that gives rows no type.
export const WriterSql = pools.WriterSql as unknown as Context.Tag<pools.WriterSql, PgClient.PgClient>
export const AppSql = pools.AppSql as unknown as Context.Tag<pools.AppSql, PgClient.PgClient>
