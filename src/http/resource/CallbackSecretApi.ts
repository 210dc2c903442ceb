/** The secret with which this workspace's callbacks are signed. Both calls answer with it, hence POST. Contract: callbacks. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { Audited, audited, NoStore, Permit, Scoped, Shared } from "../Endpoint.js"
import { closedToNarrowedKeys } from "./NarrowedKeys.js"
import { Data } from "./Shapes.js"

const CallbackSecret = Schema.Struct({ secret: Schema.String }).annotations({ identifier: "CallbackSecret" })

export const CallbackSecretApi = HttpApiGroup.make("callbackSecret")
  .add(
    HttpApiEndpoint.post("read", "/api/v1/callback-secret")
      .addSuccess(Data(CallbackSecret))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, audited("callback_secret.read"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
      .annotate(NoStore, true)
  )
  .add(
    HttpApiEndpoint.post("rotate", "/api/v1/callback-secret/rotate")
      .addSuccess(Data(CallbackSecret))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, audited("callback_secret.rotate"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
      .annotate(NoStore, true)
  )
