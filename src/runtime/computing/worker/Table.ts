/** The computations of a computing worker: pure functions with the types of the port's table. */
import { Either } from "effect"
import type { ComputationName, ComputationTable, Validated } from "../../../actors/ports/Computations.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { importOpenApi } from "../../../domain/connector/import/OpenApi.js"
import { validateDefinition } from "../../../domain/connector/Validation.js"
import type { Detail } from "../../../domain/Failure.js"
import { isObject, type Json, type JsonObject, findUnstorable, unstorableMessage } from "../../../domain/Json.js"
import { diffLines } from "../../../domain/LineDiff.js"
import { svgOf } from "../workflow/Svg.js"
import { analyse } from "../workflow/Analyse.js"
import { compileSchema, schemaMistakes } from "./Contracts.js"
import { parseText } from "./Documents.js"

type Compute<Name extends ComputationName> = (
  input: ComputationTable[Name]["input"]
) => ComputationTable[Name]["output"]

/** Compiled schemas by their text, least recently used first. */
const compiled = new Map<string, ReturnType<typeof compileSchema>>()
const mostCompiled = 200

const validatorOf = (schema: JsonObject): ReturnType<typeof compileSchema> => {
  const key = JSON.stringify(schema)
  const validator = compiled.get(key) ?? compileSchema(schema)
  compiled.delete(key)
  compiled.set(key, validator)
  for (const oldest of compiled.keys()) {
    if (compiled.size <= mostCompiled) break
    compiled.delete(oldest)
  }
  return validator
}

const checkSchemas: Compute<"checkSchemas"> = (schemas) =>
  Object.entries(schemas).flatMap(([name, schema]) =>
    schemaMistakes(schema).map((mistake) => ({
      ...mistake,
      path: mistake.path === "" ? name : `${name}.${mistake.path}`
    }))
  )

const matchPatterns: Compute<"matchPatterns"> = (asked) =>
  asked.map(({ pattern, text }) => {
    try {
      return new RegExp(pattern, "u").test(text)
    } catch {
      return false
    }
  })

const toValidated = <Value, Mistake>(result: Either.Either<Value, ReadonlyArray<Mistake>>): Validated<Value, Mistake> =>
  Either.match(result, {
    onLeft: (mistakes) => ({ ok: false, mistakes }),
    onRight: (value) => ({ ok: true, value })
  })

// --- Definitions ---

type Read = Either.Either<ConnectorDefinition, ReadonlyArray<Detail>>

const definitionOf = (document: Json, allowsHttp: boolean): Read =>
  validateDefinition(document, schemaMistakes, { allowsHttp })

const sourceOf = (source: Json, path: string): Either.Either<Json, ReadonlyArray<Detail>> => {
  const parsed = typeof source === "string" ? parseText(source) : Either.right(source)
  return parsed.pipe(
    Either.mapLeft((message): ReadonlyArray<Detail> => [{ path, code: "SYNTAX_ERROR", message }]),
    Either.flatMap((value) => {
      const bad = findUnstorable(value)
      return bad === undefined
        ? Either.right(value)
        : Either.left([{ path, code: "NOT_STORABLE", message: `${bad.path} ${unstorableMessage[bad.reason]}` }])
    })
  )
}

const importDefinition: Compute<"importDefinition"> = ({ allowsHttp = false, format, options, path, source }) =>
  toValidated(
    Either.gen(function* () {
      const document = yield* sourceOf(source, path)
      if (format === "openapi") {
        const { definition, warnings } = yield* Either.mapLeft(importOpenApi(document, options), (message) => [
          { path, code: "INVALID_VALUE", message }
        ])
        return { definition: yield* definitionOf(definition, allowsHttp), warnings }
      }
      const { location: _location, ...members } = options
      const written = isObject(document) ? { ...document, ...members } : document
      const definition = yield* definitionOf(written, allowsHttp)
      return { definition, warnings: [] }
    })
  )

export const computations: { readonly [Name in ComputationName]: Compute<Name> } = {
  checkSchemas,
  checkValue: ({ schema, value }) => validatorOf(schema)(value),
  matchPatterns,
  readDefinition: ({ allowsHttp, document }) => toValidated(definitionOf(document, allowsHttp)),
  importDefinition,
  analyseWorkflow: (source) => toValidated(analyse(source)),
  drawDiagram: svgOf,
  diffLines: ({ from, to }) => diffLines(from, to)
}
