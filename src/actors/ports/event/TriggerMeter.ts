/** Notes when triggers fire, without a statement for each event. */
import { Context } from "effect"
import type { TriggerId } from "../../../domain/Ids.js"

export class TriggerMeter extends Context.Tag("svc/TriggerMeter")<
  TriggerMeter,
  {
    /** `at`: Unix milliseconds. Written within seconds, once for all firings of a trigger; a crash loses at most that. */
    readonly noteFired: (trigger: TriggerId, at: number) => void
  }
>() {}
