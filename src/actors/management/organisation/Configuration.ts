/** Use cases of configuration: write a value at one level, resolve the value that applies over all levels. Contract: config. */
import { Effect, Option, Schema } from "effect"
import { autoReplayKey, autoReplayProblems } from "../../../domain/event/AutoReplay.js"
import { resolveValues, type SetConfiguration, type StoredValue } from "../../../domain/organisation/Configuration.js"
import { type Detail, type Failure, Forbidden, invalid, refuseWith, refusalOf } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import type { Json } from "../../../domain/Json.js"
import { configurationValues } from "../../../domain/Limits.js"
import { notificationTargetsKey, plainTargetUrls, targetProblems } from "../../../domain/organisation/Notification.js"
import { slugPattern } from "../../../domain/Slug.js"
import { Egress } from "../../ports/Egress.js"
import { PlatformConfiguration } from "../../ports/organisation/PlatformConfiguration.js"
import type { AlreadyExists, Changed, Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { narrowedCallerRefusal, type Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import { findCustomer } from "./CustomerRecords.js"
import { environmentChangeRefusal, environmentReadRefusal, findEnvironment } from "./EnvironmentRecords.js"
import { currentTimestamp } from "../Timestamp.js"
import { findWorkflow } from "../workflow/WorkflowRecords.js"

const text = Schema.optional(Schema.String)

/** Where values are resolved: the organisation, and optionally a customer, an integration, a workflow, an environment. */
export const ConfigurationQuery = Schema.Struct({
  key: text,
  customer_id: text,
  integration: text,
  workflow_id: text,
  environment: text
})
type ConfigurationQuery = typeof ConfigurationQuery.Type

type StoredLevel = StoredValue["level"]
type Place = Pick<StoredValue, "level" | "scopeId" | "key" | "environment">

/** A place at one of the levels. */
interface Scope {
  readonly level: StoredLevel
  readonly id: string
  readonly customerId: CustomerId | null
}

const organisation: Scope = { level: "saas", id: "", customerId: null }
const levelNeeds = { flow: "a workflow's id", integration: "an integration's slug", tenant: "a customer's id" } as const

/** The place that a level and an id name, if the caller reaches it. */
const findScope = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  level: StoredLevel,
  reference: string,
  member = "integration"
): Effect.fn.Return<Scope, Failure> {
  switch (level) {
    case "saas":
      return organisation
    case "tenant": {
      const customer = yield* findCustomer(tx, caller, reference)
      return { level, id: customer.id, customerId: customer.id }
    }
    case "flow": {
      const workflow = yield* findWorkflow(tx, caller, reference)
      return { level, id: workflow.id, customerId: workflow.customerId }
    }
    case "integration":
      if (!slugPattern.test(reference)) return yield* invalid(member, "INVALID", "is not the slug of an integration")
      return { level, id: reference, customerId: null }
  }
})

/** Values that are stored at these places for the environment; `null`: for all environments. */
const storedAt = (tx: Tx, scopes: ReadonlyArray<Scope>, environment: string | null, key: string | undefined) =>
  Effect.map(
    Effect.forEach(scopes, ({ id, level }) =>
      tx.configuration.list({
        where: { level, scopeId: id, environment: ["", environment ?? ""], ...(key === undefined ? {} : { key }) },
        limit: configurationValues.valuesPerScope * 2
      })
    ),
    (found) => found.flat()
  )

/** Keys whose values the service itself reads, each with its check. */
const checkedKeys: { readonly [key: string]: (value: Json) => ReadonlyArray<Detail> } = {
  [notificationTargetsKey]: targetProblems,
  [autoReplayKey]: autoReplayProblems
}

/** The refusal of a value that the service could not use. */
const valueRefusal = ({ key, value }: SetConfiguration) =>
  refusalOf(value === null || !Object.hasOwn(checkedKeys, key) ? [] : (checkedKeys[key]?.(value) ?? []))

/** Fails if a target of the value would get notifications without TLS. */
const checkTargets = ({ checkTarget }: Pick<Egress["Type"], "checkTarget">, { key, value }: SetConfiguration) =>
  Effect.forEach(
    key === notificationTargetsKey && value !== null ? plainTargetUrls(value) : [],
    ({ path, url }) => Effect.mapError(checkTarget(url), ({ reason }) => invalid(path, "URL_NOT_ALLOWED", reason)),
    { discard: true, concurrency: 4 }
  )

/** The level to write, or the failure if it is read-only or does not fit the id. */
const writableLevel = ({ level, scopeId = null }: SetConfiguration): Effect.Effect<StoredLevel, Failure> => {
  if (level === "platform")
    return new Forbidden({
      code: "FORBIDDEN",
      message: "the platform's values belong to its operator: set the value at another level"
    })
  if (level === "saas")
    return scopeId === null ? Effect.succeed(level) : invalid("scopeId", "INVALID", "is null at the level saas")
  return scopeId === null
    ? invalid("scopeId", "INVALID", `is ${levelNeeds[level]} at the level ${level}`)
    : Effect.succeed(level)
}

/** The refusal if a narrowed key may not write here: a value above a workflow's level applies to all workflows. */
const scopeRefusal = (caller: Principal, level: StoredLevel, environment: string | null): Forbidden | undefined =>
  (level === "flow"
    ? undefined
    : narrowedCallerRefusal(caller, "workflow", "what applies to all of them is not changed with it")) ??
  environmentChangeRefusal(caller, environment)

const write = Effect.fnUntraced(function* (
  tx: Tx,
  before: Option.Option<StoredValue>,
  { value }: SetConfiguration,
  place: Place
): Effect.fn.Return<void, Failure | AlreadyExists | Changed> {
  const updatedAt = yield* currentTimestamp
  if (value === null) {
    yield* tx.configuration.remove(place)
    return
  }
  if (Option.isSome(before))
    return yield* tx.configuration.update({ ...before.value, value, updatedAt, version: before.value.version + 1 })
  const { level, scopeId } = place
  if ((yield* tx.configuration.count({ level, scopeId })) >= configurationValues.valuesPerScope)
    return yield* invalid("key", "OUT_OF_RANGE", `a level holds at most ${configurationValues.valuesPerScope} values`)
  yield* tx.configuration.insert({ ...place, value, updatedAt, version: 1 })
})

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const { checkTarget } = yield* Egress
  const platform = yield* PlatformConfiguration

  const resolve = Effect.fnUntraced(function* (tx: Tx, { caller }: CallContext, query: ConfigurationQuery) {
    const environment = yield* findEnvironment(tx, caller, query.environment ?? caller.organisation.defaultEnvironment)
    yield* refuseWith(environmentReadRefusal(caller, environment))
    const levels: ReadonlyArray<readonly [StoredLevel, string | undefined]> = [
      ["flow", query.workflow_id],
      ["integration", query.integration],
      ["tenant", query.customer_id]
    ]
    const scopes = [organisation]
    for (const [level, reference] of levels)
      if (reference !== undefined) scopes.push(yield* findScope(tx, caller, level, reference))
    const data = resolveValues(yield* storedAt(tx, scopes, environment, query.key), platform)
    return query.key === undefined ? data : data.filter(({ key }) => key === query.key)
  })

  const set = Effect.fnUntraced(function* (tx: Tx, context: CallContext, level: StoredLevel, input: SetConfiguration) {
    const { key } = input
    const environment = yield* findEnvironment(tx, context.caller, input.environment)
    yield* refuseWith(scopeRefusal(context.caller, level, environment))
    const scope = yield* findScope(tx, context.caller, level, input.scopeId ?? "", "scopeId")
    const place = { level, scopeId: scope.id, key, environment: environment ?? "" }
    const before = yield* tx.configuration.lock(place)
    const version = Option.match(before, { onNone: () => 0, onSome: (one) => one.version })
    yield* checkVersion(context, input.version, version)
    yield* write(tx, before, input, place)
    const scopes = level === "saas" ? [organisation] : [organisation, scope]
    const values = resolveValues(yield* storedAt(tx, scopes, environment, key), platform)
    return {
      value: values.find((one) => one.key === key) ?? null,
      resource: {
        id: scope.id === "" ? level : `${level}:${scope.id}`,
        name: key,
        customerId: scope.customerId
      },
      before: { value: Option.match(before, { onNone: () => null, onSome: (one) => one.value }) },
      after: { value: input.value }
    }
  })

  return {
    /** The value of each key, or of the requested one, from the most specific level that has one. */
    resolve: (context: CallContext, query: ConfigurationQuery) => read(context, (tx) => resolve(tx, context, query)),
    /** Writes or removes a value at its level. Returns the value that applies there afterwards; `null`: none. */
    set: Effect.fnUntraced(function* (context: CallContext, input: SetConfiguration) {
      const level = yield* writableLevel(input)
      yield* refuseWith(valueRefusal(input))
      yield* checkTargets({ checkTarget }, input)
      return yield* change(context, (tx) => set(tx, context, level, input))
    })
  }
})

export class Configuration extends Effect.Service<Configuration>()("svc/Configuration", { effect: make }) {}
