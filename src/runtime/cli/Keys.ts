/** `svc keys`: the secrets of an installation. */
import { Command } from "@effect/cli"
import { Clock, Console, Effect } from "effect"
import { readConfig } from "../configuration/Config.js"
import { generateSecrets } from "../vault/InstallationSecrets.js"
import { layerUnproven, ProvidedSecrets } from "../program/Layers.js"
import { acceptSecrets, withSecretsLocked } from "../vault/SecretChecks.js"
import { rotateCommand } from "./KeysRotate.js"
import { unreachableError } from "../postgres/database/UnreachableDatabase.js"

const fresh = Command.make("new", {}, () =>
  Effect.gen(function* () {
    const { masterKeys, keyPepper } = generateSecrets(new Date(yield* Clock.currentTimeMillis))
    yield* Console.log(`SVC_MASTER_KEYS=${masterKeys}\nSVC_KEY_PEPPER=${keyPepper}`)
  })
).pipe(
  Command.withDescription("Print a new master key and a new pepper. Keep them: without them no stored secret opens")
)

const accept = Command.make("accept", {}, () =>
  Effect.gen(function* () {
    const config = yield* readConfig()
    const lost = yield* withSecretsLocked(Effect.flatMap(ProvidedSecrets, acceptSecrets)).pipe(
      Effect.provide(layerUnproven(config))
    )
    yield* Console.log("The master keys and the pepper as they are configured now are those of this installation.")
    if (lost.length > 0) {
      yield* Console.log(`What is sealed under ${lost.join(", ")} stays closed until svc is given that key again.`)
    }
  }).pipe(Effect.catchTag("SqlError", unreachableError))
).pipe(
  Command.withDescription(
    "Go on with other master keys or another pepper than the installation had: what only the lost ones open stays closed"
  )
)

export const keysCommand = Command.make("keys").pipe(
  Command.withDescription("The secrets of an installation"),
  Command.withSubcommands([fresh, rotateCommand, accept])
)
