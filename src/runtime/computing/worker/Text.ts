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
    try: (): Json => JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: yamlDocument.aliases })) ?? "null"),
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
