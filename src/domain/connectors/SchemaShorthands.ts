/** Shorthands for the manifests of built-in connectors: JSON Schemas and field maps in one line each. */
import type { ConnectorManifest } from "../connector/Definition.js"
import type { JsonObject } from "../Json.js"
import type { FieldMapEncoded } from "../mapping/FieldMap.js"

type Pair = FieldMapEncoded

export const text: JsonObject = { type: "string" }
export const integer: JsonObject = { type: "integer" }
export const number: JsonObject = { type: "number" }
export const flag: JsonObject = { type: "boolean" }
export const anything: JsonObject = {}
/** An id that the provider writes as a number and workflows may send as text. */
export const id: JsonObject = { type: ["string", "integer"] }
export const texts: JsonObject = { type: "array", items: text }
/** A decimal number, as text or number. */
export const decimal: JsonObject = { type: ["string", "number"] }
export const time: JsonObject = { type: "string", format: "date-time" }
export const nullable = (type: string): JsonObject => ({ type: [type, "null"] })
export const oneOf = (...values: ReadonlyArray<string>): JsonObject => ({ type: "string", enum: values })
export const upTo = (maximum: number): JsonObject => ({ type: "integer", minimum: 1, maximum })
export const list = (items: JsonObject): JsonObject => ({ type: "array", items })
export const withDescription = (description: string, schema: JsonObject): JsonObject => ({ ...schema, description })

/** The schema of a call's arguments; other members are refused. */
export const args = (properties: JsonObject = {}, ...required: ReadonlyArray<string>): JsonObject => ({
  type: "object",
  properties,
  required,
  additionalProperties: false
})

/** The schema of a provider's object, which may have further members. */
export const record = (properties: JsonObject = {}, ...required: ReadonlyArray<string>): JsonObject => ({
  type: "object",
  properties,
  required
})

/** `{{args.name}}` for each name; absent arguments are left out of the request. */
export const fromArgs = (...names: ReadonlyArray<string>): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, `{{args.${name}}}`]))

/** Pairs of a field map: provider's path → common path. */
export const pairs = (paths: Readonly<Record<string, string>>): ReadonlyArray<Pair> =>
  Object.entries(paths).map(([from, to]) => ({ from, to }))

/** Pairs of amounts that the provider has in the smallest unit of their currency. */
export const amounts = (paths: Readonly<Record<string, string>>): ReadonlyArray<Pair> =>
  pairs(paths).map((pair) => ({ ...pair, minorUnits: true }))

/** Pairs with a prefix on both sides. */
export const nestedPairs = (from: string, to: string, paths: Readonly<Record<string, string>>): ReadonlyArray<Pair> =>
  Object.entries(paths).map(([below, above]) => ({ from: `${from}.${below}`, to: `${to}.${above}` }))

export type ActionManifest = ConnectorManifest["actions"][number]
export type EntityManifest = NonNullable<ConnectorManifest["entities"]>[number]
export type EventManifest = NonNullable<ConnectorManifest["events"]>[number]

/** The input of a builder of list actions. */
export interface ListOptions {
  readonly name: string
  readonly title: string
  readonly path: string
  /** The member of the answer with the items. */
  readonly items: string
  readonly item: JsonObject
  readonly filters: JsonObject
  readonly mock: JsonObject
}
