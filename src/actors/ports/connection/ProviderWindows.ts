/** Stores the leases of providers' limits, so that a new owner of a limit does not grant them again. */
import { Context, type Effect } from "effect"
import type { SharedState } from "../../../domain/connection/CallLeases.js"
import type { ConnectionId } from "../../../domain/Ids.js"
import type { Unavailable } from "../../../domain/Failure.js"

/** What is left of a provider's limit, as its owner saved it last. */
export interface StoredWindow {
  readonly state: SharedState
  /** Zero: nothing is stored yet. */
  readonly revision: number
}

/** A limit over all connections of a connector, or one of a connection alone. */
export type LimitKey = { readonly organisation: string } & (
  | { readonly connector: string }
  | { readonly connection: ConnectionId }
)

export class ProviderWindows extends Context.Tag("svc/ProviderWindows")<
  ProviderWindows,
  {
    readonly load: (key: LimitKey) => Effect.Effect<StoredWindow, Unavailable>
    /** Saves the state as the next revision; `false`, without effect, if another owner saved since `window.revision`. */
    readonly save: (key: LimitKey, window: StoredWindow) => Effect.Effect<boolean, Unavailable>
  }
>() {}
