/** Creates a second organisation in a running service, in its database, as `svc bootstrap` creates the first one. */
import { Effect, Redacted } from "effect"
import { readConfig } from "../../src/runtime/configuration/Config.js"
import { makeFirstOrganisation } from "../../src/runtime/program/FirstOrganisation.js"
import { layerBeside } from "../../src/runtime/program/Layers.js"
import { records } from "../../src/runtime/program/Service.js"

/** Returns the API key of the new organisation. `env`: the variables of the service, if it has any. */
export const createSecondOrganisation = (
  dataDir: string,
  name: string,
  env: Readonly<Record<string, string>> = {}
): Promise<string> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const config = yield* readConfig({ SVC_DATA_DIR: dataDir, ...env })
      const first = yield* makeFirstOrganisation(name, "unlimited").pipe(
        Effect.provide(records),
        Effect.provide(layerBeside(config))
      )
      return Redacted.value(first.apiKey)
    })
  )
