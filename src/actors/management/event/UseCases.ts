/** The use cases of events and dead letters, as one layer. */
import { Layer } from "effect"
import { DeadLetterQueue } from "./DeadLetterQueue.js"
import { EventRecords } from "./EventRecords.js"
import { EventReplays } from "./EventReplays.js"
import { WebhookIntake } from "./WebhookIntake.js"

export const eventUseCases = Layer.mergeAll(
  DeadLetterQueue.Default,
  EventRecords.Default,
  EventReplays.Default,
  WebhookIntake.Default
)
