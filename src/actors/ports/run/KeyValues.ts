/** `svc.state`: a workflow's durable key-value store. Contract: runtime calls. */
import { type Effect, Context, Data } from "effect"
import type { OrganisationId, SpaceId } from "../../../domain/Ids.js"
import type { Json } from "../../../domain/Json.js"
import type { JournalEntry } from "../../../domain/run/RunJournal.js"
import type { Fenced, JournalPlace, JournalUnavailable } from "./Journal.js"

/** Which store a key belongs to. `owner`: the workflow, customer or first execution of the narrower scopes, else "". */
export interface Store {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly scope: "ORG" | "INVOCATION" | "WORKFLOW" | "CUSTOMER"
  readonly environment: string
  readonly owner: string
}

/** A change of one value. It is atomic, and applied once for its journal entry. */
export type StateWrite =
  /** `expiresAt`: Unix milliseconds. */
  | { readonly _tag: "Set"; readonly key: string; readonly value: Json; readonly expiresAt: number | null }
  | { readonly _tag: "Delete"; readonly key: string }
  | { readonly _tag: "Increment"; readonly key: string; readonly by: number }
  | { readonly _tag: "CompareAndSet"; readonly key: string; readonly expected: Json; readonly next: Json }

/** The write does not fit the stored value, such as an increment of a value that is no number. */
export class StateRefused extends Data.TaggedError("StateRefused")<{ readonly message: string }> {}

export class KeyValues extends Context.Tag("svc/KeyValues")<
  KeyValues,
  {
    readonly get: (store: Store, key: string) => Effect.Effect<Json, JournalUnavailable>
    /**
     * Writes and records the write in the run's journal in one transaction, so that it happens exactly once however
     * often the run is replayed. `entry` makes the journal row of the result.
     */
    readonly write: (
      store: Store,
      write: StateWrite,
      run: JournalPlace,
      entry: (result: Json) => JournalEntry
    ) => Effect.Effect<Json, StateRefused | Fenced | JournalUnavailable>
  }
>() {}
