/** The port `AccountEntities`: calls the actions that describe an account's entities. */
import { Duration, Effect, Layer } from "effect"
import type { ActionDefinition } from "../../domain/connector/Action.js"
import { type AccountEntity, accountEntity, maxAccountFields } from "../../domain/connector/AccountFields.js"
import { findAction } from "../../domain/connector/Definition.js"
import type { EntityDefinition } from "../../domain/connector/Entity.js"
import type { ActionAnswer } from "../../domain/connector/request/ActionAnswer.js"
import { pageItems } from "../../domain/connector/request/Pagination.js"
import { answerSteps, StepBudget } from "../../domain/expression/StepBudget.js"
import { type Failure, invalid, ProviderTimedOut } from "../../domain/Failure.js"
import { canonicalJson, type Json } from "../../domain/Json.js"
import { makeActionCalls, retriesOf } from "../ActionCalls.js"
import { type AnswerHolding, HeldBytes, holdAnswers } from "../ports/HeldBytes.js"
import { AccountEntities, type AccountQuery } from "../ports/unified/AccountEntities.js"
import { RecordCallFailed } from "../ports/unified/UnifiedRecords.js"
import { unsupportedOperation } from "./OpenEntity.js"
import { ShareOwners } from "../ports/organisation/ShareOwners.js"

/** The calls that are made at once, the most pages of one description, and the longest time of all. */
const concurrency = 3
const maxPages = 4
const longest = Duration.seconds(40)

type Described = EntityDefinition & { readonly describe: NonNullable<EntityDefinition["describe"]> }

const isDescribed = (entity: EntityDefinition): entity is Described => entity.describe !== undefined

export const layer = Layer.effect(
  AccountEntities,
  Effect.gen(function* () {
    const ledger = yield* HeldBytes
    const shareOwners = yield* ShareOwners
    const callAction = yield* makeActionCalls

    const call = ({ connection, definition, organisationId }: AccountQuery, action: ActionDefinition, args: Json) =>
      callAction({
        organisationId,
        connection,
        executionId: null,
        definition,
        action,
        args,
        idempotencyKey: "",
        retries: retriesOf(action)
      }).pipe(
        Effect.mapError((failed): Failure | RecordCallFailed =>
          failed._tag === "InvalidArguments"
            ? invalid(
                failed.path,
                "INVALID_VALUE",
                `${failed.message} (arguments of ${definition.slug}.${action.name})`
              )
            : new RecordCallFailed({ connector: definition.slug, action: action.name, failed })
        )
      )

    /** The pages of an action's answer, as far as they are shown. */
    const pagesOf = Effect.fnUntraced(function* (
      query: AccountQuery,
      { args = {}, action: name }: Described["describe"]
    ): Effect.fn.Return<
      { readonly results: ReadonlyArray<Json>; readonly hasMore: boolean },
      Failure | RecordCallFailed,
      AnswerHolding
    > {
      const action = findAction(query.definition, name)
      if (action === undefined)
        return yield* unsupportedOperation(`the connector ${query.definition.slug} has no action ${name}`)
      const results: Array<Json> = []
      let next: Json | null = args
      let items = 0
      while (next !== null && results.length < maxPages && items <= maxAccountFields) {
        const answer: Pick<ActionAnswer, "exact" | "next"> = yield* call(query, action, next)
        results.push(answer.exact)
        items += pageItems(action, answer.exact).length
        next = answer.next
      }
      return { results, hasMore: next !== null }
    })

    const describe = Effect.fn("unified.describe")(function* (
      query: AccountQuery
    ): Effect.fn.Return<ReadonlyMap<string, AccountEntity>, Failure | RecordCallFailed, AnswerHolding> {
      const described = query.entities.filter(isDescribed)
      const keyOf = ({ describe: { action, args = {} } }: Described) => canonicalJson([action, args])
      const calls = new Map(described.map((entity) => [keyOf(entity), entity.describe]))
      const answers = new Map(
        yield* Effect.forEach(
          calls,
          ([key, one]) => Effect.map(pagesOf(query, one), (pages) => [key, pages] as const),
          {
            concurrency
          }
        )
      )
      const found = new Map<string, AccountEntity>()
      for (const entity of described) {
        const answer = answers.get(keyOf(entity))
        if (answer === undefined) continue
        const one = accountEntity(entity.describe, answer.results, new StepBudget(answerSteps))
        found.set(entity.name, { ...one, isComplete: one.isComplete && !answer.hasMore })
        yield* Effect.yieldNow()
      }
      return found
    })

    return AccountEntities.of({
      describe: (query) =>
        Effect.flatMap(shareOwners.of(query.organisationId), (owner) =>
          holdAnswers(ledger, owner, describe(query))
        ).pipe(
          Effect.timeoutFail({
            duration: longest,
            onTimeout: () =>
              new ProviderTimedOut({
                connector: query.definition.slug,
                message: `the account was not described within ${Duration.toSeconds(longest)} s: name fewer entities`
              })
          })
        )
    })
  })
)
