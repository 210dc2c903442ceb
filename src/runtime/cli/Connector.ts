/** `svc connector check`: compares a built-in connector, or a definition in a file, with the provider's own API document. */
import { Args, Command, Options } from "@effect/cli"
import { Console, Effect } from "effect"
import { OperatorError } from "../process/OperatorError.js"

const name = Args.text({ name: "connector" }).pipe(
  Args.withDescription("The slug of a built-in connector, or a file NAME.connector.json")
)
const against = Options.text("against").pipe(
  Options.withDescription(
    "A file with an OpenAPI 3, Swagger 2 or Google discovery document, as JSON or YAML; may be repeated"
  ),
  Options.atLeast(1)
)
const json = Options.boolean("json").pipe(Options.withDescription("Print JSON, with the places that were not compared"))

const check = Command.make("check", { name, against, json }, (given) =>
  Effect.gen(function* () {
    const { compareFiles, linesOf } = yield* Effect.promise(() => import("./ConnectorCheck.js"))
    const comparison = yield* compareFiles(given.name, given.against)
    if (given.json) yield* Console.log(JSON.stringify(comparison, undefined, 2))
    else for (const line of linesOf(comparison)) yield* Console.log(line)
    const count = comparison.differences.length
    if (count > 0)
      return yield* new OperatorError({ message: `${count} ${count === 1 ? "difference" : "differences"} found.` })
  })
).pipe(
  Command.withDescription(
    "Compare a connector's actions and field maps with the provider's API documents. Ends with 0 without differences, " +
      "with 1 if there are some, with 2 if they cannot be compared"
  )
)

export const connectorCommand = Command.make("connector").pipe(
  Command.withDescription("Connector definitions"),
  Command.withSubcommands([check])
)
