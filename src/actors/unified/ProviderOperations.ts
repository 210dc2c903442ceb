/** Makes the calls of an entity's operation, one after the other, through its connection. */
import { Clock, Duration, Effect } from "effect"
import { findAction } from "../../domain/connector/Definition.js"
import { actionsOf, type EntityOperation } from "../../domain/connector/Entity.js"
import type { EntityPlan } from "../../domain/connector/EntityPlan.js"
import type { ActionDefinition } from "../../domain/connector/Action.js"
import { type ArgumentScope, entityArguments } from "../../domain/connector/request/EntityArguments.js"
import { valueAt } from "../../domain/expression/Path.js"
import { type Failure, invalid } from "../../domain/Failure.js"
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { makeActionCalls, retriesOf, withRetry } from "../ActionCalls.js"
import type { AnswerHolding } from "../ports/HeldBytes.js"
import { RecordCallFailed, type RecordUser } from "../ports/unified/UnifiedRecords.js"
import { type OpenEntity, unsupportedOperation } from "./OpenEntity.js"

/** An operation on an entity's records. */
export interface ProviderOperation {
  readonly open: Pick<OpenEntity, "connection" | "definition">
  readonly plan: EntityPlan
  readonly operation: EntityOperation
  readonly scope: Omit<ArgumentScope, "results">
  /** The arguments of a list's further page, instead of the entity's own. */
  readonly args?: JsonObject | undefined
  readonly idempotencyKey: string
}

/** What the last action of an operation answered. */
export interface OperationAnswer {
  readonly action: ActionDefinition
  readonly result: Json
  readonly next: Json | null
}

/** The record in what an operation answered; null if there is none. */
export const answeredRecord = ({ entity }: EntityPlan, result: Json): JsonObject | null => {
  const found = entity.record === undefined ? result : valueAt(result, entity.record)
  return isObject(found) ? found : null
}

/** The last action of an operation, whose answer has the record. */
export const lastAction = (
  { definition }: Pick<OpenEntity, "definition">,
  { entity }: EntityPlan,
  operation: EntityOperation
): ActionDefinition | undefined => findAction(definition, actionsOf(entity, operation).at(-1) ?? "")

const make = Effect.gen(function* () {
  const callAction = yield* makeActionCalls

  /** Waits for a provider's limit as long as the caller has patience. */
  const withPatience = <A, R>(
    { patienceMillis }: RecordUser,
    call: (made: number) => Effect.Effect<A, RecordCallFailed | Failure, R>
  ): Effect.Effect<A, RecordCallFailed | Failure, R> => {
    const attempt = (made: number, left: number): Effect.Effect<A, RecordCallFailed | Failure, R> =>
      Effect.catchTag(call(made), "RecordCallFailed", (error) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const { failed } = error
          const pause = failed._tag === "Postponed" ? Math.max(0, failed.at - now) : Number.POSITIVE_INFINITY
          return failed._tag !== "Postponed" || pause > left
            ? Effect.fail(error)
            : Effect.zipRight(Effect.sleep(Duration.millis(pause)), attempt(failed.made, left - pause))
        })
      )
    return attempt(0, patienceMillis)
  }

  /** Calls the actions of an operation in turn. The idempotency key of a further one ends with its number. */
  const run = Effect.fnUntraced(function* (
    user: RecordUser,
    { args, idempotencyKey, open, operation, plan, scope }: ProviderOperation
  ): Effect.fn.Return<OperationAnswer, RecordCallFailed | Failure, AnswerHolding> {
    const { connection, definition } = open
    const results: Array<Json> = []
    let last: OperationAnswer | undefined
    const names = actionsOf(plan.entity, operation)
    for (const [index, name] of names.entries()) {
      // A further page of a list is asked for by its last action.
      if (args !== undefined && index < names.length - 1) continue
      const action = findAction(definition, name)
      if (action === undefined)
        return yield* unsupportedOperation(`the connector ${definition.slug} has no action ${name}`)
      const input =
        args ?? entityArguments(plan.entity, operation, index, action, { ...scope, results }, definition.schemas)
      const answer = yield* withPatience(user, (made) =>
        callAction({
          organisationId: user.organisationId,
          connection,
          executionId: user.executionId,
          definition: withRetry(definition, user.retry ?? null),
          action,
          args: input,
          idempotencyKey: index === 0 ? idempotencyKey : `${idempotencyKey}-${index}`,
          retries: user.retry === "none" ? "none" : retriesOf(action),
          timeoutMillis: user.timeoutMillis,
          earlierAttempts: made,
          onAttempt: (attempt) => user.onAttempt?.(attempt, { connector: definition.slug, action: name })
        }).pipe(
          Effect.mapError((failed): Failure | RecordCallFailed =>
            failed._tag === "InvalidArguments"
              ? invalid(failed.path, "INVALID_VALUE", `${failed.message} (arguments of ${definition.slug}.${name})`)
              : new RecordCallFailed({ connector: definition.slug, action: name, failed })
          )
        )
      )
      // The model, not the action's schema, says what is a text.
      results.push(answer.exact)
      last = { action, result: answer.exact, next: answer.next }
    }
    return (
      last ?? (yield* unsupportedOperation(`the connector ${definition.slug} lacks ${operation} of ${plan.model.name}`))
    )
  })

  return { run }
})

/** Makes the calls of operations. */
export class ProviderOperations extends Effect.Service<ProviderOperations>()("svc/unified/ProviderOperations", {
  effect: make
}) {}
