/** Reads the versions of a connector's actions without the definitions, which may have megabytes, in a transaction of `Records`. */
import type { Effect, Option } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ConnectorId } from "../../../domain/Ids.js"

/** A version of an action. `connectorVersion`: the first one that has it; `publishedAt`: RFC 3339, `null` for the draft. */
export interface ActionVersion {
  readonly version: number
  readonly connectorVersion: string
  readonly publishedAt: string | null
}

export interface ActionHistory {
  /** The versions of an action below `before`, the newest first, at most `limit`. */
  readonly actionVersions: (query: {
    readonly connectorId: ConnectorId
    readonly name: string
    readonly before?: number
    readonly limit: number
  }) => Effect.Effect<ReadonlyArray<ActionVersion>, Unavailable>
  /** The number of the newest definition, published or draft, that has the action in this version. */
  readonly findActionVersion: (
    connectorId: ConnectorId,
    action: { readonly name: string; readonly version: number }
  ) => Effect.Effect<Option.Option<number>, Unavailable>
}
