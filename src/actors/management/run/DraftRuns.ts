/**
 * Where a draft may run: in `test`. Elsewhere its code reads what that environment has, its secrets among it, so that it needs
 * what deploying there needs. Contract: permissions (C4).
 */
import { Effect, Option } from "effect"
import { type Failure, NotFound, refuseWith } from "../../../domain/Failure.js"
import { isOfOlderGeneration } from "../../../domain/flow/Generation.js"
import type { CustomerId, WorkflowId } from "../../../domain/Ids.js"
import { latestEnvironment } from "../../../domain/organisation/Environment.js"
import type { CallContext } from "../CallContext.js"
import { missingPermission, outOfScope, type Principal } from "../Caller.js"
import { Records } from "../../ports/Records.js"
import { type Runnable, Runnables } from "../../ports/run/Runnables.js"
import { Changes } from "../Changes.js"
import { checkReview, findRules } from "../organisation/EnvironmentRecords.js"
import { makeCurrentDrafts } from "../workflow/CurrentDrafts.js"

/** Makes the checks of a run of a draft, or of code that a draft contains. */
export const makeDraftRuns = Effect.gen(function* () {
  const { read } = yield* Changes
  const records = yield* Records
  const runnables = yield* Runnables
  const currentDraft = yield* makeCurrentDrafts

  /** A draft as it runs: of the present generation. */
  const draftOf = Effect.fnUntraced(function* (caller: Principal, id: WorkflowId): Effect.fn.Return<Runnable, Failure> {
    const { organisationId } = caller
    const stored = yield* runnables.draft(organisationId, id)
    if (!isOfOlderGeneration(stored.script)) return stored
    const found = yield* records.transact(organisationId, (tx) => tx.workflows.find({ id }))
    if (Option.isSome(found)) yield* currentDraft(caller, found.value)
    return yield* runnables.draft(organisationId, id)
  })

  /**
   * Fails unless the caller may change workflows, and run a draft in this environment for this customer. Where deployments are
   * reviewed no draft runs: nobody has reviewed it.
   */
  const checkDraft = Effect.fn("DraftRuns.check")(function* (
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

  return { checkDraft, draftOf }
})
