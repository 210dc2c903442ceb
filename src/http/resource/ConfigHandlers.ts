/** Configuration: written at one level, read as what holds where all levels meet. */
import { DateTime, Effect, Option } from "effect"
import { PlatformConfiguration } from "../../actors/ports/PlatformConfiguration.js"
import type { AlreadyExists, Changed, Tx } from "../../actors/ports/Records.js"
import { resolved, type SetConfiguration, type StoredValue } from "../../domain/Configuration.js"
import { type Failure, Forbidden, invalid } from "../../domain/Failure.js"
import type { CustomerId } from "../../domain/Ids.js"
import { configuration } from "../../domain/Limits.js"
import { slugPattern } from "../../domain/Workflow.js"
import { Current } from "../auth/Authenticated.js"
import type { Principal } from "../../actors/management/Caller.js"
import { ResourceApi } from "./Api.js"
import { checkVersion } from "../../actors/management/CallContext.js"
import { Changes } from "../../actors/management/Changes.js"
import { group } from "../pipeline/Dispatch.js"
import { findCustomer } from "../../actors/management/CustomerRecords.js"
import { findWorkflow } from "./WorkflowRecords.js"

type StoredLevel = StoredValue["level"]

/** Where one of the levels is looked at. */
interface Scope {
  readonly level: StoredLevel
  readonly id: string
  readonly customerId: CustomerId | null
}

const organisation: Scope = { level: "saas", id: "", customerId: null }
const levelNeeds = { flow: "a workflow's id", integration: "an integration's slug", tenant: "a customer's id" } as const

/** The place that a level and an id name, if the caller reaches it. */
const scopeOf = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  level: StoredLevel,
  named: string,
  member = "integration"
): Effect.fn.Return<Scope, Failure> {
  switch (level) {
    case "saas":
      return organisation
    case "tenant": {
      const customer = yield* findCustomer(tx, caller, named)
      return { level, id: customer.id, customerId: customer.id }
    }
    case "flow": {
      const workflow = yield* findWorkflow(tx, caller, named)
      return { level, id: workflow.id, customerId: workflow.customerId }
    }
    case "integration":
      if (!slugPattern.test(named)) return yield* invalid(member, "INVALID", "is not the slug of an integration")
      return { level, id: named, customerId: null }
  }
})

/** What is stored at these places and applies in the environment. */
const storedAt = (tx: Tx, scopes: ReadonlyArray<Scope>, environment: string, key: string | undefined) =>
  Effect.map(
    Effect.forEach(scopes, ({ id, level }) =>
      tx.configuration.list({
        where: { level, scopeId: id, environment: ["", environment], ...(key === undefined ? {} : { key }) },
        limit: configuration.valuesPerScope * 2
      })
    ),
    (found) => found.flat()
  )

const environmentOf = Effect.fnUntraced(function* (
  tx: Tx,
  named: string | null | undefined
): Effect.fn.Return<string, Failure> {
  if (named === undefined || named === null) return ""
  const slug = named.toLowerCase()
  if ((yield* tx.environments.count({ slug })) === 0)
    return yield* invalid("environment", "NOT_FOUND", "names no environment")
  return slug
})

export const ConfigLive = group(ResourceApi, "config", (handlers) =>
  Effect.gen(function* () {
    const { change, read: view } = yield* Changes
    const platform = yield* PlatformConfiguration

    const write = Effect.fnUntraced(function* (
      tx: Tx,
      before: Option.Option<StoredValue>,
      input: SetConfiguration,
      place: Pick<StoredValue, "level" | "scopeId" | "key" | "environment">
    ): Effect.fn.Return<void, Failure | AlreadyExists | Changed> {
      const updatedAt = DateTime.formatIso(yield* DateTime.now)
      if (input.value === null) {
        yield* tx.configuration.remove(place)
        return
      }
      if (Option.isSome(before)) {
        const version = before.value.version + 1
        return yield* tx.configuration.update({ ...before.value, value: input.value, updatedAt, version })
      }
      const { level, scopeId } = place
      if ((yield* tx.configuration.count({ level, scopeId })) >= configuration.valuesPerScope) {
        return yield* invalid("key", "OUT_OF_RANGE", `a level holds at most ${configuration.valuesPerScope} values`)
      }
      yield* tx.configuration.insert({ ...place, value: input.value, updatedAt, version: 1 })
    })

    return handlers
      .handle("resolve", ({ urlParams }) =>
        Effect.gen(function* () {
          const { caller } = yield* Current
          const exchange = yield* Current
          const { customer_id, integration, key, workflow_id } = urlParams
          const asked: ReadonlyArray<readonly [StoredLevel, string | undefined]> = [
            ["flow", workflow_id],
            ["integration", integration],
            ["tenant", customer_id]
          ]
          const named = urlParams.environment ?? caller.organisation.defaultEnvironment
          const stored = yield* view(exchange, (tx) =>
            Effect.gen(function* () {
              const environment = yield* environmentOf(tx, named)
              const scopes = [organisation]
              for (const [level, named] of asked)
                if (named !== undefined) scopes.push(yield* scopeOf(tx, caller, level, named))
              return yield* storedAt(tx, scopes, environment, key)
            })
          )
          const data = resolved(stored, platform)
          return { data: key === undefined ? data : data.filter((one) => one.key === key) }
        })
      )
      .handle("set", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { key, level, scopeId = null } = payload
          if (level === "platform") {
            return yield* new Forbidden({
              code: "FORBIDDEN",
              message: "the platform's values belong to its operator: set the value at another level"
            })
          }
          if (level === "saas" ? scopeId !== null : scopeId === null) {
            return yield* invalid(
              "scopeId",
              "INVALID",
              level === "saas" ? "is null at the level saas" : `is ${levelNeeds[level]} at the level ${level}`
            )
          }
          const data = yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const scope = yield* scopeOf(tx, exchange.caller, level, scopeId ?? "", "scopeId")
              const environment = yield* environmentOf(tx, payload.environment)
              const place = { level, scopeId: scope.id, key, environment }
              const before = yield* tx.configuration.lock(place)
              yield* checkVersion(
                exchange,
                payload.version,
                Option.match(before, { onNone: () => 0, onSome: ({ version }) => version })
              )
              yield* write(tx, before, payload, place)
              const scopes = scope.level === "saas" ? [organisation] : [organisation, scope]
              const [value] = resolved(yield* storedAt(tx, scopes, environment, key), platform).filter(
                (one) => one.key === key
              )
              const old = Option.match(before, { onNone: () => null, onSome: (one) => one.value })
              return {
                value: value ?? null,
                resource: {
                  id: scope.id === "" ? level : `${level}:${scope.id}`,
                  name: key,
                  customerId: scope.customerId
                },
                before: { value: old },
                after: { value: payload.value }
              }
            })
          )
          return { data }
        })
      )
  })
)
