/**
 * The port `AuditTrail` on Postgres: writes notes in batches, counts reads by the minute, and verifies chains on
 * demand.
 */
import { Effect, Layer } from "effect"
import { AuditTrail } from "../../actors/ports/AuditTrail.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Vault } from "../../actors/ports/Vault.js"
import { backgroundTask } from "../../actors/BackgroundTask.js"
import { pollWhileBusy } from "../../actors/PollWhileBusy.js"
import { AppSql, WriterSql } from "../postgres/database/Pools.js"
import { append, closeMinute, countRead, countRefusal, emptyBuffer, flush, hasEntries } from "./AuditBuffer.js"
import { listEntries, sealBacklog } from "./AuditQueries.js"
import { type Checkpoints, makeChainVerification } from "./ChainVerification.js"

const noteInterval = "100 millis"

export const layer = (checkpoints: Checkpoints) =>
  Layer.scoped(
    AuditTrail,
    Effect.gen(function* () {
      const app = yield* AppSql
      const writer = yield* WriterSql
      const digests = yield* Digests
      const vault = yield* Vault
      const buffer = emptyBuffer()

      const task = yield* backgroundTask("audit.write", flush(buffer, writer))
      const pass = closeMinute(buffer, false).pipe(
        Effect.zipRight(task.run),
        Effect.zipRight(Effect.suspend(() => task.reportWaiting(buffer.waiting.length > 0))),
        Effect.map(() => hasEntries(buffer))
      )
      const startWriting = yield* pollWhileBusy(noteInterval, pass)
      yield* Effect.addFinalizer(() => Effect.zipRight(closeMinute(buffer, true), task.run))

      return AuditTrail.of({
        append: (entry) => {
          append(buffer, entry)
          startWriting()
        },
        countRead: (entry) => {
          countRead(buffer, entry)
          startWriting()
        },
        countRefusal: (entry) => {
          countRefusal(buffer, entry)
          startWriting()
        },
        list: (organisation, query) => listEntries(app, vault, organisation, query),
        verify: makeChainVerification(app, digests, checkpoints),
        backlog: sealBacklog(writer)
      })
    })
  )
