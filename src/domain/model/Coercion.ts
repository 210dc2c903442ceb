/**
 * Reads a provider's value as the type of a common member. What is common already stays as it is. Contract: CDM types,
 * coercion.
 */
import { isList } from "../expression/List.js"
import type { Json, JsonObject } from "../Json.js"
import { setMember } from "../expression/Path.js"
import { decimalOf, decimalText } from "../mapping/Decimal.js"
import type { DateFormat } from "../mapping/FieldMap.js"
import { countryCode } from "./Countries.js"
import type { ModelFields, FieldType } from "./FieldType.js"
import { kindText } from "./ModelPath.js"
import { amountText, scanNumber } from "./Numbers.js"
import { scanTime } from "./Times.js"

/** A value, or why it cannot be read. `code` is one of the codes of details and warnings. */
export type ReadValue =
  | { readonly value: Json }
  | { readonly mistake: string; readonly code: "INVALID_TYPE" | "INVALID_VALUE" | "UNMAPPED_ENUM" }

/** How the provider writes its values. */
export interface ValueForm {
  readonly locale: string
  readonly dateFormat: DateFormat | undefined
}

const commonForm: ValueForm = { locale: "en", dateFormat: undefined }

/** Reads a value; null stays null, and so does a text without characters where the type is no text. */
export const readValue = (type: FieldType, value: Json, form: ValueForm = commonForm): ReadValue => {
  if (value === null) return { value }
  switch (type.kind) {
    case "any":
      return { value }
    case "json":
      return typeof value === "object" && !isList(value) ? { value } : wrongType(type)
    case "list":
      return isList(value) ? readList(type.of, value, form) : wrongType(type)
    case "object":
      return typeof value === "object" && !isList(value) ? readMembers(type.fields, value, form) : wrongType(type)
    default:
      return typeof value === "object"
        ? wrongType(type)
        : value === "" && type.kind !== "text"
          ? { value: null }
          : readScalar(type, value, form)
  }
}

const wrongType = (type: FieldType): ReadValue => ({ mistake: `is no ${kindText(type)}`, code: "INVALID_TYPE" })
const wrongValue = (type: FieldType): ReadValue => ({
  mistake: `cannot be read as a ${kindText(type)}`,
  code: "INVALID_VALUE"
})

const readList = (of: FieldType, items: ReadonlyArray<Json>, form: ValueForm): ReadValue => {
  const read: Array<Json> = []
  for (const [index, item] of items.entries()) {
    const one = readValue(of, item, form)
    if ("mistake" in one) return { ...one, mistake: `has an item [${index}] that ${one.mistake}` }
    read.push(one.value)
  }
  return { value: read }
}

/** Members that the type does not have are left out. */
const readMembers = (fields: ModelFields, value: JsonObject, form: ValueForm): ReadValue => {
  const members = {}
  for (const name of Object.keys(fields)) {
    const field = fields[name]
    const member = Object.hasOwn(value, name) ? value[name] : undefined
    if (member === undefined || field === undefined) continue
    const one = readValue(field.type, member, form)
    if ("mistake" in one) return { ...one, mistake: `has a member ${name} that ${one.mistake}` }
    setMember(members, name, one.value)
  }
  return { value: members }
}

const readScalar = (type: FieldType, value: string | number | boolean, form: ValueForm): ReadValue => {
  const found = scalarOf(type, value, form)
  return found === undefined
    ? type.kind === "enum"
      ? { mistake: `is none of ${type.values.join(", ")}`, code: "UNMAPPED_ENUM" }
      : wrongValue(type)
    : { value: found }
}

const scalarOf = (type: FieldType, value: string | number | boolean, form: ValueForm): Json | undefined => {
  switch (type.kind) {
    case "text":
      return textOf(value)
    case "boolean":
      return booleanOf(value)
    case "number":
    case "integer":
    case "share":
      return numberOf(type.kind, value, form.locale)
    case "dateTime":
      return typeof value === "boolean" ? undefined : scanTime(value, form)
    default:
      return typeof value === "boolean" && type.kind !== "enum" ? undefined : wordOf(type, value, form)
  }
}

const wordOf = (type: FieldType, value: string | number | boolean, form: ValueForm): Json | undefined => {
  const text = String(value).trim()
  switch (type.kind) {
    case "money": {
      const decimal = typeof value === "number" ? decimalOf(value) : scanNumber(text, form.locale)
      return decimal === undefined ? undefined : amountText(decimal)
    }
    case "currency":
      return /^[A-Za-z]{3}$/.test(text) ? text.toUpperCase() : undefined
    case "country":
      return countryCode(text)
    case "email":
      return text.toLowerCase()
    case "phone":
      return phoneOf(text)
    case "enum":
      return type.values.find((one) => enumKey(one) === enumKey(text))
    default:
      return undefined
  }
}

/** Numbers are written as people write them: never with an exponent. */
const textOf = (value: string | number | boolean): string => {
  const decimal = typeof value === "number" ? decimalOf(value) : undefined
  return decimal === undefined ? String(value) : decimalText(decimal)
}

const truths = new Set(["true", "yes", "1", "on"])
const untruths = new Set(["false", "no", "0", "off"])

const booleanOf = (value: string | number | boolean): boolean | undefined => {
  const word = String(value).trim().toLowerCase()
  return truths.has(word) ? true : untruths.has(word) ? false : undefined
}

/** Integers beyond 2^53 keep their digits: as text where the provider sends text. */
const numberOf = (
  kind: "number" | "integer" | "share",
  value: string | number | boolean,
  locale: string
): Json | undefined => {
  if (typeof value === "boolean") return undefined
  const decimal = typeof value === "number" ? decimalOf(value) : scanNumber(value.trim(), locale)
  if (decimal === undefined) return undefined
  const number = typeof value === "number" ? value : Number(decimalText(decimal))
  if (kind === "integer" && !Number.isSafeInteger(number)) return undefined
  if (kind === "share" && (number < 0 || number > 1)) return undefined
  return Number.isFinite(number) ? number : undefined
}

/** E.164, if the number has its country's code; else as sent. */
const phoneOf = (text: string): string => {
  const digits = text.replace(/[\s().\-/\u00a0\u2010-\u2015]/g, "").replace(/^00/, "+")
  return /^\+[1-9]\d{6,14}$/.test(digits) ? digits : text
}

/** The form in which enum words are compared: lower case, with `_` for hyphens and spaces. */
export const enumKey = (word: string): string =>
  word
    .trim()
    .toLowerCase()
    .replace(/[-\s]+/g, "_")
