/** `svc start`: the service, from its configuration until it is told to stop. */
import { Effect, Layer, Logger } from "effect"
import { read } from "./Config.js"
import { layer } from "./Layers.js"
import { Refusal } from "./Refusal.js"

/** Runs until interrupted; then drains and closes everything that it opened. */
export const start = Effect.gen(function* () {
  const config = yield* read()
  const format = config.logFormat === "pretty" ? Logger.pretty : Logger.json
  const ready = Effect.suspend(() =>
    Effect.logInfo(`svc is ready on ${config.publicUrl}, ${Math.round(performance.now())} ms after its start`)
  )
  return yield* Effect.zipRight(ready, Effect.never).pipe(
    Effect.provide(layer(config)),
    Effect.provide(Layer.merge(format, Logger.minimumLogLevel(config.logLevel)))
  )
}).pipe(Effect.catchTag("SqlError", ({ cause, message }) => new Refusal({ message: `${message}: ${String(cause)}` })))
