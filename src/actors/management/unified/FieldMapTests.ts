/**
 * The use case that tests a field map on a sample or on a live record. It stores nothing, and computes where a deadline ends
 * it. Contract: unified API, field maps.
 */
import { Effect } from "effect"
import { triggerEnvironment } from "../../../domain/organisation/Environment.js"
import { type Failure, invalid, refuseWith, ValidationFailed } from "../../../domain/Failure.js"
import { effectivePairs, type MapOverride, withOverride } from "../../../domain/mapping/EffectiveMap.js"
import type { FieldMapOverride } from "../../../domain/mapping/FieldMapRecord.js"
import { brokenPairs } from "../../../domain/mapping/inspect/BrokenPairs.js"
import type { FieldMapTest, TestFieldMap } from "../../../domain/mapping/inspect/MapTest.js"
import { findModel } from "../../../domain/model/Models.js"
import { Computations, tooCostlyDetail } from "../../ports/Computations.js"
import type { Tx } from "../../ports/Records.js"
import { FieldMapReads } from "../../ports/unified/FieldMapReads.js"
import { type RecordSample, type RecordUser, UnifiedRecords } from "../../ports/unified/UnifiedRecords.js"
import type { CallContext } from "../CallContext.js"
import { missingPermission, outOfScope } from "../Caller.js"
import { Changes } from "../Changes.js"
import { findLivingConnection } from "../connection/ConnectionRecords.js"
import { customerOfBody } from "../organisation/CustomerRecords.js"
import { findOverride } from "./FieldMaps.js"
import { HeldBytes, holdAnswers } from "../../ports/HeldBytes.js"
import { answerRecordFailures } from "./ProviderFailures.js"
import { makeServedMaps } from "./ServedMaps.js"
import { ownerOfAccount } from "../../../domain/share/ShareOwner.js"

/** The longest wait for a provider's rate limit, in milliseconds. */
const patienceMillis = 5_000

type Live = NonNullable<TestFieldMap["live"]>
type TestedRecord = Omit<RecordSample, "connectionId"> & { readonly connectionId: string | null }

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const { compute } = yield* Computations
  const records = yield* UnifiedRecords
  const ledger = yield* HeldBytes
  const reads = yield* FieldMapReads
  const findMap = yield* makeServedMaps

  /** The pairs of the draft, or of a published version. */
  const testedOverride = Effect.fnUntraced(function* (
    tx: Tx,
    { customerId, dropped, fields, fieldsOut, id }: FieldMapOverride,
    number: number | undefined
  ): Effect.fn.Return<MapOverride, Failure> {
    const level = customerId === null ? ("organisation" as const) : ("customer" as const)
    const origin = { level, fieldMapId: id, version: number ?? null }
    if (number === undefined) return { origin, fields, dropped, fieldsOut }
    const [found] = yield* tx.fieldMapVersions.list({ where: { fieldMapId: id, number }, limit: 1 })
    return found === undefined
      ? yield* invalid("number", "NOT_FOUND", "names no version of this field map")
      : { origin, fields: found.fields, dropped: found.dropped, fieldsOut: found.fieldsOut }
  })

  /** The sample with the map of the connector's published version. */
  const ofSample = Effect.fnUntraced(function* (
    { caller: { organisationId } }: CallContext,
    { connector, customerId, entity: name, model }: FieldMapOverride,
    override: MapOverride,
    sample: NonNullable<TestFieldMap["sample"]>
  ): Effect.fn.Return<TestedRecord, Failure> {
    const { definition, entity, map } = yield* findMap(organisationId, { connector, model, entity: name })
    const published = yield* reads.published({ organisationId, customerId, connector, entity: name, model })
    const overrides = withOverride(published, override)
    return { connectionId: null, definition, entity, map, overrides, locale: "en", record: sample }
  })

  /** Whose connection a live record is read through: the caller must be allowed to read records with it. */
  const userOf = Effect.fnUntraced(function* (
    context: CallContext,
    field: FieldMapOverride,
    { connectionId, customerId: named }: Live
  ): Effect.fn.Return<{ readonly user: RecordUser; readonly connection: string | null }, Failure> {
    const { caller } = context
    yield* refuseWith(missingPermission(caller, "unified_api:read"))
    const [connection, customerId] = yield* read(context, function* (tx) {
      const found = connectionId === undefined ? undefined : yield* findLivingConnection(tx, context, connectionId)
      const customer = named === undefined ? field.customerId : yield* customerOfBody(tx, caller, named)
      return [found, found?.customerId ?? customer] as const
    })
    if (connection !== undefined && connection.connector !== field.connector)
      return yield* invalid("live.connectionId", "INVALID_VALUE", `must be a connection to ${field.connector}`)
    if (customerId === null)
      return yield* invalid("live.customerId", "REQUIRED", "is required, or connectionId: whose record is read")
    if (field.customerId !== null && field.customerId !== customerId)
      return yield* invalid("live", "INVALID_VALUE", "must be of the customer that the field map is for")
    context.customerId = customerId
    return {
      connection: connection?.id ?? null,
      user: {
        organisationId: caller.organisationId,
        spaceId: caller.spaceId,
        customerId,
        userId: connection?.userId ?? null,
        allowed: null,
        workflowId: null,
        installationId: null,
        environment: triggerEnvironment,
        refuses: (type, id) => outOfScope(caller, type, id),
        executionId: null,
        patienceMillis
      }
    }
  })

  const ofLive = Effect.fnUntraced(function* (
    context: CallContext,
    field: FieldMapOverride,
    override: MapOverride,
    live: Live
  ): Effect.fn.Return<TestedRecord, Failure> {
    const model = findModel(field.model)
    if (model === undefined) return yield* invalid("model", "UNKNOWN_NAME", "is no model of this release")
    const { connection, user } = yield* userOf(context, field, live)
    const sampled = records.sample(
      user,
      { model, connection, provider: field.connector },
      { entity: field.entity, recordId: live.recordId ?? null, override }
    )
    return yield* holdAnswers(ledger, ownerOfAccount(context.caller), answerRecordFailures(sampled))
  })

  const test = Effect.fnUntraced(function* (
    context: CallContext,
    id: string,
    { live, number, sample }: TestFieldMap
  ): Effect.fn.Return<FieldMapTest, Failure> {
    const { field, override } = yield* read(context, function* (tx) {
      const found = yield* findOverride(tx, context, id)
      return { field: found, override: yield* testedOverride(tx, found, number) }
    })
    if ((sample === undefined) === (live === undefined))
      return yield* invalid("sample", "REQUIRED", "is required, or live, and only one of them")
    const tested =
      sample === undefined
        ? yield* ofLive(context, field, override, live ?? {})
        : yield* ofSample(context, field, override, sample)
    const { connectionId, definition, entity, locale, map, overrides, record } = tested
    const place = sample === undefined ? "live" : "sample"
    const pairs = effectivePairs(map, overrides)
    const traced = yield* compute("traceMap", context.caller.organisationId, {
      entity,
      model: map.model.name,
      pairs,
      locale,
      record
    }).pipe(
      Effect.catchTag("TooCostly", (error) =>
        Effect.succeed({ ok: false as const, mistakes: [tooCostlyDetail(place, error)] })
      )
    )
    if (!traced.ok) {
      const details = traced.mistakes.map((one) => ({ ...one, path: place }))
      return yield* new ValidationFailed({
        code: "VALIDATION_FAILED",
        message: details.map(({ message, path }) => `${path} ${message}`).join("; "),
        details
      })
    }
    return {
      connector: definition.slug,
      connectorVersion: definition.version,
      connectionId,
      provider: record,
      ...traced.value,
      broken: brokenPairs(entity, map, overrides)
    }
  })

  return { test }
})

/** Tests field maps. */
export class FieldMapTests extends Effect.Service<FieldMapTests>()("svc/FieldMapTests", { effect: make }) {}
