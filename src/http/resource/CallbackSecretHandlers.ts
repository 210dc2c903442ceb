/** Handlers of the callback secret on surface C. */
import { Effect, Redacted } from "effect"
import { CallbackSecret } from "../../actors/management/CallbackSecret.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"

const shape = (secret: Redacted.Redacted) => ({ data: { secret: Redacted.value(secret) } })

/** The handlers of `CallbackSecretApi`. */
export const CallbackSecretLive = groupLayer(ResourceApi, "callbackSecret", (handlers) =>
  Effect.map(CallbackSecret, (secret) =>
    handlers
      .handle("read", () => Effect.map(Effect.flatMap(CurrentExchange, secret.reveal), shape))
      .handle("rotate", () => Effect.map(Effect.flatMap(CurrentExchange, secret.rotate), shape))
  )
)
