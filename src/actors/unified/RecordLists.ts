/**
 * Lists a provider's records in pages of the caller's size, which may differ from the provider's. Filters that the provider
 * lacks are applied here: a page may then end early, with a cursor. Contract: unified API.
 */
import { Clock, Effect } from "effect"
import { actionsOf, argumentsOf, type EntityOperation } from "../../domain/connector/Entity.js"
import { type EntityPlan, isOfEntity, narrowPlan } from "../../domain/connector/EntityPlan.js"
import { missingItems, pageItems } from "../../domain/connector/request/Pagination.js"
import { cachedTemplate, templatePaths, textsIn } from "../../domain/expression/Template.js"
import type { Failure } from "../../domain/Failure.js"
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { MapCost } from "../../domain/mapping/MapCost.js"
import { AnswerHolding } from "../ports/HeldBytes.js"
import type {
  RecordCallFailed,
  RecordPage,
  RecordQuery,
  RecordTarget,
  RecordUser,
  RecordWarning
} from "../ports/unified/UnifiedRecords.js"
import { goneMaps, type ListPosition, makeListCursors } from "./ListCursors.js"
import { Entities, type OpenEntity } from "./OpenEntity.js"
import { ProviderOperations } from "./ProviderOperations.js"
import { answerRecord, brokenWarnings, checkFields, tellWarnings, withForm } from "./RecordAnswers.js"

/** The most pages of the provider that one page takes, and the longest time in milliseconds. */
const maxProviderPages = 10
const maxMillis = 10_000
/** Bytes of the provider's answers after which a page ends: what is answered is written at once. */
const maxBytes = 4 * 1024 * 1024

const start: ListPosition = { variant: 0, args: null, skip: 0 }

/** The filters of a query, by their parameter: the member of `query` in templates, and the member of a record. */
const filters = [
  { name: "modified_after", query: "modifiedAfter", unified: "remoteUpdatedAt", cdm: "updatedAt" },
  { name: "created_after", query: "createdAfter", unified: "remoteCreatedAt", cdm: "createdAt" }
] as const

const operationFor = ({ entity }: EntityPlan, query: RecordQuery): EntityOperation =>
  actionsOf(entity, "search").length > 0 && (query.modifiedAfter !== null || query.createdAfter !== null)
    ? "search"
    : "read"

/** Whether the arguments of an operation pass a filter on. */
const passesOn = ({ entity }: EntityPlan, operation: EntityOperation, filter: string): boolean =>
  actionsOf(entity, operation).some((_, index) =>
    textsIn(argumentsOf(entity, operation, index) ?? {}, "").some(([, text]) =>
      templatePaths(cachedTemplate(text)).some(([root, member]) => root === "query" && member === filter)
    )
  )

const timeForms = (time: string | null): Json =>
  time === null
    ? null
    : { iso: time, unix: Math.floor(Date.parse(time) / 1000), ms: Date.parse(time), date: time.slice(0, 10) }

const queryScope = ({ providerFields }: EntityPlan, query: RecordQuery): JsonObject => ({
  pageSize: query.pageSize,
  fields: [...providerFields],
  fieldList: providerFields.join(","),
  modifiedAfter: timeForms(query.modifiedAfter),
  createdAfter: timeForms(query.createdAfter)
})

/** The plan that reads what is shown, and by what svc filters. The provider's own record is shown with all members. */
const planFor = (plan: EntityPlan, { fields, isRawIncluded }: RecordQuery): EntityPlan =>
  fields === null || isRawIncluded
    ? plan
    : narrowPlan(plan, new Set([...fields, "id", "remoteId", ...filters.flatMap(({ cdm, unified }) => [cdm, unified])]))

/** Whether a record's times are after those of the query. A record without such a time is kept: it may be. */
const isWanted = (record: JsonObject, { model }: EntityPlan, query: RecordQuery): boolean =>
  filters.every((filter) => {
    const after = query[filter.query]
    const time = record[model.name.includes(".") ? filter.unified : filter.cdm]
    return after === null || typeof time !== "string" || Date.parse(time) > Date.parse(after)
  })

/** A provider's page, and the arguments of its next one. */
interface ProviderPage {
  readonly items: ReadonlyArray<Json>
  /** That the provider's answer has no list, which is taken as an empty one. */
  readonly warnings: ReadonlyArray<RecordWarning>
  readonly next: Json | null
}

export const makeRecordLists = Effect.gen(function* () {
  const { open } = yield* Entities
  const { run } = yield* ProviderOperations
  const cursors = yield* makeListCursors

  /** The entity and the place where the list begins or goes on. */
  const begin = Effect.fnUntraced(function* (user: RecordUser, target: RecordTarget, query: RecordQuery) {
    const opened = yield* open(user, target, "list", null)
    if (opened === null) return yield* goneMaps()
    if (query.cursor === null) return { opened, position: start }
    const { connection } = opened
    const key = cursors.queryOf(target, query)
    const cursor = yield* cursors.open(user.organisationId, connection.id, key, query.cursor)
    if (JSON.stringify(cursor.pins) === JSON.stringify(opened.pins)) return { opened, position: cursor.position }
    const earlier = yield* open(
      { ...user, allowed: null },
      { ...target, connection: connection.id },
      "list",
      cursor.pins
    )
    return earlier === null ? yield* goneMaps() : { opened: earlier, position: cursor.position }
  })

  /** One page of the provider. */
  const providerPage = Effect.fnUntraced(function* (
    user: RecordUser,
    opened: OpenEntity,
    plan: EntityPlan,
    query: RecordQuery,
    args: JsonObject | null
  ): Effect.fn.Return<ProviderPage, RecordCallFailed | Failure, AnswerHolding> {
    const answer = yield* run(user, {
      open: opened,
      plan,
      operation: operationFor(plan, query),
      scope: { query: queryScope(plan, query), id: null, record: null, before: null },
      ...(args === null ? {} : { args }),
      idempotencyKey: ""
    })
    const { action, next, result } = answer
    const missing = missingItems(action, result)
    const warnings =
      missing === undefined
        ? []
        : [{ record: null, path: action.pagination?.items ?? "", code: "NO_LIST", message: missing }]
    return { items: pageItems(action, result), warnings, next }
  })

  /** The place after an item, after a provider's page, or after a variant; null: the list ends. */
  const nextPosition = ({ plans }: OpenEntity, at: ListPosition, next: Json | null): ListPosition | null =>
    isObject(next)
      ? { ...at, args: next, skip: 0 }
      : at.variant + 1 < plans.length
        ? { variant: at.variant + 1, args: null, skip: 0 }
        : null

  const list = Effect.fnUntraced(function* (
    user: RecordUser,
    target: RecordTarget,
    query: RecordQuery
  ): Effect.fn.Return<RecordPage, RecordCallFailed | Failure, AnswerHolding> {
    yield* checkFields(target.model, query)
    const { opened, position } = yield* begin(user, target, query)
    const records: Array<JsonObject> = []
    const warnings: Array<RecordWarning> = [...brokenWarnings(opened.broken)]
    const filteredBy: Record<string, "provider" | "service"> = {}
    const cost = new MapCost()
    const from = yield* Clock.currentTimeMillis
    const holding = yield* AnswerHolding
    const isLong = (pages: number, now: number) =>
      pages >= maxProviderPages || now - from > maxMillis || holding.bytes >= maxBytes
    let at: ListPosition | null = position
    for (let pages = 0; at !== null && records.length < query.pageSize; pages += 1) {
      if (pages > 0 && isLong(pages, yield* Clock.currentTimeMillis)) break
      const whole: EntityPlan | undefined = opened.plans[at.variant]
      if (whole === undefined || actionsOf(whole.entity, "read").length === 0) {
        at = nextPosition(opened, at, null)
        continue
      }
      const plan = planFor(whole, query)
      noteFilters(filteredBy, plan, query)
      const page: ProviderPage | null = yield* providerPage(user, opened, plan, query, at.args).pipe(
        // What was read already is answered; the caller asks for the rest, and meets the limit then.
        Effect.catchTag("RecordCallFailed", (error) =>
          error.failed._tag === "Postponed" && records.length > 0 ? Effect.succeed(null) : Effect.fail(error)
        )
      )
      if (page === null) break
      warnings.push(...page.warnings)
      const items: ReadonlyArray<Json> = page.items
      let index: number = at.skip
      for (; index < items.length && records.length < query.pageSize; index += 1) {
        const raw = items[index] ?? null
        if (!isObject(raw) || !isOfEntity(plan.entity, raw)) continue
        const answered = yield* answerRecord(plan, opened.definition.slug, raw, cost)
        if (!isWanted(answered.record, plan, query)) continue
        records.push(withForm(answered.record, raw, query))
        warnings.push(...answered.warnings)
      }
      at = index < items.length ? { ...at, skip: index } : nextPosition(opened, at, page.next)
    }
    const told = yield* tellWarnings(warnings, query)
    const { connection, definition, pins } = opened
    return {
      records,
      nextCursor:
        at === null
          ? null
          : yield* cursors.seal(user.organisationId, connection.id, {
              query: cursors.queryOf(target, query),
              pins,
              position: at
            }),
      meta: {
        provider: definition.slug,
        connectionId: connection.id,
        fetchedAt: new Date(yield* Clock.currentTimeMillis).toISOString(),
        warnings: told,
        filteredBy
      }
    }
  })

  return { list }
})

/** Notes who applies each filter: the provider only where all variants pass it on. */
const noteFilters = (
  filteredBy: Record<string, "provider" | "service">,
  plan: EntityPlan,
  query: RecordQuery
): void => {
  const operation = operationFor(plan, query)
  for (const filter of filters) {
    if (query[filter.query] === null) continue
    const isPassedOn = passesOn(plan, operation, filter.query)
    filteredBy[filter.name] = isPassedOn && filteredBy[filter.name] !== "service" ? "provider" : "service"
  }
}
