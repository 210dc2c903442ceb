/** The first start with nodes: the supervisor creates what a service that is alone creates after it listens. */
import { Effect, Layer, Option } from "effect"
import type { ServiceConfig } from "../configuration/Config.js"
import { isFirstStart, makeFirstStart } from "../program/FirstStart.js"

/** Creates the first organisation at a first start, and returns it; a later start updates `dev.json`. */
export const makeFirstStartOfNodes = Effect.fnUntraced(function* (config: ServiceConfig) {
  if (!(yield* isFirstStart(config, config.publicUrl))) return Option.none()
  // The supervisor needs nothing else of the service.
  const [{ records }, secrets] = yield* Effect.promise(() =>
    Promise.all([import("../program/Service.js"), import("../../actors/organisation/CallbackSecrets.js")])
  )
  return Option.some(
    yield* Effect.provide(makeFirstStart(config, config.publicUrl), Layer.provideMerge(secrets.layer, records))
  )
})
