/** Named points at which a test may kill the process. Production layers do nothing at them. */
import { Context, Effect } from "effect"

export type FaultPoint =
  | "parsed"
  | "claimed"
  | "committed"
  | "beforePublish"
  | "published"
  | "acked"
  | "beforeEffect"
  | "effected"
  | "beforeCall"
  | "called"
  | "beforeAppend"
  | "appended"
  | "terminal"
  | "intentWritten"
  | "tokenReceived"

export class Faults extends Context.Reference<Faults>()("svc/Faults", {
  defaultValue: (): { readonly at: (point: FaultPoint) => Effect.Effect<void> } => ({ at: () => Effect.void })
}) {}
