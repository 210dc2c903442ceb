/**
 * Converts Postgres' text values to JSON. Depth and number of values are checked before parsing, and without recursion.
 * Types that are exact in JSON become numbers; money, numerics and 64-bit integers stay text, also inside arrays. As a
 * parameter of the same type, each value gives the value that was read.
 */
import { types } from "pg"
import { type Json, unstorableMessage } from "../../domain/Json.js"
import { measureJson } from "../../domain/JsonText.js"
import { jsonDepth, workspaceDb } from "../../domain/Limits.js"
import { elementTypes, isJson } from "./ArrayTypes.js"

/** Why a value cannot be returned to the workflow. */
export class Unreadable {
  constructor(
    readonly code: "TOO_DEEP" | "TOO_LARGE" | "NOT_STORABLE",
    readonly message: string
  ) {}
}

/** Counts the values of one result, over all its rows. */
export interface Budget {
  left: number
}

/** The value of a column of this type. Throws `Unreadable`. */
export const valueOf = (oid: number, text: string, budget: Budget): Json => {
  spend(budget, 1)
  const scalar = scalars.get(oid)
  if (scalar !== undefined) return scalar(text)
  if (isJson(oid)) return jsonOf(text, budget)
  const element = elementTypes.get(oid)
  if (element === undefined) return text
  return isJson(element) ? jsonArrayOf(text, budget) : arrayOf(text, scalars.get(element) ?? asText, budget)
}

// --- Scalars ---

const { builtins } = types
const asText = (text: string): Json => text
const finite = (text: string): Json => (Number.isFinite(Number(text)) ? Number(text) : text)
const isTrue = (text: string): Json => text === "t"

const instantForm = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?([+-]\d\d)(:\d\d)?$/

/** In UTC with milliseconds, or microseconds where there are some. Outside of the years 1 to 9999 the text stays. */
const instant = (text: string): Json => {
  const [, date, time, fraction = "", hours, minutes = ":00"] = instantForm.exec(text) ?? []
  if (date === undefined) return text
  const at = new Date(`${date}T${time}${hours}${minutes}`)
  const year = at.getUTCFullYear()
  return year >= 1 && year <= 9999 ? `${at.toISOString().slice(0, 19)}.${fraction.padEnd(3, "0")}Z` : text
}

const scalars: ReadonlyMap<number, (text: string) => Json> = new Map([
  [builtins.BOOL, isTrue],
  [builtins.INT2, finite],
  [builtins.INT4, finite],
  [builtins.OID, finite],
  [builtins.FLOAT4, finite],
  [builtins.FLOAT8, finite],
  [builtins.TIMESTAMPTZ, instant]
])

// --- Bounds ---

const spend = (budget: Budget, count: number): void => {
  budget.left -= count
  if (budget.left < 0) throw tooMany()
}

const tooMany = () =>
  new Unreadable(
    "TOO_LARGE",
    `the result holds more than ${workspaceDb.values} values, or one JSON value or array more than ${workspaceDb.valuesInOne}: select less, or use LIMIT`
  )

const tooDeep = () =>
  new Unreadable("TOO_DEEP", `a value nests deeper than ${jsonDepth} levels: select a part of it, or cast it to text`)

const quote = 34
const comma = 44
const backslash = 92

// --- JSON ---

const jsonBounds = { depth: jsonDepth, weight: workspaceDb.jsonWeight }

/** Postgres has checked the syntax. */
const jsonOf = (text: string, budget: Budget): Json => {
  const { problem, values } = measureJson(text, jsonBounds)
  if (problem === "tooHeavy" || values > workspaceDb.valuesInOne) throw tooMany()
  if (problem === "tooDeep") throw tooDeep()
  if (problem !== undefined)
    throw new Unreadable("NOT_STORABLE", `a JSON value ${unstorableMessage[problem]}, or cast it to text`)
  spend(budget, values)
  const value: Json = JSON.parse(text)
  return value
}

/** The position of the closing quote of the string that begins at `from`. */
const endOfString = (text: string, from: number): number => {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === backslash) at += 1
    else if (code === quote) return at
  }
  return text.length
}

// --- Arrays ---

/** Parses `{a,"b \"c\"",NULL,{…}}`, preceded by its bounds if they do not begin at 1. */
const arrayOf = (text: string, element: (text: string) => Json, whole: Budget): Json => {
  const budget: Budget = { left: Math.min(whole.left, workspaceDb.valuesInOne) }
  const most = budget.left
  const array = elementsOf(text, element, budget)
  spend(whole, most - budget.left)
  return array
}

/** An array of JSON values is read as one JSON text, under the bounds of one. */
const jsonArrayOf = (text: string, budget: Budget): Json =>
  jsonOf(jsonText(elementsOf(text, asText, { left: workspaceDb.valuesInOne })), budget)

/** Postgres' arrays have at most six dimensions. */
const jsonText = (value: Json): string =>
  Array.isArray(value) ? `[${value.map(jsonText).join(",")}]` : value === null ? "null" : String(value)

const elementsOf = (text: string, element: (text: string) => Json, budget: Budget): Json => {
  const open: Array<Array<Json>> = []
  for (let at = Math.max(0, text.indexOf("{")); at < text.length; at++) {
    const code = text.charCodeAt(at)
    const current = open.at(-1)
    if (code === 123) {
      if (open.length >= jsonDepth) throw tooDeep()
      const inner: Array<Json> = []
      current?.push(inner)
      open.push(inner)
      spend(budget, 1)
    } else if (code === 125) {
      if (open.length === 1) return open[0] ?? []
      open.pop()
    } else if (code === quote) {
      const end = endOfString(text, at + 1)
      current?.push(element(text.slice(at + 1, end).replaceAll(/\\(.)/gs, "$1")))
      spend(budget, 1)
      at = end
    } else if (code !== comma) {
      const end = endOfBare(text, at)
      const bare = text.slice(at, end)
      current?.push(bare === "NULL" ? null : element(bare))
      spend(budget, 1)
      at = end - 1
    }
  }
  return open[0] ?? []
}

const endOfBare = (text: string, from: number): number => {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === comma || code === 125) return at
  }
  return text.length
}
