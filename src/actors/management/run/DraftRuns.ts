/**
 * Where a draft may run: in `test`. Elsewhere its code reads what that environment has, its secrets among it, so that it needs
 * what deploying there needs. Contract: permissions (C4).
 */
import { Effect } from "effect"
import { type Failure, NotFound, refuseWith } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import { latestEnvironment } from "../../../domain/organisation/Environment.js"
import type { CallContext } from "../CallContext.js"
import { missingPermission, outOfScope } from "../Caller.js"
import { Changes } from "../Changes.js"
import { checkReview, findRules } from "../organisation/EnvironmentRecords.js"

/** Makes the check of a run of a draft, or of code that a draft contains. */
export const makeDraftRuns = Effect.map(Changes, ({ read }) => ({
  /**
   * Fails unless the caller may change workflows, and run a draft in this environment for this customer. Where deployments are
   * reviewed no draft runs: nobody has reviewed it.
   */
  checkDraft: Effect.fn("DraftRuns.check")(function* (
    context: CallContext,
    environment: string,
    customer: CustomerId | null
  ): Effect.fn.Return<void, Failure> {
    const { caller } = context
    yield* refuseWith(missingPermission(caller, "workflows:update") ?? outOfScope(caller, "environment", environment))
    if (environment === latestEnvironment) return
    yield* read(context, (tx) =>
      Effect.gen(function* () {
        const rules = yield* findRules(tx, customer, environment)
        if (rules === undefined) return yield* new NotFound({ what: "environment" })
        yield* refuseWith(missingPermission(caller, rules.needs))
        yield* checkReview(tx, caller, rules, { by: caller.id, at: null })
      })
    )
  })
}))
