/**
 * What is about to be created at a provider that does not recognise a repetition: noted before it is sent, so that a creation
 * whose answer was lost is not made twice.
 */
import { type Effect, Context } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"

export class WriteIntents extends Context.Tag("svc/WriteIntents")<
  WriteIntents,
  {
    /** Notes a key, durably. False: it was noted before. */
    readonly begin: (organisation: OrganisationId, key: string) => Effect.Effect<boolean, Unavailable>
    /** Forgets a key whose creation the provider refused. */
    readonly forget: (organisation: OrganisationId, key: string) => Effect.Effect<void, Unavailable>
  }
>() {}
