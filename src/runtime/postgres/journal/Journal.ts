/** The port `Journal` on Postgres: appends through the group-commit writer, reads on the writer's pool. */
import { describe } from "../../telemetry/SafeError.js"
import { Effect, Layer, Redacted } from "effect"
import { type AppendFailure, Journal, JournalUnavailable, type RunChange } from "../../../actors/ports/Journal.js"
import { Vault } from "../../../actors/ports/Vault.js"
import { Wakeups } from "../../../actors/ports/Wakeups.js"
import { WriterSql } from "../Pools.js"
import { decodeEntry } from "./JournalRow.js"
import { prepareChange, type PreparedChange } from "./Batch.js"
import { makeWriter } from "./Writer.js"

/** Only a change with journal rows needs a vault. */
const noVault = (): never => {
  throw new Error("the rows of a journal cannot be sealed without their organisation's vault")
}

const needsVault = (change: RunChange): boolean => (change.journal?.length ?? 0) > 0

/** `capacity`: changes that may be queued; `writer`: the login of the writer's role. */
export const layer = (options: { readonly capacity: number; readonly writer: Redacted.Redacted }) =>
  Layer.scoped(
    Journal,
    Effect.gen(function* () {
      const sql = yield* WriterSql
      const vault = yield* Vault
      const wakeups = yield* Wakeups

      const committed = (changes: ReadonlyArray<PreparedChange>) => {
        if (changes.some(({ change }) => change.enqueue !== undefined)) wakeups.signalQueued()
        if (changes.some(({ change }) => change.deliveries !== undefined && change.deliveries.length > 0))
          wakeups.signalDelivery()
      }
      const writer = yield* Effect.acquireRelease(
        Effect.sync(() =>
          makeWriter({
            connectionString: Redacted.value(options.writer),
            capacity: options.capacity,
            onCommit: committed
          })
        ),
        (writer) => Effect.promise(() => writer.close())
      )

      const write = (prepared: PreparedChange) =>
        Effect.async<void, AppendFailure>((resume) => {
          writer.write(prepared, (failure) => resume(failure === undefined ? Effect.void : Effect.fail(failure)))
        })

      const append = (change: RunChange): Effect.Effect<void, AppendFailure> =>
        needsVault(change)
          ? vault.of(change.organisationId).pipe(
              Effect.mapError((refused) => new JournalUnavailable({ reason: refused.reason })),
              Effect.flatMap((sealer) => write(prepareChange(change, { vault: () => sealer })))
            )
          : Effect.suspend(() => write(prepareChange(change, { vault: noVault })))

      const read = Effect.fn("Journal.read")(
        function* (organisation: string, id: string) {
          const sealer = yield* vault.of(organisation)
          const rows = yield* sql<{
            seq: number
            body: Uint8Array
          }>`SELECT seq, body FROM journal WHERE id = ${id} ORDER BY seq`
          return rows.map((row) => decodeEntry(sealer, id, row))
        },
        Effect.mapError((error) => new JournalUnavailable({ reason: describe(error) }))
      )

      return Journal.of({ append, read })
    })
  )
