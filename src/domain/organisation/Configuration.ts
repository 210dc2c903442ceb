/**
 * Configuration values in five levels, from the most specific: workflow (`flow`), integration, customer (`tenant`),
 * organisation (`saas`), platform. Specification: Configuration hierarchy; contract: config.
 */
import { Schema } from "effect"
import { Json, StoredJson } from "../Json.js"
import { configurationValues } from "../Limits.js"
import { Counter } from "../Scalars.js"
import { AnsweredTime } from "../Time.js"

/** From the highest precedence to the lowest. */
export const levels = ["flow", "integration", "tenant", "saas", "platform"] as const
/** Where a value is set: a value of an earlier level of the list replaces those of later ones. */
export const Level = Schema.Literal(...levels)
export type Level = typeof Level.Type

/** The key of a value: `crm.pageSize`. */
export const ConfigurationKey = Schema.String.pipe(
  Schema.pattern(/^[a-zA-Z][\w.-]{0,127}$/, {
    message: () => "must begin with a letter and have at most 128 letters, digits, '_', '.' and '-'"
  })
)

const isSmall = (value: Json): boolean => JSON.stringify(value).length <= configurationValues.valueBytes

/** The body that sets a value, or removes it if `value` is null. */
export const SetConfiguration = Schema.Struct({
  level: Level,
  /** The workflow, integration or customer; `null` for the organisation. */
  scopeId: Schema.optional(Schema.NullOr(Schema.String)),
  key: ConfigurationKey,
  value: Json.pipe(
    Schema.filter((value) => isSmall(value) || `must have at most ${configurationValues.valueBytes} bytes of JSON`)
  ),
  /** The value applies to runs in this environment only. */
  environment: Schema.optional(Schema.NullOr(Schema.String)),
  version: Schema.optional(Counter)
})
export type SetConfiguration = typeof SetConfiguration.Type

/** One value at one level. `scopeId` is empty for the organisation, `environment` for all environments. */
export const StoredValue = Schema.Struct({
  level: Schema.Literal("flow", "integration", "tenant", "saas"),
  scopeId: Schema.String,
  key: Schema.String,
  environment: Schema.String,
  value: StoredJson,
  updatedAt: AnsweredTime,
  version: Schema.Number
})
export type StoredValue = typeof StoredValue.Type

/** Values that the operator sets for all organisations. */
export type PlatformValues = { readonly [key: string]: Json }

/**
 * A value with its level, and the values that it overrides from the most specific. `version`: 0 for a value of the
 * platform, which the API cannot change.
 */
export const ResolvedValue = Schema.Struct({
  key: Schema.String,
  value: Json,
  source: Schema.Struct({ level: Level, id: Schema.NullOr(Schema.String) }),
  overridden: Schema.Array(Schema.Struct({ level: Level, value: Json })),
  version: Schema.Number
}).annotations({ identifier: "ConfigurationValue" })
export type ResolvedValue = typeof ResolvedValue.Type

const precedence = (a: StoredValue, b: StoredValue): number =>
  levels.indexOf(a.level) - levels.indexOf(b.level) || Number(a.environment === "") - Number(b.environment === "")

/** The value of each key. `stored`: the values that apply to the run. A value replaces those below it completely; they are not merged. */
export const resolveValues = (
  stored: ReadonlyArray<StoredValue>,
  platform: PlatformValues
): ReadonlyArray<ResolvedValue> => {
  const byKey = new Map<string, Array<StoredValue>>(Object.keys(platform).map((key) => [key, []]))
  for (const one of stored) {
    const values = byKey.get(one.key)
    if (values === undefined) byKey.set(one.key, [one])
    else values.push(one)
  }
  return [...byKey]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, values]): ReadonlyArray<ResolvedValue> => {
      const base = Object.hasOwn(platform, key) ? [{ level: "platform" as const, value: platform[key] ?? null }] : []
      const [first, ...hidden] = values.sort(precedence)
      if (first === undefined)
        return base.map(({ level, value }) => ({ key, value, source: { level, id: null }, overridden: [], version: 0 }))
      const source = { level: first.level, id: first.scopeId === "" ? null : first.scopeId }
      const overridden = [...hidden.map(({ level, value }) => ({ level, value })), ...base]
      return [{ key, value: first.value, source, overridden, version: first.version }]
    })
}
