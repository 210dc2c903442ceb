/** `svc bootstrap`: creates the first organisation, whose key creates all others. */
import { Command, Options } from "@effect/cli"
import { Console, Effect, Redacted } from "effect"
import { readConfig, type Settings } from "../configuration/Config.js"
import { type Databases, layerBeside, type ProvidedSecrets } from "../program/Layers.js"
import type { AppSql, WriterSql } from "../postgres/database/Pools.js"
import type { OperatorError } from "../process/OperatorError.js"
import { unreachableError } from "../postgres/database/UnreachableDatabase.js"

interface FirstKey {
  readonly organisationId: string
  /** A key with full access to the organisation. Shown once, stored as a hash. */
  readonly apiKey: Redacted.Redacted
}

/** Creates the organisation with its first workspace and key. Fails if one exists already. */
export type MakeFirst = (
  name: string
) => Effect.Effect<FirstKey, OperatorError, AppSql | WriterSql | Databases | ProvidedSecrets | Settings>

export const bootstrapCommand = (makeFirst: MakeFirst) =>
  Command.make("bootstrap", { organisation }, ({ organisation }) =>
    Effect.gen(function* () {
      const config = yield* readConfig()
      const first = yield* makeFirst(organisation).pipe(
        Effect.provide(layerBeside(config)),
        Effect.catchTag("SqlError", unreachableError)
      )
      yield* Console.log(`Organisation ${first.organisationId} (${organisation}) is made. Its API key, shown once:`)
      yield* Console.log(Redacted.value(first.apiKey))
    })
  ).pipe(Command.withDescription("Make the first organisation and print its API key, once"))

const organisation = Options.text("organisation").pipe(Options.withDescription("The name of the organisation"))
