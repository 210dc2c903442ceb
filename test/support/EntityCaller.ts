/**
 * Reads and writes an entity of a connector by its maps and the arguments that it states, without the service: what the
 * caller of the unified API gets, over what the provider gets.
 */
import { assert } from "vitest"
import type { ConnectorDefinition } from "../../src/domain/connector/Definition.js"
import { findAction } from "../../src/domain/connector/Definition.js"
import { actionsOf, type EntityOperation } from "../../src/domain/connector/Entity.js"
import { type EntityMap, mapsOf } from "../../src/domain/connector/EntityMaps.js"
import { type EntityPlan, entityPlan } from "../../src/domain/connector/EntityPlan.js"
import { type ArgumentScope, entityArguments } from "../../src/domain/connector/request/EntityArguments.js"
import { valueAt } from "../../src/domain/expression/Path.js"
import { isObject, type Json, type JsonObject } from "../../src/domain/Json.js"
import { MapCost } from "../../src/domain/mapping/MapCost.js"
import { runAtOnce } from "./RunAtOnce.js"
import { readRecord } from "../../src/domain/mapping/RecordReading.js"
import { writeChange, writeNewRecord } from "../../src/domain/mapping/RecordWriting.js"
import type { Caller } from "./ConnectorCaller.js"

/** A common record with all members that have a value, and the warnings of reading it. */
export interface ReadEntity {
  readonly record: JsonObject
  readonly provider: JsonObject
  readonly warnings: ReadonlyArray<string>
}

export interface EntityCaller {
  readonly plan: EntityPlan
  readonly list: (query?: Readonly<Record<string, string>>) => Promise<ReadonlyArray<ReadEntity>>
  readonly get: (id: string) => Promise<ReadEntity>
  readonly create: (record: JsonObject) => Promise<ReadEntity>
  readonly update: (id: string, changes: JsonObject) => Promise<ReadEntity>
  readonly remove: (id: string) => Promise<void>
  /** The common record of a provider's. */
  readonly read: (provider: JsonObject) => ReadEntity
}

/** The caller of one model of an entity. */
export const makeEntityCaller = (
  definition: ConnectorDefinition,
  caller: Caller,
  name: string,
  kind: EntityMap["kind"] = "unified"
): EntityCaller => {
  const entity = definition.entities.find((one) => one.name === name)
  const map = entity === undefined ? undefined : mapsOf(entity).find((one) => one.kind === kind)
  if (entity === undefined || map === undefined) throw new Error(`${definition.slug} has no ${kind} ${name}`)
  const plan = entityPlan(entity, map.model, map, "en")
  const scopeOf = (more: Partial<ArgumentScope>): ArgumentScope => ({
    query: queryOf(plan, {}),
    id: null,
    record: null,
    before: null,
    results: [],
    ...more
  })

  const call = async (operation: EntityOperation, scope: ArgumentScope): Promise<Json> => {
    const results: Array<Json> = []
    const names = actionsOf(entity, operation)
    assert.isNotEmpty(names, `${name} has no ${operation}`)
    for (const [index, actionName] of names.entries()) {
      const action = findAction(definition, actionName)
      if (action === undefined) throw new Error(`${definition.slug} has no action ${actionName}`)
      const args = entityArguments(entity, operation, index, action, { ...scope, results }, definition.schemas)
      results.push(await caller.result(actionName, args))
    }
    return results.at(-1) ?? null
  }
  const recordIn = (result: Json): JsonObject => {
    const found = entity.record === undefined ? result : valueAt(result, entity.record)
    if (!isObject(found)) throw new Error(`${JSON.stringify(result)} has no record`)
    return found
  }
  const read = (provider: JsonObject): ReadEntity => {
    const { record, warnings } = runAtOnce(readRecord(plan.reading, provider, new MapCost()))
    return {
      record: Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)),
      provider,
      warnings: warnings.map(({ message, path }) => `${path}: ${message}`)
    }
  }
  const get = async (id: string) => read(recordIn(await call("get", scopeOf({ id }))))
  return {
    plan,
    read,
    get,
    list: async (query = {}) => {
      const isSearched = Object.keys(query).length > 0 && actionsOf(entity, "search").length > 0
      const operation = isSearched ? "search" : "read"
      const [actionName = ""] = actionsOf(entity, operation)
      const action = findAction(definition, actionName)
      if (action === undefined) throw new Error(`${name} has no ${operation}`)
      const scope = scopeOf({ query: queryOf(plan, query) })
      const args = entityArguments(entity, operation, 0, action, scope, definition.schemas)
      const pages = await caller.pages(actionName, args)
      return pages.flat().map((item) => read(isObject(item) ? item : {}))
    },
    create: async (record) => {
      const written = writeNewRecord(plan.writing, record)
      assert.deepStrictEqual(written.mistakes, [])
      return read(recordIn(await call("create", scopeOf({ record: written.record }))))
    },
    update: async (id, changes) => {
      const before = await get(id)
      const written = writeChange(
        plan.writing,
        { ...before.record, ...changes },
        { provider: before.provider, common: before.record }
      )
      assert.deepStrictEqual(written.mistakes, [])
      return read(recordIn(await call("update", scopeOf({ id, record: written.record, before: before.provider }))))
    },
    remove: async (id) => {
      const before = actionsOf(entity, "get").length > 0 ? (await get(id)).provider : null
      await call("delete", scopeOf({ id, before }))
    }
  }
}

const queryOf = (plan: EntityPlan, { createdAfter, modifiedAfter }: Readonly<Record<string, string>>): JsonObject => ({
  pageSize: 50,
  fields: plan.providerFields,
  fieldList: plan.providerFields.join(","),
  modifiedAfter: timeOf(modifiedAfter),
  createdAfter: timeOf(createdAfter)
})

const timeOf = (iso: string | undefined): Json => {
  if (iso === undefined) return null
  const ms = Date.parse(iso)
  return { iso, unix: Math.floor(ms / 1000), ms, date: iso.slice(0, 10) }
}
