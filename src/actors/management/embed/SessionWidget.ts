/** The widget of an embed session, as it was when the session began. Contract: embed. */
import { Effect, Option } from "effect"
import type { EmbeddedPerson } from "../../../domain/access/Caller.js"
import { type Failure, NotFound, type Unavailable } from "../../../domain/Failure.js"
import { noFeatures, type WidgetFeatures, type WidgetVersion } from "../../../domain/organisation/Widget.js"
import type { Tx } from "../../ports/Records.js"
import type { Principal } from "../Caller.js"

/** Whom the session acts for. Only sessions get to its use cases: the rows of operations say so. */
export const embeddedOf = ({ embedded }: Principal): Effect.Effect<EmbeddedPerson, NotFound> =>
  embedded === null ? Effect.fail(new NotFound({ what: "embed session" })) : Effect.succeed(embedded)

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

/** The features of the session's widget; without one it offers none. */
export const featuresOfSession = (tx: Tx, caller: Principal): Effect.Effect<WidgetFeatures, Failure> =>
  Effect.map(widgetOfSession(tx, caller), (widget) => widget?.features ?? noFeatures)
