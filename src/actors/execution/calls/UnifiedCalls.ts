/**
 * `svc.unified.<category>.<entity>.<verb>` and `svc.cdm.<entity>.<verb>`: records of common models, whichever provider the
 * run's customer has connected. Contract: runtime calls.
 */
import { Effect } from "effect"
import { findFixture } from "../../../domain/connector/Mocking.js"
import { type Failure, Forbidden } from "../../../domain/Failure.js"
import { isObject, type Json, type JsonObject } from "../../../domain/Json.js"
import { pageSize } from "../../../domain/Limits.js"
import type { Model, Verb } from "../../../domain/model/FieldType.js"
import type { MapMoment } from "../../../domain/mapping/MapPublication.js"
import type { CallFailure } from "../../../domain/run/RunJournal.js"
import { parseTimeOrDate } from "../../../domain/Time.js"
import {
  argumentMistake,
  isRecordService,
  readRecordCall,
  type RecordCall
} from "../../../domain/unified/RecordCall.js"
import type { AnswerHolding } from "../../ports/HeldBytes.js"
import {
  type RecordCallFailed,
  type RecordForm,
  type RecordUser,
  UnifiedRecords
} from "../../ports/unified/UnifiedRecords.js"
import { refusalError, toCallFailure } from "./ConnectorErrors.js"
import { type RecordCallOptions, recordCallOptions } from "./RecordCallOptions.js"
import { failure, type HostCall, type HostRequest, noteAttempt, type Postponement, refusedCall } from "./HostCall.js"

const wrongCall = (message: string): CallFailure => failure("TypeError", message, "code", { code: "INVALID_ARGUMENTS" })

/** The call of a name such as `unified.crm.contact.list` or `cdm.order.get`, or what is wrong with it. */
const readName = (name: string): RecordCall | string => {
  const at = name.indexOf(".")
  const service = name.slice(0, Math.max(at, 0))
  return isRecordService(service) ? readRecordCall(service, name.slice(at + 1)) : "write svc.unified or svc.cdm"
}

/** The first argument that the call does not take. Unknown members of what is written are refused with all other mistakes. */
const unknownArgument = (call: RecordCall, args: JsonObject): string | undefined => {
  for (const name of Object.keys(args)) {
    if (call.verb === "update" || (call.verb === "create" && name !== "id")) continue
    const mistake = argumentMistake(call, name)
    if (mistake !== undefined) return mistake
  }
  return undefined
}

/** The revision that the run's version was published with. A draft, and code that computes what it calls, has none. */
const momentOf = ({ run, runnable }: HostRequest["spec"]): MapMoment | undefined => {
  const bound = runnable.bindings.find(({ connector, version }) => version !== null && isRecordService(connector))
  return bound === undefined || bound.version === null ? undefined : { revision: bound.version, at: run.createdAt }
}

const textOf = (value: Json | undefined): string | null => (typeof value === "string" && value !== "" ? value : null)

const formOf = ({ fields, includeRaw, strict }: JsonObject): RecordForm => ({
  fields: Array.isArray(fields) ? fields.map(String) : null,
  isRawIncluded: includeRaw === true,
  isStrict: strict === true
})

/** Makes the function that plans calls of records. */
export const makeUnifiedCalls = Effect.gen(function* () {
  const records = yield* UnifiedRecords

  const userOf = ({ notes, spec }: HostRequest, { retry, timeoutMillis }: RecordCallOptions): RecordUser => {
    const { run, runnable, start } = spec
    return {
      organisationId: run.organisationId,
      spaceId: run.spaceId,
      customerId: run.customerId,
      userId: run.record.userId,
      allowed: start.connections,
      workflowId: runnable.workflowId,
      installationId: run.record.installationId,
      environment: run.record.environment,
      refuses: (type, id) =>
        start.reach?.[type === "connection" ? "connections" : "connectors"]?.includes(id) === false
          ? new Forbidden({
              code: "RESOURCE_OUT_OF_SCOPE",
              message: `who started this run does not reach that ${type}`
            })
          : undefined,
      executionId: run.id,
      maps: momentOf(spec),
      // A run waits without a process: it is suspended until the limit ends.
      patienceMillis: 0,
      retry,
      timeoutMillis: timeoutMillis ?? undefined,
      onAttempt: (attempt, at) => {
        notes.called = at
        noteAttempt(notes, attempt, attempt.failure === null ? null : refusalError(at, attempt.failure))
      }
    }
  }

  const listed = (request: HostRequest, { model }: RecordCall, args: JsonObject, options: RecordCallOptions) =>
    Effect.gen(function* () {
      const asked = args["pageSize"] ?? pageSize.default
      const bounds = { modifiedAfter: args["modifiedAfter"] ?? null, createdAfter: args["createdAfter"] ?? null }
      const times: Record<string, string | null> = {}
      for (const [name, value] of Object.entries(bounds)) {
        const millis = typeof value === "string" ? parseTimeOrDate(value) : undefined
        if (value !== null && millis === undefined)
          return yield* Effect.fail(wrongCall(`${request.name}: ${name} must be a time such as 2026-01-31T12:00:00Z`))
        times[name] = millis === undefined ? null : new Date(millis).toISOString()
      }
      if (typeof asked !== "number" || !Number.isInteger(asked) || asked < 1)
        return yield* Effect.fail(
          wrongCall(`${request.name}: pageSize must be a whole number from 1 to ${pageSize.max}`)
        )
      const size = Math.min(asked, pageSize.max)
      const page = yield* records.list(userOf(request, options), targetOf(model, options), {
        ...formOf(args),
        pageSize: size,
        cursor: textOf(args["cursor"]),
        modifiedAfter: times["modifiedAfter"] ?? null,
        createdAfter: times["createdAfter"] ?? null
      })
      const { nextCursor } = page
      return {
        data: [...page.records],
        page: { size, nextCursor, hasMore: nextCursor !== null },
        meta: metaOf(model, page.meta)
      }
    })

  const targetOf = (model: Model, { connection, provider }: RecordCallOptions) => ({ model, connection, provider })

  const make = (
    request: HostRequest,
    call: RecordCall,
    args: JsonObject,
    options: RecordCallOptions
  ): Effect.Effect<Json, CallFailure | Failure | RecordCallFailed, AnswerHolding> => {
    const { model, verb } = call
    const user = userOf(request, options)
    const target = targetOf(model, options)
    const { id: given, remoteFields = {}, ...members } = args
    const id = typeof given === "number" ? String(given) : textOf(given)
    const write = {
      idempotencyKey: options.idempotencyKey ?? request.key,
      expectedVersion: options.ifMatch,
      isRepeated: options.isRepeated
    }
    const remote = isObject(remoteFields) ? remoteFields : {}
    if (verb === "list") return listed(request, call, args, options)
    if (verb === "create")
      return Effect.map(records.create(user, target, members, remote, write), (found) => ({
        data: found.record,
        meta: metaOf(model, found.meta)
      }))
    if (id === null)
      return Effect.fail(wrongCall(`${request.name} needs the record's id: write ${verb}(id) or ${verb}({ id })`))
    switch (verb) {
      case "get":
        return Effect.map(records.get(user, target, id, formOf(args)), (found) => ({
          data: found.record,
          meta: metaOf(model, found.meta)
        }))
      case "update":
        return Effect.map(records.update(user, target, id, members, remote, write), (found) => ({
          data: found.record,
          meta: metaOf(model, found.meta)
        }))
      case "delete":
        return Effect.as(records.remove(user, target, id, write), null)
    }
  }

  /** The arguments: an id and changes, an id, or one object; then the options. */
  const readArguments = (verb: Verb, args: HostRequest["args"]): readonly [args: Json, options: Json] => {
    const [first = {}, second = {}, third = {}] = args
    if (typeof first !== "string" && typeof first !== "number") return [first, second]
    return verb === "update" && isObject(second) ? [{ ...second, id: first }, third] : [{ id: first }, second]
  }

  /** Fixtures name the service and its call: `{connector: "unified", action: "crm.contact.list"}`. */
  const mocked = ({ name, notes, spec }: HostRequest, { action }: RecordCall, args: Json) => {
    const { mocking } = spec.start
    if (mocking === undefined) return undefined
    const found = findFixture(mocking, name.split(".")[0] ?? "", action, args)
    notes.isMocked = found !== undefined
    if (found !== undefined) return Effect.succeed({ value: found.output })
    return mocking.mode === "partial"
      ? undefined
      : Effect.fail(
          failure(
            "ConnectorError",
            `${name}: no fixture matches these arguments, and this run makes no real calls: add one to fixtures, with the connector ${name.split(".")[0] ?? ""} and the action ${action}`,
            "code",
            { code: "NO_MOCK" }
          )
        )
  }

  const plan = (request: HostRequest): HostCall => {
    const call = readName(request.name)
    if (typeof call === "string") return refusedCall(wrongCall(`svc.${request.name}: ${call}`))
    if (request.spec.start.reach?.records === "none")
      return refusedCall(
        failure(
          "Forbidden",
          `svc.${request.name}: who started this run lacks the permission unified_api:execute`,
          "auth",
          { code: "FORBIDDEN" }
        )
      )
    const [args, given] = readArguments(call.verb, request.args)
    if (!isObject(args) || !isObject(given))
      return refusedCall(wrongCall(`svc.${request.name} takes an object, and options as an object`))
    const options = recordCallOptions(given)
    if (typeof options === "string") return refusedCall(wrongCall(`svc.${request.name}: ${options}`))
    const unknown = unknownArgument(call, args)
    if (unknown !== undefined) return refusedCall(wrongCall(`svc.${request.name}: ${unknown}`))
    const answered = mocked(request, call, args)
    if (answered !== undefined) return { _tag: "Outside", run: answered }
    return {
      _tag: "Outside",
      run: make(request, call, args, options).pipe(
        Effect.map((value) => ({ value })),
        Effect.mapError((error) => callFailureOf(request.name, error))
      )
    }
  }

  return { plan }
})

const metaOf = (model: Model, meta: object): JsonObject => {
  const [category = "", entity] = model.name.split(".")
  // The members of an answer are JSON.
  return { ...(entity === undefined ? { entity: category } : { category, entity }), ...meta } as JsonObject
}

/** The failure of a call as the workflow gets it. */
const callFailureOf = (name: string, error: CallFailure | Failure | RecordCallFailed): CallFailure | Postponement => {
  if (!("_tag" in error)) return error
  if (error._tag === "RecordCallFailed")
    return toCallFailure({ connector: error.connector, action: error.action })(error.failed)
  const message = `svc.${name}: ${"message" in error && error.message !== "" ? error.message : error._tag}`
  switch (error._tag) {
    case "NotFound":
      return failure("NotFound", `svc.${name}: there is no such ${error.what}`, "provider", { code: "NOT_FOUND" })
    case "ValidationFailed":
      return failure("ValidationError", message, "code", {
        code: error.code,
        data: { details: error.details.map((one) => ({ ...one })) }
      })
    case "Conflict":
      return failure("Conflict", message, "provider", {
        code: error.details?.[0]?.code ?? error.code
      })
    case "ConnectionRequired":
    case "CategoryConnectionRequired":
      return failure("ConnectorError", message, "auth", { code: "CONNECTION_REQUIRED" })
    case "Forbidden":
      return failure("Forbidden", message, "auth", { code: error.code })
    case "InvalidRequest":
      return failure("TypeError", message, "code", { code: error.code })
    case "Unavailable":
      return failure("Unavailable", `svc.${name}: ${error.reason}`, "transient", { code: "UNAVAILABLE" })
    default:
      return failure("UnifiedError", message, "code", { code: error._tag })
  }
}
