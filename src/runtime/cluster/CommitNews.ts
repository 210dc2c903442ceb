/** Carries between the nodes of a cluster that callers wait for changes, and whose records were committed. */
import { Effect, Layer, Option } from "effect"
import { Wakeups } from "../../actors/ports/run/Wakeups.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { Membership } from "./Membership.js"

/** Does nothing for a node that is alone. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const found = yield* Effect.serviceOption(Membership)
    if (Option.isNone(found)) return
    const { onCommits, seat } = found.value
    const wakeups = yield* Wakeups
    wakeups.onAwaited(() => seat()?.awaitCommits())
    wakeups.onCommitted((organisations) => seat()?.tellCommits(organisations))
    // Nodes send ids of organisations only.
    onCommits((organisations) => wakeups.signalChanged(organisations as ReadonlySet<OrganisationId>))
  })
)
