/** The operations on the workspace's callback secret. Both answer with it and are audited, so both are POST. Contract: callbacks. */
import { Schema, Effect, Redacted } from "effect"
import { operationsOf } from "../operation/Operation.js"
import { closedToNarrowedKeys } from "../ClosedScope.js"
import { CallbackSecret } from "../../actors/management/access/CallbackSecret.js"
import { record } from "../operation/Output.js"

const CallbackSecretView = Schema.Struct({ secret: Schema.String }).annotations({ identifier: "CallbackSecret" })

const shown = (secret: Redacted.Redacted) => ({ secret: Redacted.value(secret) })

const ofCallbackSecret = operationsOf({
  with: CallbackSecret,
  resource: "callback_secret",
  sharing: "hidden",
  scoped: closedToNarrowedKeys,
  permit: "settings:manage"
})

/** The operations of the group `callbackSecret`, in the order of the documents. */
export const callbackSecretOperations = [
  ofCallbackSecret({
    name: "callbackSecret.read",
    summary: "Read the callback secret",
    description:
      "Answers with the secret with which this workspace's callbacks are signed. It is a POST since it is audited.",
    answers: { 200: "The callback secret." },
    route: "POST /api/v1/callback-secret",
    output: record(CallbackSecretView),
    noStore: true,
    use: (secret, { context }) => Effect.map(secret.reveal(context), shown)
  }),
  ofCallbackSecret({
    name: "callbackSecret.rotate",
    summary: "Rotate the callback secret",
    description: "Makes a new secret for callbacks. For a while callbacks carry signatures of both secrets.",
    answers: { 200: "The new callback secret." },
    route: "POST /api/v1/callback-secret/rotate",
    output: record(CallbackSecretView),
    noStore: true,
    use: (secret, { context }) => Effect.map(secret.rotate(context), shown)
  })
] as const
