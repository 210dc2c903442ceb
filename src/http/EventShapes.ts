/** Queries and answers of events and dead letters, which surfaces B and C share. Contract: events, replay. */
import { Schema } from "effect"
import { EventSource, EventStatus } from "../domain/event/Event.js"
import { DeadLetterStatus } from "../domain/event/EventView.js"
import { listParams } from "../actors/management/Pages.js"

const text = Schema.optional(Schema.String)

/** What a list of events is filtered by, besides its customer. */
export const eventFilters = {
  ...listParams,
  status: Schema.optional(EventStatus),
  source: Schema.optional(EventSource),
  trigger_id: text,
  connector: text,
  type: text
}

/** What a list of dead letters is filtered by, besides its customer. */
export const deadLetterFilters = {
  ...listParams,
  status: Schema.optional(DeadLetterStatus),
  trigger_id: text,
  connector: text,
  type: text,
  code: text
}

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
