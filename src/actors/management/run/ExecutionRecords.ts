/**
 * Finds executions for use cases. `NotFound` also for another workspace's and for a customer that the caller does not
 * reach; `Forbidden` outside the key's scope.
 */
import { Effect, type Option } from "effect"
import type { ExecutionDetail, ExecutionView } from "../../../domain/run/ExecutionView.js"
import { type Failure, type Forbidden, NotFound, type Unavailable } from "../../../domain/Failure.js"
import type { ExecutionId } from "../../../domain/Ids.js"
import type { ExecutionReads } from "../../ports/run/ExecutionReads.js"
import type { CallContext } from "../CallContext.js"
import { outOfScope, type Principal, reaches } from "../Caller.js"

/** Whether the text has the form of an id: no other is looked up. */
export const isExecutionId = (text: string): text is ExecutionId => /^exec_[0-9a-hjkmnp-tv-z]{26}$/.test(text)

const executionNotFound = () => new NotFound({ what: "execution" })

const isReached = (caller: Principal, { customerId }: ExecutionView): boolean =>
  caller.customers === "all" || (customerId !== null && reaches(caller, customerId))

/** The refusal if the execution's workflow or environment is outside the key's scope. */
const scopeRefusal = (caller: Principal, { environment, workflowId }: ExecutionView): Forbidden | undefined =>
  outOfScope(caller, "workflow", workflowId) ?? outOfScope(caller, "environment", environment)

/** Loads an execution with `load`, if the caller's key reaches it. */
export const findExecution = Effect.fnUntraced(function* <A>(
  caller: Principal,
  id: string,
  load: (id: ExecutionId) => Effect.Effect<Option.Option<A>, Unavailable>,
  viewOf: (found: A) => ExecutionView
): Effect.fn.Return<A, Failure> {
  if (!isExecutionId(id)) return yield* executionNotFound()
  const found = yield* load(id)
  if (found._tag === "None" || !isReached(caller, viewOf(found.value))) return yield* executionNotFound()
  const refused = scopeRefusal(caller, viewOf(found.value))
  return refused === undefined ? found.value : yield* refused
})

/** Finds an execution without its steps. */
export const findViewWith =
  (reads: ExecutionReads["Type"]) =>
  ({ caller }: Pick<CallContext, "caller">, id: string): Effect.Effect<ExecutionView, Failure> =>
    Effect.map(
      findExecution(
        caller,
        id,
        (knownId) => reads.find(caller, knownId),
        ({ view }) => view
      ),
      ({ view }) => view
    )

/** Finds the detail of an execution. */
export const findDetailWith =
  (reads: ExecutionReads["Type"]) =>
  ({ caller }: Pick<CallContext, "caller">, id: string): Effect.Effect<ExecutionDetail, Failure> =>
    findExecution(
      caller,
      id,
      (knownId) => reads.get(caller, knownId),
      (view) => view
    )
