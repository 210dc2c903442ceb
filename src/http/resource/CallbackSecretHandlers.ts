/** Answers the endpoints of the callback secret from their use cases. */
import { Effect, Redacted } from "effect"
import { CallbackSecret } from "../../actors/management/CallbackSecret.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"

const shape = (secret: Redacted.Redacted) => ({ data: { secret: Redacted.value(secret) } })

export const CallbackSecretLive = group(ResourceApi, "callbackSecret", (handlers) =>
  Effect.map(CallbackSecret, (secret) =>
    handlers
      .handle("read", () => Effect.map(Effect.flatMap(Current, secret.reveal), shape))
      .handle("rotate", () => Effect.map(Effect.flatMap(Current, secret.rotate), shape))
  )
)
