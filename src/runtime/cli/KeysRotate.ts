/** `svc keys rotate`: wraps all data keys with a new master key, while the service runs. */
import { Command } from "@effect/cli"
import { Clock, Console, Effect, Option, Redacted } from "effect"
import { readConfig, Settings } from "../configuration/Config.js"
import { keysFolder, rotateMasterKeys, resolveSecrets } from "../vault/InstallationSecrets.js"
import { layerBeside } from "../program/Layers.js"
import { OperatorError } from "../process/OperatorError.js"
import { layerPostgres } from "../vault/DataKeys.js"
import { newMasterKey } from "../vault/Keyring.js"
import { proveSecrets, withSecretsLocked } from "../vault/SecretChecks.js"
import { rewrapAll } from "../vault/Vault.js"
import { unreachableError } from "../postgres/database/UnreachableDatabase.js"

/**
 * Wraps all data keys with the active key. Stores the check value of a new key before, and deletes unused ones after.
 */
const rewrapWithActive = Effect.gen(function* () {
  const secrets = yield* resolveSecrets(yield* Settings, { create: false })
  yield* proveSecrets(secrets)
  const keyring = Redacted.value(secrets.masterKeys)
  const count = yield* rewrapAll(keyring)
  return { active: keyring.active, count, others: keyring.keys.size - 1 }
})

/** The previous key stays until the next rotation: a recent backup or process may know only that one. */
const keysToKeep = Effect.gen(function* () {
  const folder = keysFolder(yield* Settings)
  // Completes an interrupted rotation first: then no data key needs an older master key.
  const { active } = yield* rewrapWithActive
  yield* rotateMasterKeys(folder, [active])
  const now = yield* rewrapWithActive
  yield* Console.log(
    `The master key ${now.active} is active now; ${now.count} data keys are wrapped by it. ` +
      `The key ${active} stays in ${folder}/master.keys until the next rotation.`
  )
})

const given = Effect.gen(function* () {
  const { active, count, others } = yield* rewrapWithActive
  if (count > 0 || others > 0) {
    yield* Console.log(`${count} data keys were wrapped by another master key and are wrapped by ${active} now.`)
    yield* Console.log(`Nothing needs the keys behind ${active} any more: take them out of SVC_MASTER_KEYS.`)
    return
  }
  const fresh = newMasterKey(new Date(yield* Clock.currentTimeMillis))
  yield* Console.log("Put this new key and a comma in front of what SVC_MASTER_KEYS is now, and restart svc:")
  yield* Console.log(fresh)
  yield* Console.log("Then run svc keys rotate again, with the new SVC_MASTER_KEYS.")
})

export const rotateCommand = Command.make("rotate", {}, () =>
  Effect.gen(function* () {
    const config = yield* readConfig()
    yield* withSecretsLocked(Option.isSome(config.masterKeys) ? given : keysToKeep).pipe(
      Effect.provide(layerPostgres),
      Effect.provide(layerBeside(config))
    )
  }).pipe(
    Effect.catchTags({
      SqlError: unreachableError,
      VaultRefused: ({ reason }) => new OperatorError({ message: `The keys cannot be rotated: ${reason}.` })
    })
  )
).pipe(
  Command.withDescription(
    "Make another master key the active one and wrap every data key by it, also while svc runs; stored secrets stay readable"
  )
)
