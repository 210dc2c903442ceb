/** Finds the triggers of arriving events. Results may be one second old, but include this node's own commits. */
import { Context, type Effect, type Option } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId, TriggerId } from "../../../domain/Ids.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"

/** Reads triggers for the events that arrive. */
export class TriggerReads extends Context.Tag("svc/TriggerReads")<
  TriggerReads,
  {
    /** Also a disabled or deleted trigger: events that were accepted before still start runs. */
    readonly byId: (id: TriggerId) => Effect.Effect<Option.Option<Trigger>, Unavailable>
    /** The active triggers for an event of a connector. */
    readonly ofConnector: (
      organisation: OrganisationId,
      connector: string,
      event: string
    ) => Effect.Effect<ReadonlyArray<Trigger>, Unavailable>
    /** The active triggers for an event of the service, by its type or a prefix of it. */
    readonly ofEvent: (organisation: OrganisationId, type: string) => Effect.Effect<ReadonlyArray<Trigger>, Unavailable>
  }
>() {}

/** Notes when triggers fire, without a statement for each event. */
export class TriggerMeter extends Context.Tag("svc/TriggerMeter")<
  TriggerMeter,
  {
    /** `at`: Unix milliseconds. Written within seconds, once for all firings of a trigger; a crash loses at most that. */
    readonly noteFired: (trigger: TriggerId, at: number) => void
  }
>() {}
