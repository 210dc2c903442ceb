/**
 * Use cases of the secret that signs a workspace's callbacks. Both return the secret, so both commit their audit entry
 * first. Contract: callbacks.
 */
import { Effect } from "effect"
import { CallbackSecrets } from "../../ports/delivery/CallbackSecrets.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"

const make = Effect.gen(function* () {
  const { change } = yield* Changes
  const secrets = yield* CallbackSecrets

  const record = (ask: typeof secrets.current) => (context: CallContext) => {
    const { organisationId, spaceId } = context.caller
    return change(context, () =>
      Effect.map(ask(organisationId, spaceId), (value) => ({ value, resource: { id: spaceId } }))
    )
  }

  return {
    /** The current secret of the caller's workspace. */
    reveal: record(secrets.current),
    /** Creates a new secret; the previous one stays valid for the overlap. */
    rotate: record(secrets.rotate)
  }
})

export class CallbackSecret extends Effect.Service<CallbackSecret>()("svc/CallbackSecret", { effect: make }) {}
