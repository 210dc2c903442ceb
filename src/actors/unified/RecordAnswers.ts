/** Common records in the form in which callers get them. Contract: unified API. */
import { Effect } from "effect"
import type { EntityPlan } from "../../domain/connector/EntityPlan.js"
import { refusalOf, refuseWith, type ValidationFailed } from "../../domain/Failure.js"
import type { Json, JsonObject } from "../../domain/Json.js"
import type { BrokenPair } from "../../domain/mapping/FieldMapRecord.js"
import { MapCost } from "../../domain/mapping/MapCost.js"
import { type ReadWarning, readRecord } from "../../domain/mapping/RecordReading.js"
import type { Model } from "../../domain/model/FieldType.js"
import { unknownMember } from "../../domain/model/ModelPath.js"
import type { RecordForm, RecordWarning } from "../ports/unified/UnifiedRecords.js"
import { checkCost, inSlices } from "../SlicedWork.js"

/** The most unknown members that are told at once. */
const maxMistakes = 20
/** The most warnings of an answer. */
const maxWarnings = 100

/** A record with what could not be read of it. */
export interface AnsweredRecord {
  readonly record: JsonObject
  readonly warnings: ReadonlyArray<RecordWarning>
}

/** Fails unless the model has all members that are asked for. */
export const checkFields = (
  { fields, name }: Model,
  { fields: wanted }: Pick<RecordForm, "fields">
): Effect.Effect<void, ValidationFailed> =>
  refuseWith(
    refusalOf(
      (wanted ?? [])
        .filter((one) => !Object.hasOwn(fields, one))
        .slice(0, maxMistakes)
        .map((one) => ({
          path: "fields",
          code: "UNKNOWN_NAME",
          message: unknownMember(name, one, Object.keys(fields))
        }))
    )
  )

/** Reads a provider's record as the caller gets it, without leaving members out. */
export const answerRecord = (
  { entity, model, reading }: EntityPlan,
  connector: string,
  raw: JsonObject,
  cost: MapCost = new MapCost()
): Effect.Effect<AnsweredRecord, ValidationFailed> =>
  Effect.flatMap(inSlices(readRecord(reading, raw, cost)), ({ record, warnings }) => {
    const remoteId = record["id"] ?? null
    const id = typeof remoteId === "string" && entity.variant !== undefined ? `${entity.variant}:${remoteId}` : remoteId
    const own: JsonObject = model.name.includes(".")
      ? { id, remoteId: record["remoteId"] ?? remoteId }
      : {
          ...(Object.hasOwn(model.fields, "id") ? { id } : {}),
          remote: { connector, id, updatedAt: record["updatedAt"] ?? null }
        }
    const answered = { record: { ...record, ...own }, warnings: warnings.map((one) => warningOf(id, one)) }
    return Effect.as(checkCost(cost), answered)
  })

const warningOf = (id: Json, { code, message, path }: ReadWarning): RecordWarning => ({
  record: typeof id === "string" ? id : null,
  path,
  code,
  message
})

/** The warnings of overrides that the connector's version broke: what they say of records is missing. */
export const brokenWarnings = (broken: ReadonlyArray<BrokenPair>): ReadonlyArray<RecordWarning> =>
  broken.map(({ fieldMapId, message, path }) => ({
    record: null,
    path: `fieldMaps.${fieldMapId}.${path}`,
    code: "BROKEN_FIELD_MAP",
    message
  }))

/** The record with the members that the caller wants. */
export const withForm = (
  record: JsonObject,
  raw: JsonObject | null,
  { fields, isRawIncluded }: RecordForm
): JsonObject => {
  const shown =
    fields === null
      ? record
      : Object.fromEntries(Object.entries(record).filter(([name]) => name === "id" || fields.includes(name)))
  return isRawIncluded ? { ...shown, raw } : shown
}

/** The warnings that are told; a strict caller is refused them. */
export const tellWarnings = (
  warnings: ReadonlyArray<RecordWarning>,
  { isStrict }: RecordForm
): Effect.Effect<ReadonlyArray<RecordWarning>, ValidationFailed> =>
  Effect.as(
    isStrict
      ? refuseWith(
          refusalOf(
            warnings.slice(0, maxWarnings).map(({ code, message, path, record }) => ({
              path: record === null ? path : `${record}.${path}`,
              code,
              message
            }))
          )
        )
      : Effect.void,
    warnings.slice(0, maxWarnings)
  )
