/** Reads transforms in both of their forms. Guests run this module, so that it imports no library. */
import type { Json } from "../Json.js"
import { memoize } from "../RecentMap.js"
import { isList } from "../expression/List.js"
import type { Parsed } from "../expression/Path.js"
import { scanSource, type Template } from "../expression/Template.js"
import { type Decimal, decimalOf } from "./Decimal.js"

/** The names of all transforms. */
export const transformNames = ["UPPER", "LOWER", "TRIM", "ROUND", "MULTIPLY", "ADD", "CONCAT", "COALESCE"] as const

/** A transform that can be applied; its sources are the values of the paths that it names. */
export type TransformStep =
  | { readonly fn: "UPPER" | "LOWER" | "TRIM" }
  | { readonly fn: "ROUND"; readonly places: number }
  | { readonly fn: "MULTIPLY" | "ADD"; readonly operand: Decimal }
  | { readonly fn: "CONCAT"; readonly separator: string; readonly sources: ReadonlyArray<Template> }
  | { readonly fn: "COALESCE"; readonly sources: ReadonlyArray<Template> }

/** Whether a transform reads plain paths: what a template makes of a provider's values is as long as its text allows. */
export const readsPlainPaths = (step: TransformStep): boolean =>
  !("sources" in step) || step.sources.every(([part, ...more]) => part?._tag === "Expression" && more.length === 0)

/** The most digits after the point that `ROUND` leaves. */
const maxPlaces = 20
/** The most paths of one transform. */
const maxSources = 50

/** Reads a transform: `{fn, args}`, or text such as `TRIM` or `CONCAT(" ", input.last)`. */
export const scanTransform = (transform: Json): Parsed<TransformStep> => {
  if (typeof transform === "string") return cachedShortForm(transform)
  if (typeof transform !== "object" || transform === null || isList(transform))
    return { mistake: "must be a text such as TRIM or ROUND(2), or {fn, args}" }
  const { args = [], fn, ...others } = transform
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return { mistake: `has the unknown member "${unknown.slice(0, 20)}"` }
  if (typeof fn !== "string") return { mistake: "has no fn, which is the transform's name" }
  return isList(args) ? stepOf(fn, args) : { mistake: "has args that are not a list" }
}

/** The name, and the text of the arguments. */
const shortForm = /^([A-Z]+)(?:\(([^]*)\))?$/
/** An argument and the comma behind it: in quotes, or plain without any. */
const argument = /\s*(?:"((?:[^"\\]|\\[^])*)"\s*|'((?:[^'\\]|\\[^])*)'\s*|([^\s,"'][^,"']*))(,|$)/y

const scanShortForm = (text: string): Parsed<TransformStep> => {
  const [, fn = "", list = ""] = shortForm.exec(text.trim()) ?? []
  const args: Array<string> = []
  argument.lastIndex = 0
  for (let rest = list.trim() !== ""; rest;) {
    const found = argument.exec(list)
    if (found === null) return { mistake: `has an argument that cannot be read: quote it, or use {fn, args}` }
    const [, double, single, plain, comma] = found
    args.push(plain === undefined ? (double ?? single ?? "").replace(/\\([^])/g, "$1") : plain.trim())
    rest = comma === ","
  }
  return stepOf(fn, args)
}
const cachedShortForm = memoize(scanShortForm)

const stepOf = (fn: string, args: ReadonlyArray<Json>): Parsed<TransformStep> => {
  const name = transformNames.find((one) => one === fn)
  return name === undefined ? { mistake: `must be one of ${transformNames.join(", ")}` } : readers[name](args)
}

type Reader = (args: ReadonlyArray<Json>) => Parsed<TransformStep>

const textReader =
  (fn: "UPPER" | "LOWER" | "TRIM"): Reader =>
  (args) =>
    args.length === 0 ? { value: { fn } } : { mistake: `${fn} has no arguments` }

const numberReader =
  (fn: "MULTIPLY" | "ADD"): Reader =>
  ([only, ...more]) => {
    const operand = typeof only === "number" || typeof only === "string" ? decimalOf(only) : undefined
    return operand === undefined || more.length > 0
      ? { mistake: `${fn} has one argument, a number such as 1.5` }
      : { value: { fn, operand } }
  }

/** Reads the arguments of each transform. */
const readers: Record<(typeof transformNames)[number], Reader> = {
  UPPER: textReader("UPPER"),
  LOWER: textReader("LOWER"),
  TRIM: textReader("TRIM"),
  ROUND: ([only, ...more]) => {
    const places = more.length > 0 ? undefined : placesOf(only)
    return places === undefined
      ? { mistake: `ROUND has one argument, the digits after the point: 0 to ${maxPlaces}` }
      : { value: { fn: "ROUND", places } }
  },
  MULTIPLY: numberReader("MULTIPLY"),
  ADD: numberReader("ADD"),
  CONCAT: ([separator = "", ...paths]) => {
    if (typeof separator !== "string") return { mistake: "CONCAT has a separator that is not a text" }
    const sources = scanSources("CONCAT", paths)
    return "mistake" in sources ? sources : { value: { fn: "CONCAT", separator, sources: sources.value } }
  },
  COALESCE: (paths) => {
    const sources = scanSources("COALESCE", paths)
    if ("mistake" in sources) return sources
    return sources.value.length === 0
      ? { mistake: "COALESCE has no path" }
      : { value: { fn: "COALESCE", sources: sources.value } }
  }
}

const placesOf = (argument: Json = 2): number | undefined => {
  const places = typeof argument === "string" && /^\d{1,2}$/.test(argument) ? Number(argument) : argument
  const isAllowed = typeof places === "number" && Number.isInteger(places) && places >= 0 && places <= maxPlaces
  return isAllowed ? places : undefined
}

const scanSources = (fn: string, args: ReadonlyArray<Json>): Parsed<ReadonlyArray<Template>> => {
  if (args.length > maxSources) return { mistake: `${fn} has more than ${maxSources} paths` }
  const sources: Array<Template> = []
  for (const one of args) {
    if (typeof one !== "string") return { mistake: `${fn} has a path that is not a text` }
    const source = scanSource(one)
    if ("mistake" in source) return { mistake: `${fn}: ${source.mistake}` }
    sources.push(source.value)
  }
  return { value: sources }
}
