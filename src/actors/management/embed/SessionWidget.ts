/** The widget of an embed session, as it was when the session began. Contract: embed. */
import { Effect, Option } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { WidgetVersion } from "../../../domain/organisation/Widget.js"
import type { Tx } from "../../ports/Records.js"
import type { Principal } from "../Caller.js"

/** The frozen version of the session's widget; `undefined` without one. */
export const widgetOfSession = (
  tx: Tx,
  { embedded }: Principal
): Effect.Effect<WidgetVersion | undefined, Unavailable> =>
  embedded === null || embedded.widgetId === null || embedded.widgetVersion === null
    ? Effect.succeed(undefined)
    : Effect.map(
        tx.widgetVersions.find({ widgetId: embedded.widgetId, number: embedded.widgetVersion }),
        Option.getOrUndefined
      )
