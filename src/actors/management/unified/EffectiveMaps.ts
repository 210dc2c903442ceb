/** The use case that shows the map in force: who wrote each pair, what it loses, and which overrides are broken. */
import { Effect, Schema } from "effect"
import type { EntityDefinition } from "../../../domain/connector/Entity.js"
import type { EntityMap } from "../../../domain/connector/EntityMaps.js"
import { type Failure, invalid, refuseWith } from "../../../domain/Failure.js"
import type { CustomerId, OrganisationId } from "../../../domain/Ids.js"
import { coverageOf } from "../../../domain/mapping/Coverage.js"
import { type EffectivePairs, effectivePairs } from "../../../domain/mapping/EffectiveMap.js"
import type { FieldMap } from "../../../domain/mapping/FieldMap.js"
import type { EffectiveFieldMap } from "../../../domain/mapping/FieldMapRecord.js"
import { brokenPairs } from "../../../domain/mapping/inspect/BrokenPairs.js"
import { Computations, tooCostlyDetail } from "../../ports/Computations.js"
import { FieldMapReads } from "../../ports/unified/FieldMapReads.js"
import type { CallContext } from "../CallContext.js"
import { outOfScope } from "../Caller.js"
import { Changes } from "../Changes.js"
import { customerOfBody } from "../organisation/CustomerRecords.js"
import { optionalText } from "../Pages.js"
import { makeServedMaps } from "./ServedMaps.js"

/** Which map is shown. */
export const EffectiveParams = Schema.Struct({
  connector: Schema.String,
  model: Schema.String,
  entity: optionalText,
  customer_id: optionalText
})
type EffectiveParams = typeof EffectiveParams.Type

/** Whether a common path is that of a pair, or of one of its items. */
const isOf = ({ items, to }: FieldMap, path: string): boolean =>
  path === to || (items !== undefined && path.startsWith(`${to}[*]`))

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const { compute } = yield* Computations
  const findMap = yield* makeServedMaps
  const reads = yield* FieldMapReads

  const losses = (
    organisation: OrganisationId,
    entity: EntityDefinition,
    { model }: EntityMap,
    { fields, fieldsOut }: EffectivePairs
  ) =>
    compute("mapLosses", organisation, [
      {
        entity,
        model: model.name,
        fields: fields.map(({ pair }) => pair),
        fieldsOut: fieldsOut.map(({ pair }) => pair)
      }
    ]).pipe(
      Effect.map(([found = []]) => found),
      Effect.catchTag("TooCostly", (error) => {
        const { code, message, path } = tooCostlyDetail("model", error)
        return invalid(path, code, message)
      })
    )

  /** The map in force for a customer, or for the organisation. */
  const effective = Effect.fnUntraced(function* (
    context: CallContext,
    { connector, customer_id: customer, entity: named, model }: EffectiveParams
  ): Effect.fn.Return<EffectiveFieldMap, Failure> {
    const { caller } = context
    yield* refuseWith(outOfScope(caller, "connector", connector))
    const customerId: CustomerId | null =
      customer === undefined || customer === ""
        ? null
        : yield* read(context, (tx) => customerOfBody(tx, caller, customer))
    const { definition, entity, map } = yield* findMap(caller.organisationId, {
      connector,
      model,
      entity: named === "" ? undefined : named
    })
    const overrides = yield* reads.published({
      organisationId: caller.organisationId,
      customerId,
      connector: definition.slug,
      entity: entity.name,
      model: map.model.name
    })
    const pairs = effectivePairs(map, overrides)
    const lossy = yield* losses(caller.organisationId, entity, map, pairs)
    return {
      connector: definition.slug,
      connectorVersion: definition.version,
      entity: entity.name,
      model: map.model.name,
      customerId,
      fields: pairs.fields.map((one) => ({ ...one, lossy: lossy.filter(({ path }) => isOf(one.pair, path)) })),
      fieldsOut: pairs.fieldsOut,
      lossy,
      ...coverageOf(
        map.model,
        pairs.fields.map(({ pair }) => pair)
      ),
      broken: brokenPairs(entity, map, overrides)
    }
  })

  return { effective }
})

/** Shows maps in force. */
export class EffectiveMaps extends Effect.Service<EffectiveMaps>()("svc/EffectiveMaps", { effect: make }) {}
