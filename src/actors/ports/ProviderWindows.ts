/** What nodes were granted of providers' limits, kept so that no new owner of a limit grants it again. */
import { Context, type Effect } from "effect"
import type { SharedState } from "../../domain/connection/SharedLimiter.js"
import type { Unavailable } from "../../domain/Failure.js"

export interface StoredWindow {
  readonly state: SharedState
  /** Zero: nothing is stored yet. */
  readonly revision: number
}

export class ProviderWindows extends Context.Tag("svc/ProviderWindows")<
  ProviderWindows,
  {
    readonly load: (organisation: string, connector: string) => Effect.Effect<StoredWindow, Unavailable>
    /** Answers `false`, and stores nothing, where another owner stored since that revision. The next one is one higher. */
    readonly save: (
      organisation: string,
      connector: string,
      window: StoredWindow
    ) => Effect.Effect<boolean, Unavailable>
  }
>() {}
