/**
 * Encodes the parameters of a statement as the text that Postgres reads for their types. Only lists and objects depend on
 * the type; other values are written the same for all.
 */
import { types } from "pg"
import type { Json } from "../../domain/Json.js"
import { elementTypes, isJson } from "./ArrayTypes.js"

/** Why a parameter cannot be sent. */
export class Unsendable {
  constructor(readonly message: string) {}
}

/** A parameter that is written the same for all types. */
export type Scalar = null | boolean | number | string

/** Whether the values can be written without the types of their parameters. */
export const areScalars = (values: ReadonlyArray<Json>): values is ReadonlyArray<Scalar> => values.every(isScalar)

/** `parameterTypes`: the OID of each parameter's type. Throws `Unsendable`. */
export const encodeParameters = (
  values: ReadonlyArray<Json>,
  parameterTypes: ReadonlyArray<number>
): ReadonlyArray<Scalar> =>
  values.map((value, index) => (isScalar(value) ? value : textOf(value, parameterTypes[index], `$${index + 1}`)))

// --- Private ---

const isScalar = (value: Json): value is Scalar => typeof value !== "object" || value === null
const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)

const textOf = (value: Json, type: number | undefined, name: string): string => {
  if (type === types.builtins.BYTEA) throw notBytes(name, "a bytea")
  if (isJson(type) || !isList(value)) return JSON.stringify(value)
  return arrayOf(value, elementTypes.get(type ?? 0), name)
}

/** The literal of an array whose elements have this type, `{"a","b"}`. Lists in it are further dimensions, but for JSON. */
const arrayOf = (list: ReadonlyArray<Json>, element: number | undefined, name: string): string =>
  `{${list.map((value) => elementOf(value, element, name)).join(",")}}`

const elementOf = (value: Json, element: number | undefined, name: string): string => {
  if (value === null) return "NULL"
  if (isJson(element)) return quoted(JSON.stringify(value))
  if (isScalar(value)) return quoted(String(value))
  if (isList(value)) return arrayOf(value, element, name)
  if (element === types.builtins.BYTEA) throw notBytes(name, "a bytea[]")
  return quoted(JSON.stringify(value))
}

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, "\\$&")}"`

const notBytes = (name: string, type: string) =>
  new Unsendable(
    `${name} is ${type}: give its bytes as text in hexadecimal digits, "\\\\x01ff", not as an object or a list`
  )
