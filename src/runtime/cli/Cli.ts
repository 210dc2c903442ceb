/** The command line: the commands and their options. */
import { Command, Options, ValidationError } from "@effect/cli"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { Effect, Layer, Logger, LogLevel, Option } from "effect"
import { ConnectTimeout } from "../postgres/database/pool/ConnectTimeout.js"
import { didYouMean } from "../../domain/ClosestName.js"
import { readConnectTimeout, readLogFormat, Settings } from "../configuration/Config.js"
import { misuseCode, OperatorError } from "../process/OperatorError.js"
import * as Logging from "../telemetry/Logging.js"
import { backupCommand, restoreCommand } from "./Backup.js"
import { bootstrapCommand } from "./Bootstrap.js"
import { connectorCommand } from "./Connector.js"
import { consoleCommand } from "./Console.js"
import { clusterCommand } from "./Cluster.js"
import { keysCommand } from "./Keys.js"
import { migrateCommand } from "./Migrate.js"
import { restartCommand } from "./Restart.js"
import { signCommand } from "./Sign.js"
import { verifyEventsCommand } from "./VerifyEvents.js"

const role = Options.text("role").pipe(
  Options.withDescription(
    "all: one of several nodes on one database (see docs/operate.md). Without it: the only process"
  ),
  Options.optional
)

const nodes = Options.text("nodes").pipe(
  Options.withDescription(
    "Run so many runner nodes on this machine, 1 to 64, and an api node for every three of them; auto: for its cores and memory"
  ),
  Options.optional
)

const startCommand = Command.make("start", { role, nodes }, ({ nodes, role }) =>
  Effect.gen(function* () {
    if (Option.isSome(nodes)) {
      const { startNodes } = yield* Effect.promise(() => import("../supervisor/Supervisor.js"))
      const refusal = Option.isSome(role) ? rolesOfNodes : undefined
      return yield* refusal ?? startNodes(nodes.value)
    }
    const { startService } = yield* Effect.promise(() => import("../program/Start.js"))
    // The configuration says what is wrong with a role.
    const flags = Option.match(role, { onNone: () => ({}), onSome: (name) => ({ SVC_ROLE: name }) })
    return yield* startService({ flags })
  })
).pipe(Command.withDescription("Run the service"))

const rolesOfNodes = new OperatorError({
  message: "Start with --role or with --nodes: --nodes gives its nodes their roles."
})

/** Loads what it needs of the service when it runs: the other commands answer without it. */
const first = Effect.fnUntraced(function* (name: string) {
  const [{ makeFirstOrganisation }, { records }] = yield* Effect.promise(() =>
    Promise.all([import("../program/FirstOrganisation.js"), import("../program/Service.js")])
  )
  const { defaultPlan } = yield* Settings
  return yield* Effect.provide(makeFirstOrganisation(name, defaultPlan), records)
})

const svc = Command.make("svc").pipe(
  Command.withDescription("An open integration platform. Without a variable set, `svc start` needs nothing else."),
  Command.withSubcommands([
    startCommand,
    restartCommand,
    migrateCommand,
    bootstrapCommand(first),
    consoleCommand,
    keysCommand,
    backupCommand,
    restoreCommand,
    verifyEventsCommand,
    clusterCommand,
    connectorCommand,
    signCommand
  ])
)

/** Every command with its own commands. */
const commands: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["start", []],
  ["restart", []],
  ["migrate", []],
  ["bootstrap", []],
  ["console", []],
  ["keys", ["new", "rotate", "accept"]],
  ["backup", []],
  ["restore", []],
  ["verify-events", []],
  ["cluster", ["status", "confirm"]],
  ["connector", ["check"]],
  ["sign", []]
])

/** The options of each command; those with a value end with `=`. */
const options: Readonly<Record<string, ReadonlyArray<string>>> = {
  start: ["--role=", "--nodes="],
  migrate: ["--admin-url=", "--print"],
  bootstrap: ["--organisation="],
  console: ["--email="],
  restore: ["--force"],
  "verify-events": ["--since="],
  cluster: ["--json"],
  connector: ["--against=", "--json"],
  sign: ["--secret=", "--method=", "--target=", "--header=", "--body=", "--time=", "--nonce="]
}
/** The exit codes of commands that are called in a wrong way, if they are not 1. */
const usageCodes: ReadonlyMap<string, number> = new Map([["connector", misuseCode]])
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
  return new OperatorError({
    message:
      `svc ${command} has no option ${option}.${didYouMean(option, [...own, "--help"])} ` +
      `Run svc ${command} --help for what there is.`,
    ...usageCode(command)
  })
}

const usageCode = (command: string): { readonly exitCode?: number } => {
  const exitCode = usageCodes.get(command)
  return exitCode === undefined ? {} : { exitCode }
}

/** Refuses a word that stands where a command is expected and is none. */
const unknownCommandRefusal = (words: ReadonlyArray<string>): OperatorError | undefined => {
  const refusal = (parent: string, word: string, known: ReadonlyArray<string>) =>
    new OperatorError({
      message: `${parent} has no command ${word}.${didYouMean(word, known)} Its commands: ${known.join(", ")}.`,
      ...usageCode(words[0] ?? "")
    })
  const [command = "", next = ""] = words
  if (command === "" || command.startsWith("-")) return undefined
  const own = commands.get(command)
  if (own === undefined) return refusal("svc", command, [...commands.keys()])
  return own.length === 0 || next === "" || next.startsWith("-") || own.includes(next)
    ? undefined
    : refusal(`svc ${command}`, next, own)
}

/** Commands answer in their own words: only warnings and errors are logged beside them. */
const logging = Layer.unwrapEffect(
  Effect.map(readLogFormat(), (format) => Layer.merge(Logging.layer(format), Logger.minimumLogLevel(LogLevel.Warning)))
)

/** Runs the command of the arguments. Fails if there is none, or with the command's own error. */
export const cli = (argv: ReadonlyArray<string>): Effect.Effect<void, OperatorError> => {
  const [, , command = "", ...words] = argv
  const unknownCommand = unknownCommandRefusal([command, ...words])
  if (unknownCommand !== undefined) return unknownCommand
  const unknown = command.startsWith("-") ? undefined : unknownOption([command, ...words])
  if (unknown !== undefined) return unknownOptionRefusal(command, unknown)
  return Command.run(svc, { name: "svc", version: "0.1.0" })(argv.length > 2 ? argv : [...argv, "--help"]).pipe(
    Effect.provideServiceEffect(ConnectTimeout, readConnectTimeout),
    Effect.provide(command === "start" ? NodeContext.layer : Layer.merge(NodeContext.layer, logging)),
    Effect.catchIf(
      ValidationError.isValidationError,
      () =>
        new OperatorError({
          message: `Run svc ${commands.has(command) ? `${command} ` : ""}--help for what there is.`,
          ...usageCode(command)
        })
    )
  )
}
