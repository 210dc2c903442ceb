/**
 * Use cases of the secret with which a workspace's callbacks are signed. Both answer with it, so both are recorded before
 * they answer. Contract: callbacks.
 */
import { Context, Effect, Layer, type Redacted } from "effect"
import type { Failure } from "../../domain/Failure.js"
import { CallbackSecrets } from "../ports/CallbackSecrets.js"
import type { CallContext } from "./CallContext.js"
import { Changes } from "./Changes.js"

export class CallbackSecret extends Context.Tag("svc/CallbackSecret")<
  CallbackSecret,
  {
    /** The secret in force, of the caller's workspace. */
    readonly reveal: (context: CallContext) => Effect.Effect<Redacted.Redacted, Failure>
    /** Makes a new one; the one before stays valid for the overlap. */
    readonly rotate: (context: CallContext) => Effect.Effect<Redacted.Redacted, Failure>
  }
>() {}

export const layer = Layer.effect(
  CallbackSecret,
  Effect.gen(function* () {
    const { change } = yield* Changes
    const secrets = yield* CallbackSecrets

    const record = (ask: typeof secrets.current) => (context: CallContext) => {
      const { organisationId, spaceId } = context.caller
      return change(context, () =>
        Effect.map(ask(organisationId, spaceId), (value) => ({ value, resource: { id: spaceId } }))
      )
    }

    return CallbackSecret.of({ reveal: record(secrets.current), rotate: record(secrets.rotate) })
  })
)
