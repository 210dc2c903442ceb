/** Use cases of overrides of field maps: change a draft, publish, roll back. Contract: unified API. */
import { Effect } from "effect"
import { didYouMean } from "../../../domain/ClosestName.js"
import { mistakeUnless } from "../../../domain/expression/Checks.js"
import { invalid, PlanLimitReached, refusalOf, refuseWith } from "../../../domain/Failure.js"
import type { FieldMapId } from "../../../domain/Ids.js"
import { effectivePairs } from "../../../domain/mapping/EffectiveMap.js"
import {
  type CreateFieldMap,
  fieldMapLimit,
  FieldMapOverride,
  type FieldMapVersion,
  type PublishFieldMap,
  type UpdateFieldMap
} from "../../../domain/mapping/FieldMapRecord.js"
import { overrideMistakes } from "../../../domain/mapping/inspect/BrokenPairs.js"
import { nextVersion } from "../../../domain/Record.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import { FieldMapReads } from "../../ports/unified/FieldMapReads.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { outOfScope, type Principal, scopedIds } from "../Caller.js"
import { Changes } from "../Changes.js"
import { customerOfBody, sharedListFilter } from "../organisation/CustomerRecords.js"
import { listQuery, optionalText, Pages } from "../Pages.js"
import { findReached } from "../ReachedRecord.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"
import { noteFieldMap } from "./MapRevisions.js"
import { makeServedMaps, type ServedMap } from "./ServedMaps.js"

export const FieldMapList = listQuery({ customer_id: optionalText, connector: optionalText, model: optionalText })
type FieldMapList = typeof FieldMapList.Type

/** The most versions that are listed. */
const mostVersions = 200

const resourceOf = ({ customerId, id, name }: FieldMapOverride) => ({ id, name, customerId })

/** The override with this id, if the caller reaches it. */
export const findOverride = (tx: Tx, { caller }: CallContext, id: string, isLocked = false) =>
  findReached(tx.fieldMaps, caller, "field map", { id: id as FieldMapId }, isLocked).pipe(
    Effect.tap(({ connector }) => refuseWith(outOfScope(caller, "connector", connector)))
  )

const versionView = ({ dropped, fields, fieldsOut, notes, number, publishedAt, publishedBy }: FieldMapVersion) => ({
  number,
  fields,
  dropped,
  fieldsOut,
  notes,
  publishedAt,
  publishedBy
})

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers
  const findMap = yield* makeServedMaps
  const reads = yield* FieldMapReads

  /** The members that an override can drop: those of the connector's map, and for a customer those of the organisation's. */
  const targetsBelow = ({ definition, entity, map }: ServedMap, { customerId, organisationId }: FieldMapOverride) =>
    customerId === null
      ? Effect.succeed(map.fields.map(({ to }) => to))
      : Effect.map(
          reads.published({
            organisationId,
            customerId: null,
            connector: definition.slug,
            entity: entity.name,
            model: map.model.name
          }),
          (overrides) => effectivePairs(map, overrides).fields.map(({ pair }) => pair.to)
        )

  const check = Effect.fnUntraced(function* (served: ServedMap, override: FieldMapOverride) {
    const targets = yield* targetsBelow(served, override)
    const known = new Set(targets)
    const stray = override.dropped.findIndex((to) => !known.has(to))
    // One is told at a time: a suggestion for each would compare all with all.
    const dropped = mistakeUnless(
      stray < 0,
      `dropped[${stray}]`,
      "UNKNOWN_NAME",
      `is not filled by the map below.${stray < 0 ? "" : didYouMean(override.dropped[stray] ?? "", targets)}`
    )
    yield* refuseWith(refusalOf([...overrideMistakes(served.entity, served.map, override), ...dropped]))
  })

  const list = (context: CallContext, params: FieldMapList) =>
    read(context, function* (tx) {
      const slugs = scopedIds(context.caller, "connector")
      const wanted = params.connector || undefined
      return yield* pages.views(
        tx.fieldMaps,
        params,
        {
          where: {
            ...(yield* sharedListFilter(tx, context.caller, params.customer_id)),
            ...(slugs === undefined ? {} : { connector: slugs.filter((one) => wanted === undefined || one === wanted) })
          },
          filters: { ...(slugs === undefined ? { connector: wanted } : {}), model: params.model || undefined },
          searchIn: ["name", "connector"]
        },
        (one) => FieldMapOverride.show(one)
      )
    })

  const get = (context: CallContext, id: string) =>
    read(context, (tx) => Effect.map(findOverride(tx, context, id), (found) => FieldMapOverride.show(found)))

  const create = (context: CallContext, input: CreateFieldMap) =>
    change(context, function* (tx) {
      const { caller } = context
      yield* refuseWith(outOfScope(caller, "connector", input.connector))
      const served = yield* findMap(caller.organisationId, input)
      const { customerId: named = null } = input
      const customerId = named === null ? null : yield* customerOfBody(tx, caller, named)
      yield* tx.lockKey("field_maps")
      const used = yield* tx.fieldMaps.count({})
      if (used >= fieldMapLimit)
        return yield* new PlanLimitReached({ dimension: "field_maps", limit: fieldMapLimit, used })
      const made = FieldMapOverride.create(
        { ...input, customerId },
        { id: identifiers.next("fmp"), organisationId: caller.organisationId },
        yield* currentTimestamp
      )
      yield* check(served, made)
      yield* tx.fieldMaps.insert(made)
      const value = FieldMapOverride.show(made)
      return { value, resource: resourceOf(made), after: value }
    })

  const update = (context: CallContext, id: string, input: UpdateFieldMap) =>
    change(context, function* (tx) {
      const before = yield* findOverride(tx, context, id, true)
      yield* checkVersion(context, input.version, before.version)
      const shown = FieldMapOverride.show(before)
      const changes = yield* pickChanges(FieldMapOverride.Update, input, shown)
      const after = FieldMapOverride.change(before, changes, yield* currentTimestamp)
      yield* check(yield* findMap(context.caller.organisationId, before), after)
      yield* tx.fieldMaps.update(after)
      const value = FieldMapOverride.show(after)
      return { value, resource: resourceOf(after), before: shown, after: value }
    })

  const remove = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const before = yield* findOverride(tx, context, id, true)
      yield* checkVersion(context, undefined, before.version)
      yield* tx.fieldMaps.remove({ id: before.id })
      if (before.published !== null) yield* noteFieldMap(tx, before, null, yield* currentTimestamp)
      return { value: undefined, resource: resourceOf(before), before: FieldMapOverride.show(before) }
    })

  const versions = (context: CallContext, id: string) =>
    read(context, function* (tx) {
      const { id: fieldMapId } = yield* findOverride(tx, context, id)
      const found = yield* tx.fieldMapVersions.list({ where: { fieldMapId }, limit: mostVersions })
      return found.map(versionView)
    })

  /** Freezes the draft as the next version, or puts an earlier version in force again. */
  const publish = (context: CallContext, id: string, input: PublishFieldMap) =>
    change(context, function* (tx) {
      const before = yield* findOverride(tx, context, id, true)
      yield* checkVersion(context, undefined, before.version)
      const now = yield* currentTimestamp
      const number =
        input.number === undefined
          ? yield* freeze(tx, context.caller, before, input.notes ?? null, now)
          : yield* known(tx, before, input.number)
      const after = { ...before, published: number, ...nextVersion(before, now) }
      yield* tx.fieldMaps.update(after)
      yield* noteFieldMap(tx, after, number, now)
      const value = FieldMapOverride.show(after)
      return { value, resource: resourceOf(after), before: FieldMapOverride.show(before), after: value }
    })

  const freeze = Effect.fnUntraced(function* (
    tx: Tx,
    { id, organisationId }: Principal,
    override: FieldMapOverride,
    notes: string | null,
    now: string
  ) {
    yield* check(yield* findMap(organisationId, override), override)
    const { dropped, fields, fieldsOut, id: fieldMapId } = override
    const number = (yield* tx.fieldMapVersions.count({ fieldMapId })) + 1
    yield* tx.fieldMapVersions.insert({
      fieldMapId,
      number,
      organisationId,
      fields,
      dropped,
      fieldsOut,
      notes,
      publishedAt: now,
      publishedBy: id
    })
    return number
  })

  const known = Effect.fnUntraced(function* (tx: Tx, { id }: FieldMapOverride, number: number) {
    const count = yield* tx.fieldMapVersions.count({ fieldMapId: id, number })
    return count > 0 ? number : yield* invalid("number", "NOT_FOUND", "names no version of this field map")
  })

  return { list, get, create, update, remove, versions, publish }
})

export class FieldMaps extends Effect.Service<FieldMaps>()("svc/FieldMaps", { effect: make }) {}
