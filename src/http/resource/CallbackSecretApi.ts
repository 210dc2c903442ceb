/** The endpoints of the workspace's callback secret. Both answer with it and are audited, so both are POST. Contract: callbacks. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { Audited, auditAction, NoStore, Permit, Scoped, Shared } from "../Endpoint.js"
import { closedToNarrowedKeys } from "./ClosedScope.js"
import { Data } from "./Shapes.js"

const CallbackSecret = Schema.Struct({ secret: Schema.String }).annotations({ identifier: "CallbackSecret" })

/** The callback secret on surface C. */
export const CallbackSecretApi = HttpApiGroup.make("callbackSecret")
  .add(
    HttpApiEndpoint.post("read", "/api/v1/callback-secret")
      .addSuccess(Data(CallbackSecret))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("callback_secret.read"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
      .annotate(NoStore, true)
  )
  .add(
    HttpApiEndpoint.post("rotate", "/api/v1/callback-secret/rotate")
      .addSuccess(Data(CallbackSecret))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("callback_secret.rotate"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
      .annotate(NoStore, true)
  )
