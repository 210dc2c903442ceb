/** Queues the notifications of runs, each with the journal row of its call, so that it is sent once. */
import { Context, Data, type Effect } from "effect"
import type { OrganisationId, SpaceId } from "../../../domain/Ids.js"
import type { JournalEntry } from "../../../domain/run/RunJournal.js"
import type { NewNotification } from "../../NotificationDeliveries.js"
import type { Fenced, JournalPlace, JournalUnavailable } from "../run/Journal.js"

/** The organisation has sent as many in this hour as it may. */
export class NotificationsExceeded extends Data.TaggedError("NotificationsExceeded")<{
  readonly what: "messages" | "notifications"
  readonly limit: number
}> {}

/** How many an organisation may send in an hour; `null`: any number. */
export interface HourlyLimits {
  /** Messages that leave the application. */
  readonly messages: number | null
  /** Notifications in the application. */
  readonly inApp: number
}

export class RunNotifications extends Context.Tag("svc/RunNotifications")<
  RunNotifications,
  {
    /** Writes the notification, its deliveries and the entry in one transaction, as the owner of the run. */
    readonly queue: (
      owner: { readonly organisationId: OrganisationId; readonly spaceId: SpaceId },
      made: NewNotification,
      limits: HourlyLimits,
      place: JournalPlace,
      entry: JournalEntry
    ) => Effect.Effect<void, NotificationsExceeded | Fenced | JournalUnavailable>
  }
>() {}
