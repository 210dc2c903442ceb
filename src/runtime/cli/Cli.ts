/** The command line: what each command is called, takes and does. */
import { Command, ValidationError } from "@effect/cli"
import { NodeContext } from "@effect/platform-node"
import { Effect } from "effect"
import { makeFirst } from "../First.js"
import { Settings } from "../Layers.js"
import { Refusal } from "../Refusal.js"
import { records } from "../Service.js"
import { backup, restore } from "./Backup.js"
import { bootstrap } from "./Bootstrap.js"
import { keys } from "./Keys.js"
import { migrate } from "./Migrate.js"
import { start } from "./Start.js"

const first = (name: string) =>
  Effect.flatMap(Settings, ({ defaultPlan }) => makeFirst(name, defaultPlan)).pipe(Effect.provide(records))

const svc = Command.make("svc").pipe(
  Command.withDescription("An open integration platform. Without a variable set, `svc start` needs nothing else."),
  Command.withSubcommands([start, migrate, bootstrap(first), keys, backup, restore])
)

/** Runs the command that the arguments name. Fails when they name none, or when the command refuses. */
export const cli = (argv: ReadonlyArray<string>): Effect.Effect<void, Refusal> =>
  Command.run(svc, { name: "svc", version: "0.1.0" })(argv.length > 2 ? argv : [...argv, "--help"]).pipe(
    Effect.provide(NodeContext.layer),
    Effect.catchIf(
      ValidationError.isValidationError,
      () => new Refusal({ message: "Run svc --help for what there is." })
    )
  )
