/** Checks what a trigger's body says, compiles the patterns of its filters, and counts those of an organisation. */
import { Clock, Effect } from "effect"
import type { EventDefinition } from "../../../domain/connector/Webhook.js"
import { type Failure, invalid, PlanLimitReached, refuseWith, refusalOf } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import { patternLimits } from "../../../domain/Limits.js"
import type { Trigger, TriggerKind, UpdateTrigger } from "../../../domain/trigger/Trigger.js"
import { patternsOfRoutes } from "../../../domain/trigger/TriggerChanges.js"
import { missingSettings, settingsRefusal } from "../../../domain/trigger/TriggerChecks.js"
import { Patterns } from "../../Patterns.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import type { Tx } from "../../ports/Records.js"
import type { Principal } from "../Caller.js"
import { checkCustomerLimit } from "../organisation/CustomerLimits.js"
import { checkEvent } from "./TriggerReferences.js"

/** Checks the bodies of triggers. */
export const makeTriggerSettings = Effect.gen(function* () {
  const connectors = yield* Connectors
  const patterns = yield* Patterns

  /** Compiles the patterns of routes: why they cannot be used. */
  const compilePatterns = Effect.fnUntraced(function* ({ organisationId }: Principal, { routes = [] }: UpdateTrigger) {
    const found = patternsOfRoutes(routes)
    if (found.size > patternLimits.trigger)
      return yield* invalid(
        "routes",
        "OUT_OF_RANGE",
        `have more than ${patternLimits.trigger} different patterns: combine some with |, or compare with startsWith or in`
      )
    return found.size === 0 ? new Map() : yield* patterns.mistakes(organisationId, found)
  })

  /** Refuses what is wrong with the body alone, and an event that the connector lacks. Returns the event, if it has one. */
  const checkInput = Effect.fnUntraced(function* (
    caller: Principal,
    type: TriggerKind,
    input: UpdateTrigger,
    isNew: boolean
  ): Effect.fn.Return<EventDefinition | null, Failure> {
    yield* refuseWith(refusalOf(isNew ? missingSettings(type, input) : []))
    const mistakes = yield* compilePatterns(caller, input)
    const now = yield* Clock.currentTimeMillis
    yield* refuseWith(settingsRefusal(type, input, now, (pattern) => mistakes.get(pattern)))
    return input.appEvent === null || input.appEvent === undefined
      ? null
      : yield* checkEvent(connectors, caller, input.appEvent)
  })

  return checkInput
})

/** Fails if neither the plan nor the customer's limits leave room for another trigger. Exact: creations wait for the lock. */
export const checkTriggerLimit = Effect.fnUntraced(function* (
  tx: Tx,
  { plan: { triggers: limit } }: Principal,
  customerId: CustomerId | null
): Effect.fn.Return<void, Failure> {
  if (limit !== null) {
    yield* tx.lockKeyOfAccount("triggers")
    const used = yield* tx.countOfAccount("triggers")
    if (used >= limit) return yield* new PlanLimitReached({ dimension: "triggers", limit, used })
  }
  if (customerId !== null) yield* checkCustomerLimit(tx, customerId, "triggers")
})

/** Fails if the change gives the organisation's triggers more patterns than they may have. Exact. */
export const checkPatternTotal = Effect.fnUntraced(function* (tx: Tx, after: Trigger, before?: Trigger) {
  if (after.patterns <= (before?.patterns ?? 0)) return
  const { organisationId } = after
  yield* tx.lockKey(`patterns|${organisationId}`)
  const counts = yield* tx.triggers.countBy("patterns", { organisationId, deletedAt: null })
  let total = after.patterns - (before?.patterns ?? 0)
  for (const [patterns, triggers] of counts) total += Number(patterns) * triggers
  if (total > patternLimits.organisation)
    return yield* invalid(
      "routes",
      "OUT_OF_RANGE",
      `have too many patterns: the organisation's triggers would have ${total}, and may have ${patternLimits.organisation}`
    )
})
