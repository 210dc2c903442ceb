/** Starts the service's layers in the bench's own process, for measurements below HTTP. */
import { Effect, Layer, Logger, LogLevel, ManagedRuntime } from "effect"
import { readConfig } from "../../src/runtime/configuration/Config.js"
import { layers } from "../../src/runtime/program/Layers.js"
import { serviceLayer } from "../../src/runtime/program/Service.js"

/** Starts the layers on an embedded Postgres in the directory. */
export const startInProcess = async (dataDir: string) => {
  const config = await Effect.runPromise(readConfig({ SVC_DATA_DIR: dataDir, SVC_PORT: "0", SVC_RUNNERS: "1" }))
  const runtime = ManagedRuntime.make(
    serviceLayer.pipe(
      Layer.provideMerge(layers(config).base),
      Layer.provide(Logger.minimumLogLevel(LogLevel.Error)),
      Layer.orDie
    )
  )
  return { config, runtime }
}
