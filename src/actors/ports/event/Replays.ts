/** Replays events and dead letters: as new events, which are never taken for repetitions. Contract: replay. */
import { Context, type Effect, Schema } from "effect"
import { type Failure, InvalidState } from "../../../domain/Failure.js"
import type { EventId, OrganisationId, SpaceId } from "../../../domain/Ids.js"
import type { DeadLetterSource } from "./DeadLetters.js"
import type { RecordScope, ReplaySource } from "./EventReads.js"
import type { Reception } from "./Events.js"

/** The answer to a request that makes an event. */
export interface MadeEvent {
  readonly eventId: EventId
  readonly status: "accepted" | "held" | "ignored" | "duplicate"
}

const statusOf: { readonly [Tag in Reception["_tag"]]: MadeEvent["status"] } = {
  Accepted: "accepted",
  Held: "held",
  Ignored: "ignored",
  Duplicate: "duplicate"
}

/** The answer to a reception: of a repetition, the first event. */
export const madeOf = (reception: Reception): MadeEvent => ({
  eventId: reception._tag === "Duplicate" ? (reception.first as EventId) : reception.eventId, // the target of its claim
  status: statusOf[reception._tag]
})

/** The new event of a replay; `null` for a delivery, which is sent again as it is, and for a run, which runs again. */
export const ReplayedLetter = Schema.Struct({
  id: Schema.String,
  eventId: Schema.NullOr(Schema.String),
  status: Schema.Literal("accepted", "held", "ignored", "duplicate", "resent", "rerun"),
  executionId: Schema.optional(Schema.String).annotations({
    description: "the new run, with the status `rerun`: that of a run which no event had started"
  })
}).annotations({ identifier: "ReplayedLetter" })
export type ReplayedLetter = typeof ReplayedLetter.Type

/** The workspace that owns what is replayed. */
export interface ReplayHome {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
}

/** The refusal to replay or discard a dead letter twice. `status`: that which it has. */
export const notPending = (status: string) =>
  new InvalidState({ state: status, message: "the dead letter was replayed or discarded already" })

/** How an event is replayed. */
export interface ReplayOptions {
  /** The ids of the only routes; absent: all that match. */
  readonly routes?: ReadonlyArray<string>
  /** The versions of workflows to run; absent: those that are deployed. */
  readonly versions?: { readonly [workflow: string]: number }
  /** The scope of the key that asks: only triggers in it take the new event. Fails with `Forbidden` if there is none. */
  readonly scope?: RecordScope
}

/** How a dead letter is replayed. */
export interface LetterOptions extends Omit<ReplayOptions, "versions"> {
  /** It counts against the quota, unlike what the service replays by itself. */
  readonly isRequested: boolean
}

export class Replays extends Context.Tag("svc/Replays")<
  Replays,
  {
    readonly event: (
      home: ReplayHome,
      source: ReplaySource,
      options: ReplayOptions
    ) => Effect.Effect<MadeEvent, Failure>
    /**
     * Replays a dead letter, for the route that failed or these. Fails with `InvalidState` if it was replayed already.
     */
    readonly letter: (
      home: ReplayHome,
      source: DeadLetterSource,
      options: LetterOptions
    ) => Effect.Effect<ReplayedLetter, Failure>
  }
>() {}
