/**
 * Measures the import of a realistic OpenAPI document of 1,000 operations (shared schemas that refer to each other,
 * parameters, bodies), from its text to a validated definition: seconds, and memory above that of the idle process.
 * Run: npx tsx bench/import.ts [operations]
 */
import { Either } from "effect"
import { importOpenApi } from "../src/domain/connector/import/OpenApi.js"
import { validateDefinition } from "../src/domain/connector/Validation.js"
import type { Json } from "../src/domain/Json.js"
import { findSchemaMistakes } from "../src/runtime/computing/worker/Contracts.js"
import { Table } from "./support/Table.js"

const operations = Number(process.argv[2] ?? 1_000)
const megabytes = (bytes: number) => Math.round(bytes / 1_048_576)

const words = "The thing's own description, as long as they are in documents of this kind. ".repeat(4)

/** Half as many schemas as operations, each with twenty members, three of which are other schemas. */
const documentText = (count: number): string => {
  const schemas = count / 2
  const reference = (n: number) => ({ $ref: `#/components/schemas/Thing${n % schemas}` })
  const member = (n: number) => ({ type: "string", description: words, nullable: n % 2 === 0, maxLength: 200 })
  return JSON.stringify({
    openapi: "3.0.3",
    info: { title: "A large API", version: "1.0" },
    servers: [{ url: "https://api.large.example" }],
    paths: Object.fromEntries(
      Array.from({ length: count / 4 }, (_, n) => [
        `/things${n}/{id}`,
        Object.fromEntries(
          ["get", "put", "post", "delete"].map((method, m) => [
            method,
            {
              operationId: `${method}Thing${n}`,
              summary: "Do something with a thing",
              description: words,
              parameters: [
                { in: "path", name: "id", required: true, schema: { type: "string" } },
                ...Array.from({ length: 6 }, (_, p) => ({
                  in: "query",
                  name: `filter${p}`,
                  description: words,
                  schema: member(p)
                }))
              ],
              ...(m === 1 || m === 2
                ? { requestBody: { content: { "application/json": { schema: reference(n + m) } } } }
                : {}),
              responses: { 200: { description: "fine", content: { "application/json": { schema: reference(n + m) } } } }
            }
          ])
        )
      ])
    ),
    components: {
      schemas: Object.fromEntries(
        Array.from({ length: schemas }, (_, n) => [
          `Thing${n}`,
          {
            type: "object",
            properties: {
              ...Object.fromEntries(Array.from({ length: 17 }, (_, p) => [`member${p}`, member(p)])),
              next: reference(n + 1),
              list: { type: "array", items: reference(n * 7 + 3) },
              either: { oneOf: [reference(n * 3 + 1), { type: "string" }] }
            }
          }
        ])
      )
    }
  })
}

const text = documentText(operations)
const before = process.memoryUsage().rss
let peak = before
const samplePeak = () => {
  peak = Math.max(peak, process.memoryUsage().rss)
}
const started = performance.now()
const document: Json = JSON.parse(text)
samplePeak()
const { definition: imported } = Either.getOrThrowWith(importOpenApi(document, {}), (why) => new Error(why))
samplePeak()
const definition = Either.getOrThrowWith(
  validateDefinition(imported, findSchemaMistakes),
  (all) => new Error(JSON.stringify(all.slice(0, 3)))
)
samplePeak()
const stored = JSON.stringify(definition)
samplePeak()
const seconds = (performance.now() - started) / 1000

const table = new Table(
  "document",
  "MB",
  "actions",
  "schemas",
  "definition MB",
  "seconds",
  "MB above idle",
  "MB whole process"
)
table.add(
  `${operations} operations`,
  megabytes(text.length),
  definition.actions.length,
  Object.keys(definition.schemas).length,
  megabytes(stored.length),
  Number(seconds.toFixed(2)),
  megabytes(peak - before),
  megabytes(process.resourceUsage().maxRSS * 1024)
)
table.note("must: 10 s, 300 MB.")
table.print("Import of OpenAPI")
