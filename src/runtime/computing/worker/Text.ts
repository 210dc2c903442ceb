/** Reads a text that is JSON or YAML. */
import { Either } from "effect"
import { type Document, isScalar, LineCounter, parseDocument, visit } from "yaml"
import type { Json } from "../../../domain/Json.js"
import { yamlDocument } from "../../../domain/Limits.js"

/** Left: what is wrong and where, as the predicate of a sentence about the text ("is neither JSON nor YAML: …"). */
export const parseText = (text: string): Either.Either<Json, string> => {
  const withoutByteOrderMark = text.replace(/^\ufeff/, "")
  return Either.orElse(parseJson(withoutByteOrderMark), () => parseYaml(withoutByteOrderMark))
}

const parseJson = (text: string): Either.Either<Json, string> =>
  Either.try({ try: (): Json => JSON.parse(text), catch: () => "is not JSON" })

const parseYaml = (text: string): Either.Either<Json, string> => {
  const lines = new LineCounter()
  // The library's own check of unique keys is off: it takes quadratic time.
  const document = parseDocument(text, { uniqueKeys: false, lineCounter: lines })
  const [error] = document.errors
  const problem = error?.message.split("\n")[0] ?? findDuplicateKey(document, lines)
  if (problem !== undefined) return Either.left(`is neither JSON nor YAML: ${problem}`)
  return Either.try({
    // By way of JSON text: map keys that are not strings, dates and the like become their JSON forms.
    try: (): Json =>
      JSON.parse(JSON.stringify(mergeKeys(document.toJS({ maxAliasCount: yamlDocument.aliases }))) ?? "null"),
    catch: (cause) => `cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`
  })
}

const findDuplicateKey = (document: Document, lines: LineCounter): string | undefined => {
  let found: string | undefined
  visit(document, {
    Map: (_, map) => {
      const keys = new Set<unknown>()
      for (const { key } of map.items) {
        if (!isScalar(key)) continue
        if (keys.has(key.value)) {
          found = `a key occurs twice in one map at line ${lines.linePos(key.range?.[0] ?? 0).line}`
          return visit.BREAK
        }
        keys.add(key.value)
      }
      return undefined
    }
  })
  return found
}

/**
 * The value with the members that merge keys bring: `<<` with a map or a list of maps, of which an earlier one wins. A map's
 * own members win over all. Each map is merged once, however many aliases lead to it: the library's own merging repeats
 * that for each. Throws if they bring too many.
 */
const mergeKeys = (root: unknown): unknown => {
  const visited = new Set<object>()
  let left: number = yamlDocument.merged
  const merge = (value: unknown): void => {
    if (typeof value !== "object" || value === null || visited.has(value)) return
    visited.add(value)
    for (const child of Object.values(value)) merge(child)
    if (Array.isArray(value) || !Object.hasOwn(value, "<<")) return
    const merged: unknown = Reflect.get(value, "<<")
    const sources: ReadonlyArray<unknown> = Array.isArray(merged) ? merged : [merged]
    if (!sources.every(isMap)) return
    Reflect.deleteProperty(value, "<<")
    for (const source of sources) {
      for (const [name, member] of Object.entries(source)) {
        if (--left < 0) throw new Error(`merge keys (<<) bring more than ${yamlDocument.merged} members`)
        if (name !== "<<" && !Object.hasOwn(value, name))
          Object.defineProperty(value, name, { value: member, enumerable: true, configurable: true, writable: true })
      }
    }
  }
  merge(root)
  return root
}

const isMap = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value)
