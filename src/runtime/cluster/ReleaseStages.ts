/**
 * The port `ReleaseStage`: an unconfirmed release looks every second whether it has been confirmed; a confirmed one stays
 * so, since none is confirmed while a node of its predecessor runs.
 */
import { Duration, Effect, Layer, Schedule } from "effect"
import { ReleaseStage } from "../../actors/ports/run/ReleaseStage.js"
import { Sandbox } from "../../actors/ports/run/Sandbox.js"
import { isUnconfirmed, predecessorEngine, serviceRelease } from "../../domain/run/ServiceRelease.js"
import { OperatorError } from "../process/OperatorError.js"
import { WriterSql } from "../postgres/database/Pools.js"
import { decodeRecord, recordSql } from "../postgres/database/ReleaseRows.js"

const lookInterval = Duration.seconds(1)

/** The stage of this process. Fails if the database has no row of it. */
export const layer = Layer.scoped(
  ReleaseStage,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const { engine: own, engines } = yield* Sandbox
    const read = Effect.flatMap(sql.unsafe(recordSql), ([row]) =>
      row === undefined
        ? new OperatorError({ message: "The table service_release has no row: restore it from a backup." })
        : Effect.succeed(decodeRecord(row))
    )
    /** Its successor begins runs on the engine until it is confirmed itself. */
    const keepEngine = Effect.suspend(() =>
      record.engine === own
        ? Effect.void
        : sql`UPDATE service_release SET engine = ${own} WHERE confirmed = ${serviceRelease}`
    )
    let record = yield* read
    const about = { release: serviceRelease, predecessor: record.confirmed }
    const engine = predecessorEngine(serviceRelease, record)
    /** A cluster's node that lacks it is refused before; a service that is alone has no other choice. */
    const begins = engine !== null && engines.includes(engine) ? engine : own
    if (engine !== null && begins !== engine)
      yield* Effect.annotateLogs(Effect.logWarning("service_release.engine_missing"), {
        ...about,
        engine,
        consequence: "runs begin on this build's engine, and wait if the predecessor is started again"
      })
    const look = Effect.gen(function* () {
      record = yield* read
      if (!isUnconfirmed(serviceRelease, record)) {
        yield* keepEngine
        yield* Effect.annotateLogs(Effect.logInfo("service_release.confirmed"), about)
      }
    })
    if (isUnconfirmed(serviceRelease, record)) {
      yield* Effect.annotateLogs(Effect.logInfo("service_release.unconfirmed"), about)
      // A look that fails is repeated; what the database refuses others report.
      yield* Effect.ignore(look).pipe(
        Effect.repeat({
          while: () => isUnconfirmed(serviceRelease, record),
          schedule: Schedule.spaced(lookInterval)
        }),
        Effect.forkScoped
      )
    } else yield* keepEngine
    return {
      isConfirmed: () => !isUnconfirmed(serviceRelease, record),
      engineOfNewRuns: (current) => (isUnconfirmed(serviceRelease, record) ? begins : current)
    }
  })
)
