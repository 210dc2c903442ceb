/** The networks that the operator opens to the service beside the public internet (`SVC_EGRESS_ALLOW`). */
import type { Effect } from "effect"
import { Context } from "effect"

export class OperatorNetworks extends Context.Tag("svc/OperatorNetworks")<
  OperatorNetworks,
  {
    readonly isEmpty: boolean
    /** Whether every address that the host of the URL has now is in these networks, on the URL's port. */
    readonly covers: (url: string) => Effect.Effect<boolean>
  }
>() {}
