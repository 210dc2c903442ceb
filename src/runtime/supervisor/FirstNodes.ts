/** The first start with nodes: the supervisor creates what a service that is alone creates after it listens. */
import { Effect, Layer, Option } from "effect"
import type { ServiceConfig } from "../configuration/Config.js"
import { findPrinted, isFirstStart, makeFirstLink, makeFirstStart } from "../program/FirstStart.js"

/**
 * Creates the first organisation at a first start, and a link for the first person, which are printed; a later start updates
 * `dev.json`.
 */
export const makeFirstStartOfNodes = Effect.fnUntraced(function* (config: ServiceConfig) {
  const isFirst = yield* isFirstStart(config, config.publicUrl)
  if (!isFirst && Option.isNone(yield* findPrinted)) return { first: Option.none(), link: Option.none() }
  // The supervisor needs nothing else of the service.
  const [{ records }, secrets] = yield* Effect.promise(() =>
    Promise.all([import("../program/Service.js"), import("../../actors/organisation/CallbackSecrets.js")])
  )
  return yield* Effect.gen(function* () {
    const first = isFirst ? Option.some(yield* makeFirstStart(config, config.publicUrl)) : Option.none()
    return { first, link: yield* makeFirstLink(yield* findPrinted, config.publicUrl) }
  }).pipe(Effect.provide(Layer.provideMerge(secrets.layer, records)))
})
