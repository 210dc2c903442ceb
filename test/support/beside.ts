/** Another organisation in a running service, made in its database as `svc bootstrap` makes the first one. */
import { Effect, Redacted } from "effect"
import { readConfig } from "../../src/runtime/configuration/Config.js"
import { makeFirstOrganisation } from "../../src/runtime/program/FirstOrganisation.js"
import { layerBeside } from "../../src/runtime/program/Layers.js"
import { records } from "../../src/runtime/program/Service.js"

/** Answers its API key. */
export const organisationBeside = (dataDir: string, name: string): Promise<string> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const config = yield* readConfig({ SVC_DATA_DIR: dataDir })
      const first = yield* makeFirstOrganisation(name, "unlimited").pipe(
        Effect.provide(records),
        Effect.provide(layerBeside(config))
      )
      return Redacted.value(first.apiKey)
    })
  )
