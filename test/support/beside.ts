/** Another organisation in a running service, made in its database as `svc bootstrap` makes the first one. */
import { Effect, Redacted } from "effect"
import { read } from "../../src/runtime/Config.js"
import { makeFirst } from "../../src/runtime/First.js"
import { layerBeside } from "../../src/runtime/Layers.js"
import { records } from "../../src/runtime/Service.js"

/** Answers its API key. */
export const organisationBeside = (dataDir: string, name: string): Promise<string> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const config = yield* read({ SVC_DATA_DIR: dataDir })
      const first = yield* makeFirst(name, "unlimited").pipe(
        Effect.provide(records),
        Effect.provide(layerBeside(config))
      )
      return Redacted.value(first.apiKey)
    })
  )
