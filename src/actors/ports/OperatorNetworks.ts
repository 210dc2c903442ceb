/** The networks that the operator allows besides the public internet (`SVC_EGRESS_ALLOW`). */
import { type Effect, Context } from "effect"

export class OperatorNetworks extends Context.Tag("svc/OperatorNetworks")<
  OperatorNetworks,
  {
    readonly isEmpty: boolean
    /** Whether all current addresses of the URL's host are in these networks, on the URL's port. */
    readonly covers: (url: string) => Effect.Effect<boolean>
  }
>() {}
