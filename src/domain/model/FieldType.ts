/**
 * The types of the members of common records, as data: from them come the coercion of providers' values, the checks of field
 * maps and of what callers write, and the JSON Schemas. Contract: CDM types; unified API.
 */

/** The type of a member. */
export type FieldType =
  | { readonly kind: ScalarKind }
  | { readonly kind: "enum"; readonly values: ReadonlyArray<string> }
  | { readonly kind: "list"; readonly of: FieldType }
  | { readonly kind: "object"; readonly fields: ModelFields }

/**
 * `money`: a decimal string with at most six decimals. `dateTime`: RFC 3339 in UTC. `currency`: ISO 4217. `country`: ISO
 * 3166-1 alpha-2. `email`: in lower case. `phone`: E.164 where it can be read, else as sent. `json`: an object of any
 * members. `scalars`: an object of any members whose values are scalars.
 */
export type ScalarKind =
  | "text"
  | "money"
  | "dateTime"
  | "currency"
  | "country"
  | "email"
  | "phone"
  | "number"
  | "integer"
  | "share"
  | "boolean"
  | "json"
  | "any"

/** A member of a record. */
export interface ModelField {
  readonly type: FieldType
  /** Whether every record of the model has it, and creating one needs it. */
  readonly isRequired: boolean
  /** Whether only the provider sets it: callers cannot write it. */
  readonly isReadOnly: boolean
}

/** Members by their names, in the order of the contract. */
export interface ModelFields {
  readonly [name: string]: ModelField
}

/** What can be done with the records of a model. */
export type Verb = "list" | "get" | "create" | "update" | "delete"
/** The verbs in the order in which they are shown. */
export const allVerbs: ReadonlyArray<Verb> = ["list", "get", "create", "update", "delete"]

/** The form of common records. */
export interface Model {
  /** `CDMOrder`, or `crm.contact`. */
  readonly name: string
  readonly fields: ModelFields
  /** Members of which creating a record needs at least one, in each of the lists. */
  readonly anyOf: ReadonlyArray<ReadonlyArray<string>>
  /** The verbs that the model allows; a connector may have fewer. */
  readonly verbs: ReadonlyArray<Verb>
}

// --- Types ---

const scalar = (kind: ScalarKind): FieldType => ({ kind })

export const text = scalar("text")
export const money = scalar("money")
export const dateTime = scalar("dateTime")
export const currency = scalar("currency")
export const country = scalar("country")
export const email = scalar("email")
export const phone = scalar("phone")
export const number = scalar("number")
export const integer = scalar("integer")
/** A number from 0 to 1. */
export const share = scalar("share")
export const boolean = scalar("boolean")
/** An object with any members. */
export const json = scalar("json")
/** Any value. */
export const anyValue = scalar("any")
/** One of some words. */
export const oneOf = (...values: ReadonlyArray<string>): FieldType => ({ kind: "enum", values })
export const listOf = (of: FieldType): FieldType => ({ kind: "list", of })
/** An object all of whose members may be absent. */
export const objectOf = (members: Readonly<Record<string, FieldType>>): FieldType => ({
  kind: "object",
  fields: optional(members)
})

// --- Members ---

const withFlags =
  (flags: Pick<ModelField, "isRequired" | "isReadOnly">) =>
  (members: Readonly<Record<string, FieldType>>): ModelFields =>
    Object.fromEntries(Object.entries(members).map(([name, type]) => [name, { type, ...flags }]))

/** Members that every record has. */
export const required = withFlags({ isRequired: true, isReadOnly: false })
/** Members that may be absent. */
export const optional = withFlags({ isRequired: false, isReadOnly: false })
/** Members that the provider sets; they may be absent. */
export const readOnly = withFlags({ isRequired: false, isReadOnly: true })
/** Members that the provider sets, and that every record has. */
export const identifiers = withFlags({ isRequired: true, isReadOnly: true })
