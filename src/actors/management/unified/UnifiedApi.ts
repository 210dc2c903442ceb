/**
 * Use cases of the unified API: records of a category's entity at the provider that a customer has connected. Contract:
 * unified API.
 */
import { Effect, Schema } from "effect"
import { InvalidRequest, invalid, type Failure, ValidationFailed } from "../../../domain/Failure.js"
import { isObject, type JsonObject } from "../../../domain/Json.js"
import { pageSize } from "../../../domain/Limits.js"
import { findUnifiedEntity, unifiedEntities, type UnifiedEntity } from "../../../domain/unified/Entities.js"
import { didYouMean } from "../../../domain/ClosestName.js"
import { isEnvironmentSlug } from "../../../domain/organisation/Environment.js"
import { TimeBound } from "../../../domain/Time.js"
import { Digests } from "../../ports/Digests.js"
import {
  type FoundRecord,
  type RecordCallFailed,
  type RecordMeta,
  type RecordTarget,
  type RecordUser,
  UnifiedRecords
} from "../../ports/unified/UnifiedRecords.js"
import { make as makeCustomerContext } from "../access/CustomerContext.js"
import type { CallContext } from "../CallContext.js"
import { outOfScope } from "../Caller.js"
import { optionalText, PageSize, sizeOf } from "../Pages.js"
import { type AnswerHolding, HeldBytes, holdAnswers } from "../../ports/HeldBytes.js"
import { answerRecordFailures } from "./ProviderFailures.js"
import { ownerOfAccount } from "../../../domain/share/ShareOwner.js"

/** A request of the unified API. */
export interface UnifiedRequest extends CallContext {
  readonly request: { readonly headers: { readonly [name: string]: string } }
  /** Headers of the reply besides those of every reply. */
  readonly replyHeaders: { [name: string]: string }
}

/** The entity that a path names. */
interface EntityPath {
  readonly category: string
  readonly entity: string
}

const Flag = Schema.optional(Schema.Literal("true", "false", ""))

/** Query parameters of a record. */
export const RecordParams = Schema.Struct({
  fields: optionalText,
  include_raw: Flag,
  strict: Flag,
  connection_id: optionalText,
  provider: optionalText
})
type RecordParams = typeof RecordParams.Type

/** Query parameters of a write. */
export const WriteParams = RecordParams.pick("connection_id", "provider")
type WriteParams = typeof WriteParams.Type

/** Query parameters of a list. */
export const RecordListParams = Schema.Struct({
  page_size: Schema.optional(PageSize),
  cursor: optionalText,
  modified_after: Schema.optional(TimeBound),
  created_after: Schema.optional(TimeBound),
  ...RecordParams.fields
})
type RecordListParams = typeof RecordListParams.Type

/** The longest wait for a provider's rate limit, in milliseconds; beyond it the caller is answered 429. */
const patienceMillis = 5_000

const customerHeaders = ["x-end-org-id", "x-end-org-ref", "x-svc-space-tenantid", "x-org-id"]

/** The answer's members beside the record. */
const metaOf = <M extends RecordMeta>({ category, entity }: UnifiedEntity, meta: M) => ({ category, entity, ...meta })

const entityOf = ({ category, entity }: EntityPath): Effect.Effect<UnifiedEntity, ValidationFailed> => {
  const found = findUnifiedEntity(category, entity)
  if (found !== undefined) return Effect.succeed(found)
  const names = unifiedEntities.map((one) => `${one.category}/${one.entity}`)
  return new ValidationFailed({
    code: "UNSUPPORTED_OPERATION",
    message: `there is no ${category.slice(0, 60)}/${entity.slice(0, 60)} in the unified API.${didYouMean(`${category}/${entity}`, names)} GET /api/v1/models lists all`,
    details: []
  })
}

const textOf = (value: string | undefined): string | null => (value === undefined || value === "" ? null : value)

const formOf = ({ fields, include_raw, strict }: RecordParams) => ({
  fields:
    textOf(fields)
      ?.split(",")
      .map((one) => one.trim())
      .filter((one) => one !== "") ?? null,
  isRawIncluded: include_raw === "true",
  isStrict: strict === "true"
})

/** The record of a body, `{data: {…}}` or the members themselves, and the provider's own members. */
const bodyOf = (
  body: JsonObject
): Effect.Effect<readonly [record: JsonObject, remote: JsonObject], ValidationFailed> => {
  const { data } = body
  const inner =
    isObject(data) && Object.keys(body).every((name) => name === "data" || name === "remoteFields") ? data : body
  const { remoteFields: own = {}, ...record } = inner
  const remote = inner === body ? own : (body["remoteFields"] ?? own)
  return isObject(remote)
    ? Effect.succeed([record, remote])
    : Effect.fail(invalid("remoteFields", "INVALID_TYPE", "must be an object of the provider's own members"))
}

const make = Effect.gen(function* () {
  const records = yield* UnifiedRecords
  const ledger = yield* HeldBytes
  const digests = yield* Digests
  const { resolveContext } = yield* makeCustomerContext

  /** The headers with what they imply: the only customer that the caller reaches, the connection that the query names. */
  const completed = (
    { caller, request: { headers } }: UnifiedRequest,
    params: WriteParams
  ): { readonly [name: string]: string } => {
    const names = customerHeaders.some((name) => (headers[name] ?? "") !== "")
    const [only, ...others] = caller.customers === "all" ? [] : [...caller.customers]
    const connection = textOf(params.connection_id)
    return {
      ...headers,
      ...(names || only === undefined || others.length > 0 ? {} : { "x-end-org-id": only }),
      ...(connection === null || (headers["x-svc-connections"] ?? "") !== "" ? {} : { "x-svc-connections": connection })
    }
  }

  const environmentOf = (header: string | undefined): Effect.Effect<string, InvalidRequest> => {
    const slug = header === undefined || header === "" ? "live" : header.toLowerCase()
    return isEnvironmentSlug(slug)
      ? Effect.succeed(slug)
      : new InvalidRequest({
          code: "INVALID_HEADER",
          message: "x-svc-env is not the slug of an environment: send letters, digits, - and _"
        })
  }

  const userOf = Effect.fnUntraced(function* (
    context: UnifiedRequest,
    params: WriteParams
  ): Effect.fn.Return<RecordUser, Failure> {
    const { caller } = context
    const headers = completed(context, params)
    const named = yield* resolveContext(caller, { headers }, "connection")
    context.customerId = named.customer?.id ?? null
    return {
      organisationId: caller.organisationId,
      spaceId: caller.spaceId,
      customerId: named.customer?.id ?? null,
      userId: named.userId,
      allowed: named.connections,
      workflowId: null,
      installationId: named.installation?.id ?? null,
      environment: yield* environmentOf(headers["x-svc-env"]),
      refuses: (type, id) => outOfScope(caller, type, id),
      executionId: null,
      patienceMillis
    }
  })

  const targetOf = (model: UnifiedEntity, params: WriteParams): RecordTarget => ({
    model,
    connection: textOf(params.connection_id),
    provider: textOf(params.provider)
  })

  const withVersion = (context: UnifiedRequest, model: UnifiedEntity, { meta, record }: FoundRecord) => {
    context.replyHeaders["etag"] = `"${meta.version}"`
    return { data: record, meta: metaOf(model, meta) }
  }

  /** The version in `If-Match`: the text that `meta.version` has. */
  const expectedVersion = ({ request: { headers } }: UnifiedRequest): string | null => {
    const header = headers["if-match"] ?? ""
    return header === "" || header === "*" ? null : header.replace(/^W\//, "").replaceAll('"', "")
  }

  const writeOptions = (context: UnifiedRequest) => {
    const key = textOf(context.request.headers["idempotency-key"])
    return {
      // A provider sees no key of a caller, which another organisation may use, too.
      idempotencyKey:
        key === null ? null : digests.sha256Hex(`unified|${context.caller.organisationId}|${context.caller.id}|${key}`),
      expectedVersion: expectedVersion(context),
      isRepeated: false
    }
  }

  /** Makes the call, holds its answers, and turns its failures into those that the caller gets. */
  const answered = <A>(
    { caller }: UnifiedRequest,
    call: Effect.Effect<A, RecordCallFailed | Failure, AnswerHolding>
  ): Effect.Effect<A, Failure> => holdAnswers(ledger, ownerOfAccount(caller), answerRecordFailures(call))

  const list = Effect.fnUntraced(function* (context: UnifiedRequest, path: EntityPath, params: RecordListParams) {
    const model = yield* entityOf(path)
    const user = yield* userOf(context, params)
    const size = Math.min(sizeOf(params), pageSize.max)
    const page = yield* answered(
      context,
      records.list(user, targetOf(model, params), {
        ...formOf(params),
        pageSize: size,
        cursor: textOf(params.cursor),
        modifiedAfter: textOf(params.modified_after),
        createdAfter: textOf(params.created_after)
      })
    )
    return {
      data: page.records,
      page: { size, nextCursor: page.nextCursor, hasMore: page.nextCursor !== null },
      meta: metaOf(model, page.meta)
    }
  })

  const get = Effect.fnUntraced(function* (
    context: UnifiedRequest,
    path: EntityPath & { readonly recordId: string },
    params: RecordParams
  ) {
    const model = yield* entityOf(path)
    const user = yield* userOf(context, params)
    const found = yield* answered(context, records.get(user, targetOf(model, params), path.recordId, formOf(params)))
    return withVersion(context, model, found)
  })

  const create = Effect.fnUntraced(function* (
    context: UnifiedRequest,
    path: EntityPath,
    params: WriteParams,
    body: JsonObject
  ) {
    const model = yield* entityOf(path)
    const user = yield* userOf(context, params)
    const [record, remote] = yield* bodyOf(body)
    const made = yield* answered(
      context,
      records.create(user, targetOf(model, params), record, remote, writeOptions(context))
    )
    return withVersion(context, model, made)
  })

  const update = Effect.fnUntraced(function* (
    context: UnifiedRequest,
    path: EntityPath & { readonly recordId: string },
    params: WriteParams,
    body: JsonObject
  ) {
    const model = yield* entityOf(path)
    const user = yield* userOf(context, params)
    const [changes, remote] = yield* bodyOf(body)
    const changed = yield* answered(
      context,
      records.update(user, targetOf(model, params), path.recordId, changes, remote, writeOptions(context))
    )
    return withVersion(context, model, changed)
  })

  const remove = Effect.fnUntraced(function* (
    context: UnifiedRequest,
    path: EntityPath & { readonly recordId: string },
    params: WriteParams
  ) {
    const model = yield* entityOf(path)
    const user = yield* userOf(context, params)
    yield* answered(context, records.remove(user, targetOf(model, params), path.recordId, writeOptions(context)))
  })

  return { list, get, create, update, remove }
})

export class UnifiedApi extends Effect.Service<UnifiedApi>()("svc/UnifiedApi", { effect: make }) {}
