/** Parses documents in JSON or YAML 1.2. The number of YAML aliases is limited. */
import { Either } from "effect"
import { type Document, isScalar, LineCounter, parseDocument, visit } from "yaml"
import type { Json } from "../../../domain/Json.js"
import { yamlDocument } from "../../../domain/Limits.js"

/** Left: what is wrong and where, to end a sentence about the text. */
export const parseText = (text: string): Either.Either<Json, string> => {
  const plain = text.replace(/^\ufeff/, "")
  return Either.orElse(json(plain), () => yaml(plain))
}

const json = (text: string): Either.Either<Json, string> =>
  Either.try({ try: (): Json => JSON.parse(text), catch: () => "is no JSON" })

const yaml = (text: string): Either.Either<Json, string> => {
  const lines = new LineCounter()
  // The library's own check of unique keys compares every key with every other.
  const document = parseDocument(text, { uniqueKeys: false, lineCounter: lines })
  const [error] = document.errors
  const why = error?.message.split("\n")[0] ?? duplicateKey(document, lines)
  if (why !== undefined) return Either.left(`is neither JSON nor YAML: ${why}`)
  return Either.try({
    // Through JSON: maps with keys that are no text, dates and the like become what JSON has for them.
    try: (): Json => JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: yamlDocument.aliases })) ?? "null"),
    catch: (cause) => `cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`
  })
}

const duplicateKey = (document: Document, lines: LineCounter): string | undefined => {
  let found: string | undefined
  visit(document, {
    Map: (_, map) => {
      const keys = new Set<unknown>()
      for (const { key } of map.items) {
        if (!isScalar(key)) continue
        if (keys.has(key.value)) {
          found = `a key stands twice in one map at line ${lines.linePos(key.range?.[0] ?? 0).line}`
          return visit.BREAK
        }
        keys.add(key.value)
      }
      return undefined
    }
  })
  return found
}
