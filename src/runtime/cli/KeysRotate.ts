/** `svc keys rotate`: another master key wraps what seals all stored secrets, while the service runs. */
import { Command } from "@effect/cli"
import { Clock, Console, Effect, Option, Redacted } from "effect"
import { read } from "../Config.js"
import { freshTexts, renew, resolve, vaultKeyring } from "../Keyring.js"
import { layerBeside, Settings } from "../Layers.js"
import { WriterSql } from "../postgres/Pools.js"
import { Refusal } from "../Refusal.js"
import { layerPostgres } from "../vault/DataKeys.js"
import { rewrapAll } from "../vault/Vault.js"

/** One rotation at a time: of two new keys in one file, one would be lost with what it wraps. */
const alone = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.flatMap(WriterSql, (sql) =>
    sql.withTransaction(
      Effect.zipRight(sql`SELECT pg_advisory_xact_lock(hashtextextended('svc keys rotate', 1))`, body)
    )
  )

const rewrapped = Effect.gen(function* () {
  const { masterKeys } = yield* resolve(yield* Settings)
  const keyring = vaultKeyring(masterKeys)
  const count = yield* rewrapAll(keyring)
  return { active: keyring.active, count, others: keyring.keys.size - 1, entries: Redacted.value(masterKeys) }
})

/** The key before the new one stays until the next rotation: a backup or a process of a moment ago may know only it. */
const kept = Effect.gen(function* () {
  const { dataDir } = yield* Settings
  // Whatever an interrupted rotation left is wrapped by the active key first: older ones are needed by nothing then.
  const { active } = yield* rewrapped
  yield* renew(dataDir, [active])
  const now = yield* rewrapped
  yield* Console.log(
    `The master key ${now.active} is active now; ${now.count} data keys are wrapped by it. ` +
      `The key ${active} stays in ${dataDir}/master.keys until the next rotation.`
  )
})

const given = Effect.gen(function* () {
  const { active, count, others } = yield* rewrapped
  if (count > 0 || others > 0) {
    yield* Console.log(`${count} data keys were wrapped by another master key and are wrapped by ${active} now.`)
    yield* Console.log(`Nothing needs the keys behind ${active} any more: take them out of SVC_MASTER_KEYS.`)
    return
  }
  const { masterKeys } = freshTexts(new Date(yield* Clock.currentTimeMillis))
  yield* Console.log("Put this new key and a comma in front of what SVC_MASTER_KEYS is now, and restart svc:")
  yield* Console.log(masterKeys)
  yield* Console.log("Then run svc keys rotate again, with the new SVC_MASTER_KEYS.")
})

export const rotate = Command.make("rotate", {}, () =>
  Effect.gen(function* () {
    const config = yield* read()
    yield* alone(Option.isSome(config.masterKeys) ? given : kept).pipe(
      Effect.provide(layerPostgres),
      Effect.provide(layerBeside(config))
    )
  }).pipe(
    Effect.catchTags({
      SqlError: ({ cause, message }) => new Refusal({ message: `${message}: ${String(cause)}` }),
      VaultRefused: ({ reason }) => new Refusal({ message: `The keys cannot be rotated: ${reason}.` })
    })
  )
).pipe(
  Command.withDescription(
    "Make another master key the active one and wrap every data key by it, also while svc runs; stored secrets stay readable"
  )
)
