/**
 * Reads, creates, changes and deletes single records at a provider. A change sends only what differs from the record as it is.
 * Contract: unified API.
 */
import { Effect } from "effect"
import { actionsOf, type EntityOperation, operationOf } from "../../domain/connector/Entity.js"
import { type EntityPlan, isOfEntity } from "../../domain/connector/EntityPlan.js"
import { untakenMistakes } from "../../domain/connector/request/UntakenMembers.js"
import {
  Conflict,
  type Failure,
  invalid,
  NotFound,
  refusalOf,
  refuseWith,
  type ValidationFailed,
  versionMismatch
} from "../../domain/Failure.js"
import { canonicalJson, isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { sourcePaths } from "../../domain/mapping/CompiledPair.js"
import { isSameJson, writeChange, writeNewRecord } from "../../domain/mapping/RecordWriting.js"
import type { Verb } from "../../domain/model/FieldType.js"
import { checkWritten } from "../../domain/model/WrittenRecord.js"
import { Digests } from "../ports/Digests.js"
import { Faults, withFaultPoints } from "../ports/Faults.js"
import { Identifiers } from "../ports/Identifiers.js"
import type { AnswerHolding } from "../ports/HeldBytes.js"
import type {
  FoundRecord,
  RecordCallFailed,
  RecordForm,
  RecordMeta,
  RecordTarget,
  RecordUser,
  RecordWarning,
  WriteOptions
} from "../ports/unified/UnifiedRecords.js"
import { WriteIntents } from "../ports/unified/WriteIntents.js"
import { Entities, type OpenEntity, unsupportedOperation } from "./OpenEntity.js"
import { answeredRecord, lastAction, ProviderOperations } from "./ProviderOperations.js"
import { answerRecord, brokenWarnings, checkFields, tellWarnings, withForm } from "./RecordAnswers.js"

/** A record as the provider has it, and as callers see it. */
interface ReadRecord {
  readonly raw: JsonObject
  readonly record: JsonObject
  readonly warnings: ReadonlyArray<RecordWarning>
}

/** An entity with the variant that a request is about. */
interface OpenVariant {
  readonly opened: OpenEntity
  readonly plan: EntityPlan
}

const plainForm: RecordForm = { fields: null, isRawIncluded: false, isStrict: false }

/** What actions that answer a record are asked for. */
const fieldQuery = ({ providerFields }: EntityPlan): JsonObject => ({
  fields: [...providerFields],
  fieldList: providerFields.join(",")
})

/** A merge patch of one level of objects and below: null clears, lists are replaced whole. */
const mergePatch = (before: Json, patch: Json): Json => {
  if (!isObject(patch)) return patch
  const merged = isObject(before) ? { ...before } : {}
  return {
    ...merged,
    ...Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, mergePatch(merged[name] ?? null, value)]))
  }
}

export const makeRecordWrites = Effect.gen(function* () {
  const { open } = yield* Entities
  const { run } = yield* ProviderOperations
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const intents = yield* WriteIntents
  const faults = yield* Faults
  const clock = yield* Effect.clock
  /** The time in RFC 3339. */
  const timestamp = () => new Date(clock.unsafeCurrentTimeMillis()).toISOString()

  const fingerprint = (record: JsonObject) => digests.sha256Hex(canonicalJson(record)).slice(0, 32)

  const openFor = (user: RecordUser, target: RecordTarget, verb: Verb): Effect.Effect<OpenEntity, Failure> =>
    Effect.flatMap(open(user, target, verb, null), (opened) =>
      // Without pins there is always one.
      opened === null ? unsupportedOperation(`${target.model.name} cannot be read`) : Effect.succeed(opened)
    )

  /** The variant that an id names; an id of another form belongs to no record. */
  const variantOf = (
    opened: OpenEntity,
    target: RecordTarget,
    id: string
  ): Effect.Effect<OpenVariant & { readonly remoteId: string }, NotFound> => {
    for (const plan of opened.plans) {
      const { variant } = plan.entity
      if (variant === undefined) return Effect.succeed({ opened, plan, remoteId: id })
      if (id.startsWith(`${variant}:`)) return Effect.succeed({ opened, plan, remoteId: id.slice(variant.length + 1) })
    }
    return Effect.fail(new NotFound({ what: target.model.name }))
  }

  const supports = ({ plan, opened }: OpenVariant, verb: Verb): Effect.Effect<void, ValidationFailed> =>
    actionsOf(plan.entity, operationOf(verb)).length > 0
      ? Effect.void
      : unsupportedOperation(`the connector ${opened.definition.slug} has no ${verb} of ${plan.model.name}`)

  const notFoundOf =
    (what: string) =>
    (failed: RecordCallFailed | Failure): RecordCallFailed | Failure =>
      failed._tag === "RecordCallFailed" &&
      failed.failed._tag === "ProviderRefused" &&
      (failed.failed.failure.status === 404 || failed.failed.failure.status === 410)
        ? new NotFound({ what })
        : failed

  const read = (
    user: RecordUser,
    { opened, plan }: OpenVariant,
    remoteId: string
  ): Effect.Effect<ReadRecord, RecordCallFailed | Failure, AnswerHolding> =>
    run(user, {
      open: opened,
      plan,
      operation: "get",
      scope: { query: fieldQuery(plan), id: remoteId, record: null, before: null },
      idempotencyKey: ""
    }).pipe(
      Effect.mapError(notFoundOf(plan.model.name)),
      Effect.flatMap(({ result }): Effect.Effect<ReadRecord, Failure> => {
        const raw = answeredRecord(plan, result)
        return raw === null || !isOfEntity(plan.entity, raw)
          ? new NotFound({ what: plan.model.name })
          : Effect.map(answerRecord(plan, opened.definition.slug, raw), (answered) => ({ raw, ...answered }))
      })
    )

  const metaOf = ({ connection, definition }: OpenEntity, warnings: ReadonlyArray<RecordWarning>): RecordMeta => ({
    provider: definition.slug,
    connectionId: connection.id,
    fetchedAt: timestamp(),
    warnings
  })

  const answer = (
    opened: OpenEntity,
    { raw, record, warnings }: ReadRecord,
    form: RecordForm
  ): Effect.Effect<FoundRecord, ValidationFailed> =>
    Effect.map(tellWarnings([...brokenWarnings(opened.broken), ...warnings], form), (told) => ({
      record: withForm(record, raw, form),
      meta: { ...metaOf(opened, told), version: fingerprint(record) }
    }))

  const checkVersion = ({ expectedVersion }: WriteOptions, { record }: ReadRecord): Effect.Effect<void, Conflict> =>
    expectedVersion === null || expectedVersion === fingerprint(record) ? Effect.void : versionMismatch()

  // --- One record ---

  const get = Effect.fnUntraced(function* (user: RecordUser, target: RecordTarget, id: string, form: RecordForm) {
    yield* checkFields(target.model, form)
    const opened = yield* openFor(user, target, "get")
    const variant = yield* variantOf(opened, target, id)
    yield* supports(variant, "get")
    return yield* answer(opened, yield* read(user, variant, variant.remoteId), form)
  })

  // --- Writing ---

  const checked = (plan: EntityPlan, verb: "create" | "update", body: JsonObject, connector: string) =>
    Effect.suspend(() => {
      const { mistakes, value } = checkWritten(
        {
          model: plan.model,
          verb,
          writable: plan.writing.pairs.flatMap((pair) => [
            ...(pair.from === undefined ? [] : [pair.from]),
            ...sourcePaths(pair).map((path) => [path])
          ]),
          connector,
          constants: plan.reading.pairs.flatMap(({ default: value = null, from, to }) =>
            from === undefined && to.length === 1 ? [{ path: to[0] ?? [], value }] : []
          )
        },
        body
      )
      return Effect.as(refuseWith(refusalOf(mistakes)), value)
    })

  /** Lays the provider's own members over the record that the map gives. */
  const withRemoteFields = (
    { writing: { fieldsAt } }: EntityPlan,
    record: JsonObject,
    remote: JsonObject
  ): JsonObject => {
    if (Object.keys(remote).length === 0) return record
    const [at] = fieldsAt
    if (typeof at !== "string") return { ...record, ...remote }
    const inner = record[at]
    return { ...record, [at]: { ...(isObject(inner) ? inner : {}), ...remote } }
  }

  /** The record that a write answered; read again where the answer lacks what was written. */
  const written = Effect.fnUntraced(function* (
    user: RecordUser,
    variant: OpenVariant,
    { asked, knownId, result }: { asked: JsonObject; knownId: string | null; result: Json }
  ): Effect.fn.Return<ReadRecord, RecordCallFailed | Failure, AnswerHolding> {
    const { opened, plan } = variant
    const raw = answeredRecord(plan, result) ?? {}
    const answered = yield* answerRecord(plan, opened.definition.slug, raw)
    const remoteId = answered.record["remoteId"] ?? answered.record["id"] ?? knownId
    const lacks = Object.entries(asked).some(
      ([name, value]) =>
        value !== null &&
        (answered.record[name] ?? null) === null &&
        plan.reading.pairs.some(({ to }) => to[0]?.[0] === name)
    )
    const canRead = typeof remoteId === "string" && actionsOf(plan.entity, "get").length > 0
    if ((lacks || answered.record["id"] === null) && canRead) {
      const id = plan.entity.variant === undefined ? remoteId : remoteId.replace(`${plan.entity.variant}:`, "")
      return yield* Effect.orElse(read(user, variant, id), () =>
        // The record is written: that it cannot be read now is no failure of the write.
        Effect.succeed({ raw, record: { ...answered.record, ...asked, id: remoteId }, warnings: [] })
      )
    }
    return { raw, ...answered }
  })

  /** The variant whose constants agree with a record that is to be created. */
  const variantFor = (opened: OpenEntity, body: JsonObject): EntityPlan | undefined => {
    const creating = opened.plans.filter(({ entity }) => actionsOf(entity, "create").length > 0)
    const agrees = (plan: EntityPlan, isNamed: boolean) =>
      plan.reading.pairs.every((pair) => {
        const member = pair.to[0]?.[0]
        if (pair.from !== undefined || pair.to[0]?.length !== 1 || typeof member !== "string") return true
        const given = body[member] ?? null
        return given === null ? !isNamed : isSameJson(given, pair.default ?? null)
      })
    return creating.find((plan) => agrees(plan, true)) ?? creating.find((plan) => agrees(plan, false)) ?? creating[0]
  }

  const uncertain = (connector: string, model: string) =>
    new Conflict({
      code: "UNCERTAIN_WRITE",
      message: `an earlier request with this key may have created the ${model}, and ${connector} cannot tell: look for it there, then create it with another key if it is missing`
    })

  /** Whether a failure says that the provider did nothing. */
  const isRefused = (error: RecordCallFailed | Failure): boolean => {
    if (error._tag !== "RecordCallFailed") return error._tag !== "Unavailable"
    const { failed } = error
    if (failed._tag !== "ProviderRefused") return failed._tag !== "Unavailable"
    const { category, status } = failed.failure
    return status !== null && status < 500 && category !== "timeout"
  }

  /** Sends a creation. Where the provider does not recognise a repetition, one whose answer was lost is not sent again. */
  const send = Effect.fnUntraced(function* (
    user: RecordUser,
    variant: OpenVariant,
    record: JsonObject,
    { idempotencyKey, isRepeated }: WriteOptions
  ): Effect.fn.Return<Json, RecordCallFailed | Failure, AnswerHolding> {
    const { opened, plan } = variant
    const key = idempotencyKey ?? digests.sha256Hex(identifiers.bytes(32))
    const isRecognised = lastAction(opened, plan, "create")?.idempotency !== undefined
    const asked = Effect.map(
      run(user, {
        open: opened,
        plan,
        operation: "create",
        scope: { query: fieldQuery(plan), id: null, record, before: null },
        idempotencyKey: key
      }),
      ({ result }) => result
    )
    const sending = withFaultPoints(faults, "beforeEffect", asked, "effected")
    if (idempotencyKey === null || isRecognised) return yield* sending
    const noted = digests.sha256Hex(`${opened.connection.id}|${plan.model.name}|${idempotencyKey}`)
    const isFirst = yield* intents.begin(user.organisationId, noted)
    if (!isFirst && !isRepeated) return yield* uncertain(opened.definition.slug, plan.model.name)
    return yield* Effect.tapError(sending, (failed) =>
      isRefused(failed) ? intents.forget(user.organisationId, noted) : Effect.void
    )
  })

  const create = Effect.fnUntraced(function* (
    user: RecordUser,
    target: RecordTarget,
    body: JsonObject,
    remoteFields: JsonObject,
    options: WriteOptions
  ) {
    const opened = yield* openFor(user, target, "create")
    const plan = variantFor(opened, body)
    if (plan === undefined)
      return yield* unsupportedOperation(`the connector ${opened.definition.slug} creates no ${target.model.name}`)
    const variant = { opened, plan }
    const connector = opened.definition.slug
    const asked = yield* checked(plan, "create", body, connector)
    const { mistakes, record } = writeNewRecord(plan.writing, asked, timestamp())
    yield* refuseWith(refusalOf(mistakes))
    const result = yield* send(user, variant, withRemoteFields(plan, record, remoteFields), options)
    return yield* answer(opened, yield* written(user, variant, { asked, knownId: null, result }), plainForm)
  })

  const update = Effect.fnUntraced(function* (
    user: RecordUser,
    target: RecordTarget,
    id: string,
    changes: JsonObject,
    remoteFields: JsonObject,
    options: WriteOptions
  ) {
    const opened = yield* openFor(user, target, "update")
    const variant = yield* variantOf(opened, target, id)
    yield* supports(variant, "update")
    yield* supports(variant, "get")
    const { plan, remoteId } = variant
    const connector = opened.definition.slug
    const asked = yield* checked(plan, "update", changes, connector)
    const before = yield* read(user, variant, remoteId)
    yield* checkVersion(options, before)
    const after = mergePatch(before.record, asked)
    const change = writeChange(plan.writing, isObject(after) ? after : {}, {
      provider: before.raw,
      common: before.record
    })
    yield* refuseWith(refusalOf([...change.mistakes, ...untakenMistakes(opened.definition, plan, change.record)]))
    const record = withRemoteFields(plan, change.record, remoteFields)
    if (Object.keys(record).length === 0) return yield* answer(opened, before, plainForm)
    const { result } = yield* write(user, variant, "update", { id: remoteId, record, before: before.raw }, options)
    return yield* answer(opened, yield* written(user, variant, { asked, knownId: remoteId, result }), plainForm)
  })

  const write = (
    user: RecordUser,
    { opened, plan }: OpenVariant,
    operation: Extract<EntityOperation, "update" | "delete">,
    scope: { readonly id: string; readonly record: JsonObject | null; readonly before: JsonObject | null },
    { idempotencyKey }: WriteOptions
  ) =>
    run(user, {
      open: opened,
      plan,
      operation,
      scope: { query: fieldQuery(plan), ...scope },
      idempotencyKey: idempotencyKey ?? ""
    }).pipe(Effect.mapError(notFoundOf(plan.model.name)))

  const remove = Effect.fnUntraced(function* (
    user: RecordUser,
    target: RecordTarget,
    id: string,
    options: WriteOptions
  ) {
    const opened = yield* openFor(user, target, "delete")
    const variant = yield* variantOf(opened, target, id)
    yield* supports(variant, "delete")
    const { plan, remoteId } = variant
    const canRead = actionsOf(plan.entity, "get").length > 0
    if (options.expectedVersion !== null && !canRead)
      return yield* invalid(
        "if-match",
        "UNSUPPORTED",
        `${opened.definition.slug} cannot read ${plan.model.name} to compare it`
      )
    const before = canRead ? yield* read(user, variant, remoteId) : null
    if (before !== null) yield* checkVersion(options, before)
    yield* write(user, variant, "delete", { id: remoteId, record: null, before: before?.raw ?? null }, options)
    return metaOf(opened, [])
  })

  return { get, create, update, remove }
})
