/**
 * `svc cluster confirm`: ends the way back to the release before. From then on nodes write what only this release reads, and
 * what only it can do without is removed.
 */
import { Command } from "@effect/cli"
import { Console, Effect, Schema } from "effect"
import { confirmRefusal, serviceRelease } from "../../domain/run/ServiceRelease.js"
import { readReleases, recordSql } from "../postgres/database/ReleaseRows.js"
import { readConfig } from "../configuration/Config.js"
import { reachEmbedded } from "../embedded/EmbeddedServer.js"
import { migrate } from "../postgres/database/Migrations.js"
import { connect } from "../postgres/database/Pools.js"
import { variableOf } from "../postgres/database/Roles.js"
import type { Sql } from "../postgres/database/Sql.js"
import { unreachableError } from "../postgres/database/UnreachableDatabase.js"
import { rowDecoder } from "../postgres/record/Table.js"
import { OperatorError } from "../process/OperatorError.js"
import { carriedEngines } from "../program/Processes.js"

export const confirmCommand = Command.make("confirm", {}, () =>
  Effect.gen(function* () {
    const { database, dataDir } = yield* readConfig()
    const { owner } = database._tag === "External" ? database.urls : (yield* reachEmbedded({ dataDir })).urls
    // What it refuses to migrate it must not confirm either.
    yield* migrate(owner)
    const options = {
      maxConnections: 1,
      applicationName: "svc cluster confirm",
      statementTimeout: "10 seconds"
    } as const
    const sql = yield* connect(owner, { ...options, setting: variableOf(owner, "owner") })
    const isNew = yield* confirm(sql)
    const names = yield* migrate(owner)
    yield* Console.log(
      isNew
        ? `Release ${serviceRelease} is confirmed: there is no way back to release ${serviceRelease - 1}.`
        : `Release ${serviceRelease} is confirmed already.`
    )
    if (names.length > 0) yield* Console.log(`# Migrated: ${names.join(", ")}.`)
  }).pipe(Effect.scoped, Effect.catchTag("SqlError", unreachableError))
).pipe(Command.withDescription("Confirm the release of all nodes: they no longer go back to the one before"))

/** Whether it was not confirmed before. A node that starts meanwhile waits, and then finds the release confirmed. */
const confirm = (sql: Sql) =>
  sql.withTransaction(
    Effect.gen(function* () {
      yield* sql.unsafe(`${recordSql} FOR UPDATE`)
      const { live, record } = yield* readReleases(sql)
      if (record === undefined) return yield* new OperatorError({ message: "The table service_release has no row." })
      const message = confirmRefusal(serviceRelease, live, record)
      if (message !== undefined) return yield* new OperatorError({ message })
      if (record.confirmed === serviceRelease) return false
      const [first] = (yield* sql.unsafe(engineSql, [serviceRelease])).map(decodeEngine)
      const engine = first?.engine ?? (yield* carriedEngines)[0]
      yield* sql`UPDATE service_release SET confirmed = ${serviceRelease}, confirmed_at = now(), engine = ${engine}`
      return true
    })
  )

/** The engine of the nodes: the program of this command may be another build of the release. */
const engineSql = "SELECT engines[1] AS engine FROM nodes WHERE release = $1 AND engines[1] IS NOT NULL LIMIT 1"
const decodeEngine = rowDecoder("nodes", { engine: Schema.String })
