/** `svc restart`: replaces the nodes of the running `svc start --nodes` one after the other, without a refused request. */
import { Command } from "@effect/cli"
import { Effect } from "effect"
import { readConfig } from "../configuration/Config.js"
import { askForRestart } from "../supervisor/Control.js"

export const restartCommand = Command.make("restart", {}, () =>
  Effect.flatMap(readConfig(), ({ dataDir }) =>
    askForRestart(dataDir, (done) => void process.stdout.write(`${done}\n`))
  )
).pipe(Command.withDescription("Replace the nodes of svc start --nodes one after the other, while they serve"))
