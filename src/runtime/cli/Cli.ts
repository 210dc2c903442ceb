/** The command line: the commands and their options. */
import { Command, ValidationError } from "@effect/cli"
import { NodeContext } from "@effect/platform-node"
import { Effect } from "effect"
import { makeFirstOrganisation } from "../program/FirstOrganisation.js"
import { Settings } from "../configuration/Config.js"
import { closestName } from "../configuration/ClosestName.js"
import { OperatorError } from "../process/OperatorError.js"
import { records } from "../program/Service.js"
import { backupCommand, restoreCommand } from "./Backup.js"
import { bootstrapCommand } from "./Bootstrap.js"
import { keysCommand } from "./Keys.js"
import { migrateCommand } from "./Migrate.js"
import { startCommand } from "./Start.js"
import { verifyEventsCommand } from "./VerifyEvents.js"

const first = (name: string) =>
  Effect.flatMap(Settings, ({ defaultPlan }) => makeFirstOrganisation(name, defaultPlan)).pipe(Effect.provide(records))

const svc = Command.make("svc").pipe(
  Command.withDescription("An open integration platform. Without a variable set, `svc start` needs nothing else."),
  Command.withSubcommands([
    startCommand,
    migrateCommand,
    bootstrapCommand(first),
    keysCommand,
    backupCommand,
    restoreCommand,
    verifyEventsCommand
  ])
)

/** The options of each command; those with a value end with `=`. */
const options: Readonly<Record<string, ReadonlyArray<string>>> = {
  migrate: ["--admin-url=", "--print"],
  bootstrap: ["--organisation="],
  restore: ["--force"],
  "verify-events": ["--since="]
}
/** Options that the library adds to every command. */
const commonOptions = ["--help", "-h", "--version", "--wizard", "--completions=", "--log-level="]

/**
 * The first word that looks like an option and is none of the command. The library would report the word after it.
 */
const unknownOption = ([command = "", ...words]: ReadonlyArray<string>): string | undefined => {
  const known = [...commonOptions, ...(options[command] ?? [])]
  for (let at = 0; at < words.length; at += 1) {
    const [name = ""] = (words[at] ?? "").split("=")
    if (name === "--") return undefined
    if (!name.startsWith("-") || name === "-") continue
    if (known.includes(`${name}=`)) at += words[at] === name ? 1 : 0
    else if (!known.includes(name)) return name
  }
  return undefined
}

const unknownOptionRefusal = (command: string, option: string) => {
  const own = (options[command] ?? []).map((name) => name.replace("=", ""))
  const meant = closestName(option, [...own, "--help"])
  return new OperatorError({
    message:
      `svc ${command} has no option ${option}.${meant === undefined ? "" : ` Did you mean ${meant}?`} ` +
      `Run svc ${command} --help for what there is.`
  })
}

/** Runs the command of the arguments. Fails if there is none, or with the command's own error. */
export const cli = (argv: ReadonlyArray<string>): Effect.Effect<void, OperatorError> => {
  const [, , command = "", ...words] = argv
  const unknown = command.startsWith("-") ? undefined : unknownOption([command, ...words])
  if (unknown !== undefined) return unknownOptionRefusal(command, unknown)
  return Command.run(svc, { name: "svc", version: "0.1.0" })(argv.length > 2 ? argv : [...argv, "--help"]).pipe(
    Effect.provide(NodeContext.layer),
    Effect.catchIf(
      ValidationError.isValidationError,
      () => new OperatorError({ message: "Run svc --help for what there is." })
    )
  )
}
