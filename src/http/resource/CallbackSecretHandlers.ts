/** Tells and replaces the callback secret. */
import { Effect, Redacted } from "effect"
import { CallbackSecrets } from "../../actors/ports/CallbackSecrets.js"
import { Current } from "../auth/Authenticated.js"
import { ResourceApi } from "./Api.js"
import { Changes } from "../../actors/management/Changes.js"
import { group } from "../pipeline/Dispatch.js"

export const CallbackSecretLive = group(ResourceApi, "callbackSecret", (handlers) =>
  Effect.gen(function* () {
    const { change } = yield* Changes
    const secrets = yield* CallbackSecrets

    /** Both are recorded with what they answer, before they answer it. */
    const told = (ask: typeof secrets.current) =>
      Effect.gen(function* () {
        const exchange = yield* Current
        const { organisationId, spaceId } = exchange.caller
        const data = yield* change(exchange, () =>
          Effect.map(ask(organisationId, spaceId), (secret) => ({
            value: { secret: Redacted.value(secret) },
            resource: { id: spaceId }
          }))
        )
        return { data }
      })

    return handlers.handle("read", () => told(secrets.current)).handle("rotate", () => told(secrets.rotate))
  })
)
