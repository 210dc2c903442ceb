/** Stores the leases of providers' limits, so that a new owner of a limit does not grant them again. */
import { Context, type Effect } from "effect"
import type { SharedState } from "../../../domain/connection/SharedLimiter.js"
import type { Unavailable } from "../../../domain/Failure.js"

/** What is left of a provider's limit, as its owner saved it last. */
export interface StoredWindow {
  readonly state: SharedState
  /** Zero: nothing is stored yet. */
  readonly revision: number
}

export class ProviderWindows extends Context.Tag("svc/ProviderWindows")<
  ProviderWindows,
  {
    readonly load: (organisation: string, connector: string) => Effect.Effect<StoredWindow, Unavailable>
    /** Saves the state as the next revision; `false`, without effect, if another owner saved since `window.revision`. */
    readonly save: (
      organisation: string,
      connector: string,
      window: StoredWindow
    ) => Effect.Effect<boolean, Unavailable>
  }
>() {}
