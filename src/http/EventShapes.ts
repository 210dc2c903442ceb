/** Answers about events that a request makes, which surfaces B and C share. Contract: events, replay. */
import { Schema } from "effect"

const made = {
  eventId: Schema.String,
  status: Schema.Literal("accepted", "held", "ignored", "duplicate")
}
export const MadeEvent = Schema.Struct(made).annotations({ identifier: "MadeEvent" })
export const ReplayedEvent = Schema.Struct({
  ...made,
  replayOf: Schema.String,
  executionIds: Schema.Array(Schema.String).annotations({
    description: "the runs that the new event has started; empty if it waits: the event shows them later"
  })
}).annotations({ identifier: "ReplayedEvent" })
