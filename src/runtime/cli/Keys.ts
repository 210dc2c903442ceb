/** `svc keys`: the secrets of an installation. */
import { Command } from "@effect/cli"
import { Clock, Console, Effect } from "effect"
import { freshTexts } from "../Keyring.js"
import { rotate } from "./KeysRotate.js"

const fresh = Command.make("new", {}, () =>
  Effect.gen(function* () {
    const { masterKeys, keyPepper } = freshTexts(new Date(yield* Clock.currentTimeMillis))
    yield* Console.log(`SVC_MASTER_KEYS=${masterKeys}\nSVC_KEY_PEPPER=${keyPepper}`)
  })
).pipe(
  Command.withDescription("Print a new master key and a new pepper. Keep them: without them no stored secret opens")
)

export const keys = Command.make("keys").pipe(
  Command.withDescription("The secrets of an installation"),
  Command.withSubcommands([fresh, rotate])
)
