/** Reads a provider's record to test a map on: by its id, or the first of the list. Contract: unified API, field maps. */
import { Effect } from "effect"
import { actionsOf } from "../../domain/connector/Entity.js"
import { mapsOf } from "../../domain/connector/EntityMaps.js"
import { entityPlan, isOfEntity } from "../../domain/connector/EntityPlan.js"
import { pageItems } from "../../domain/connector/request/Pagination.js"
import { type Failure, invalid } from "../../domain/Failure.js"
import { isObject } from "../../domain/Json.js"
import { effectivePairs, withOverride } from "../../domain/mapping/EffectiveMap.js"
import type { AnswerHolding } from "../ports/HeldBytes.js"
import { FieldMapReads } from "../ports/unified/FieldMapReads.js"
import type {
  RecordCallFailed,
  RecordSample,
  RecordTarget,
  RecordUser,
  SampleQuery
} from "../ports/unified/UnifiedRecords.js"
import { Entities, localeOf, unsupportedOperation } from "./OpenEntity.js"
import { answeredRecord, ProviderOperations } from "./ProviderOperations.js"

export const makeRecordSamples = Effect.gen(function* () {
  const { open } = yield* Entities
  const { run } = yield* ProviderOperations
  const fieldMaps = yield* FieldMapReads

  const sample = Effect.fn("unified.sample")(function* (
    user: RecordUser,
    target: RecordTarget,
    { entity: name, override, recordId }: SampleQuery
  ): Effect.fn.Return<RecordSample, RecordCallFailed | Failure, AnswerHolding> {
    const { model } = target
    const opened = yield* open(user, target, recordId === null ? "list" : "get", null)
    const entity = opened?.definition.entities.find((one) => one.name === name)
    const map = entity === undefined ? undefined : mapsOf(entity).find((one) => one.model.name === model.name)
    if (opened === null || entity === undefined || map === undefined)
      return yield* unsupportedOperation(`the connection's version of the connector has no ${name} of ${model.name}`)
    const { connection, definition } = opened
    const operation = recordId === null ? "read" : "get"
    if (actionsOf(entity, operation).length === 0)
      return yield* unsupportedOperation(`the connector ${definition.slug} cannot ${operation} ${name}: send a sample`)
    const published = yield* fieldMaps.published({
      organisationId: user.organisationId,
      customerId: connection.customerId,
      connector: definition.slug,
      entity: name,
      model: model.name
    })
    const overrides = withOverride(published, override)
    const { fields, fieldsOut } = effectivePairs(map, overrides)
    const locale = localeOf(connection)
    const plan = entityPlan(
      entity,
      model,
      { fields: fields.map(({ pair }) => pair), fieldsOut: fieldsOut.map(({ pair }) => pair) },
      locale
    )
    const { action, result } = yield* run(user, {
      open: opened,
      plan,
      operation,
      scope: {
        query: {
          // Of a list that it shares with others the entity has some.
          pageSize: entity.where === undefined ? 1 : sharedPage,
          fields: [...plan.providerFields],
          fieldList: plan.providerFields.join(","),
          modifiedAfter: null,
          createdAfter: null
        },
        id: remoteIdOf(entity.variant, recordId),
        record: null,
        before: null
      },
      idempotencyKey: ""
    })
    const found =
      recordId === null
        ? (pageItems(action, result).find((one) => isObject(one) && isOfEntity(entity, one)) ?? null)
        : answeredRecord(plan, result)
    if (!isObject(found))
      return yield* invalid(
        recordId === null ? "live" : "live.recordId",
        "NOT_FOUND",
        recordId === null ? `finds no ${name} in the account: send a sample` : "names no record of the account"
      )
    return { connectionId: connection.id, definition, entity, map, overrides, locale, record: found }
  })

  return { sample }
})

/** The size of the page in which a record of an entity is looked for that shares its list with others. */
const sharedPage = 50

/** The provider's id in the id of a record whose entity is one of several. */
const remoteIdOf = (variant: string | undefined, id: string | null): string | null =>
  variant !== undefined && id?.startsWith(`${variant}:`) === true ? id.slice(variant.length + 1) : id
