/** The port `Documents`: JSON, else YAML 1.2. An alias may not multiply a document beyond measure. */
import { Effect, Layer } from "effect"
import { Documents } from "../actors/ports/Documents.js"
import type { Json } from "../domain/Json.js"

const mostAliases = 1_000

const json = (text: string): Json | undefined => {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

/** Loaded when the first document in YAML comes. */
const yaml = (text: string): Effect.Effect<Json, string> =>
  Effect.flatMap(
    Effect.promise(() => import("yaml")),
    // The package is a CommonJS one: the names of its members are known under `default` only, once it is bundled.
    ({ default: { parseDocument } }) => {
      const document = parseDocument(text, { uniqueKeys: true })
      const [error] = document.errors
      if (error !== undefined) return Effect.fail(`is neither JSON nor YAML: ${error.message.split("\n")[0] ?? ""}`)
      return Effect.try({
        // Through JSON: maps with keys that are no text, dates and the like become what JSON has for them.
        try: (): Json => JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: mostAliases })) ?? "null"),
        catch: (cause) => `cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`
      })
    }
  )

export const layer = Layer.succeed(
  Documents,
  Documents.of({
    parse: (text) => {
      const plain = text.replace(/^\ufeff/, "")
      const value = json(plain)
      return value === undefined ? yaml(plain) : Effect.succeed(value)
    }
  })
)
