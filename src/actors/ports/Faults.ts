/** Named points at which a test may kill the process. Production layers do nothing at them. */
import { Context, Effect } from "effect"

/** A point in the order of effects, named after what was done before it or comes next. */
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
  | "asked"

/** Points at which a test kills or delays the process; in production nothing happens there. */
export interface FaultPoints {
  readonly at: (point: FaultPoint) => Effect.Effect<void>
}

/** What production has. */
export const noFaults: FaultPoints = { at: () => Effect.void }

export class Faults extends Context.Reference<Faults>()("svc/Faults", { defaultValue: () => noFaults }) {}

/** Runs the effect between two fault points; just the effect in production. */
export const withFaultPoints = <A, E, R>(
  faults: FaultPoints,
  before: FaultPoint,
  effect: Effect.Effect<A, E, R>,
  after: FaultPoint
): Effect.Effect<A, E, R> =>
  faults === noFaults ? effect : Effect.zipRight(faults.at(before), Effect.zipLeft(effect, faults.at(after)))
