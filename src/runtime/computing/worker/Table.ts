/** The computations of a computing worker: one pure function for each entry of the port's `ComputationTable`. */
import { Either } from "effect"
import type { ComputationName, ComputationTable, Validated } from "../../../actors/ports/Computations.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { importOpenApi, type OpenApiOptions } from "../../../domain/connector/import/OpenApi.js"
import { importPostman } from "../../../domain/connector/import/postman/PostmanCollection.js"
import { compilePattern } from "../../../domain/expression/Pattern.js"
import { validateDefinition } from "../../../domain/connector/Validation.js"
import type { Detail } from "../../../domain/Failure.js"
import { isObject, type Json, type JsonObject, findUnstorable, unstorableMessage } from "../../../domain/Json.js"
import { RecentMap } from "../../../domain/RecentMap.js"
import { diffLines } from "../../../domain/LineDiff.js"
import { drawSvg } from "../workflow/Svg.js"
import { flowUses } from "../../../domain/flow/Checks.js"
import { flowFileText } from "../../../domain/flow/FlowFile.js"
import { presentGeneration } from "../../../domain/flow/Generation.js"
import { compareFlows, resumeFlow } from "../../../domain/flow/Resume.js"
import { mapLosses } from "../../../domain/mapping/inspect/MapLosses.js"
import { traceMap } from "../../../domain/mapping/inspect/MapTrace.js"
import { analyse } from "../workflow/Analyse.js"
import { compileFlow, compileStep, writeCode, writeEarlierOrder } from "../workflow/FlowCompile.js"
import { compileSchema, findSchemaMistakes } from "./Contracts.js"
import { type LoadWasm, makeFlowFileReader } from "./FlowFiles.js"
import { parseText } from "./Text.js"

type Compute<Name extends ComputationName> = (
  input: ComputationTable[Name]["input"]
) => ComputationTable[Name]["output"]

/** A cache of validators by the text of their schemas. */
const validators = new RecentMap<string, ReturnType<typeof compileSchema>>(200)

const validatorOf = (schema: JsonObject): ReturnType<typeof compileSchema> => {
  const key = JSON.stringify(schema)
  const validator = validators.get(key) ?? compileSchema(schema)
  validators.set(key, validator)
  return validator
}

const checkSchemas: Compute<"checkSchemas"> = (schemas) =>
  Object.entries(schemas).flatMap(([name, schema]) =>
    findSchemaMistakes(schema).map((mistake) => ({
      ...mistake,
      path: mistake.path === "" ? name : `${name}.${mistake.path}`
    }))
  )

const matchPatterns: Compute<"matchPatterns"> = (requests) =>
  requests.map(({ pattern, text }) => {
    try {
      return new RegExp(pattern, "u").test(text)
    } catch {
      return false
    }
  })

const compilePatterns: Compute<"compilePatterns"> = (patterns) =>
  patterns.map((pattern) =>
    Either.match(compilePattern(pattern), { onLeft: (mistake) => ({ mistake }), onRight: (program) => ({ program }) })
  )

const toValidated = <Value, Mistake>(result: Either.Either<Value, ReadonlyArray<Mistake>>): Validated<Value, Mistake> =>
  Either.match(result, {
    onLeft: (mistakes) => ({ ok: false, mistakes }),
    onRight: (value) => ({ ok: true, value })
  })

// --- Definitions ---

type DefinitionResult = Either.Either<ConnectorDefinition, ReadonlyArray<Detail>>

const toDefinition = (document: Json, allowsHttp: boolean): DefinitionResult =>
  validateDefinition(document, findSchemaMistakes, { allowsHttp })

const parseSource = (source: Json, path: string): Either.Either<Json, ReadonlyArray<Detail>> => {
  const parsed = typeof source === "string" ? parseText(source) : Either.right(source)
  return parsed.pipe(
    Either.mapLeft((message): ReadonlyArray<Detail> => [{ path, code: "SYNTAX_ERROR", message }]),
    Either.flatMap((value) => {
      const unstorable = findUnstorable(value)
      return unstorable === undefined
        ? Either.right(value)
        : Either.left([
            { path, code: "NOT_STORABLE", message: `${unstorable.path} ${unstorableMessage[unstorable.reason]}` }
          ])
    })
  )
}

/** The mistakes of a definition whose actions have places in a collection, with these places. */
const placeMistakes = (mistakes: ReadonlyArray<Detail>, path: string, places: ReadonlyArray<string>) =>
  mistakes.map((mistake): Detail => {
    const [, at = "", member = ""] = /^actions\[(\d+)\]\.?(.*)$/s.exec(mistake.path) ?? []
    const place = places[Number(at)]
    return at === "" || place === undefined
      ? mistake
      : { ...mistake, path: `${path}.${place}`, message: `becomes an action whose ${member} ${mistake.message}` }
  })

const importCollection = (document: Json, path: string, options: OpenApiOptions, allowsHttp: boolean) =>
  Either.gen(function* () {
    const imported = yield* Either.mapLeft(importPostman(document, options), ({ at, message }) => [
      { path: at === "" ? path : `${path}.${at}`, code: "INVALID_VALUE" as const, message }
    ])
    const definition = yield* Either.mapLeft(toDefinition(imported.definition, allowsHttp), (mistakes) =>
      placeMistakes(mistakes, path, imported.places)
    )
    return { definition, warnings: imported.warnings }
  })

const importDefinition: Compute<"importDefinition"> = ({ allowsHttp = false, format, options, path, source }) =>
  toValidated(
    Either.gen(function* () {
      const document = yield* parseSource(source, path)
      if (format === "openapi") {
        const { definition, warnings } = yield* Either.mapLeft(importOpenApi(document, options), (message) => [
          { path, code: "INVALID_VALUE", message }
        ])
        return { definition: yield* toDefinition(definition, allowsHttp), warnings }
      }
      if (format === "postman") return yield* importCollection(document, path, options, allowsHttp)
      const { location: _location, ...members } = options
      const withOptions = isObject(document) ? { ...document, ...members } : document
      const definition = yield* toDefinition(withOptions, allowsHttp)
      return { definition, warnings: [] }
    })
  )

const writeFlowFile: Compute<"writeFlowFile"> = ({ format, order, ...flow }) =>
  toValidated(
    Either.gen(function* () {
      const written =
        order === "earlier"
          ? { ...flow, generation: presentGeneration, spec: yield* writeEarlierOrder(flow.spec) }
          : flow
      return format === "code" ? yield* writeCode(written) : flowFileText(format, written)
    })
  )

/** All but those that need an engine. */
export const computations: { readonly [Name in Exclude<ComputationName, "readFlowFile">]: Compute<Name> } = {
  checkSchemas,
  checkValue: ({ schema, value }) => validatorOf(schema)(value),
  matchPatterns,
  compilePatterns,
  readDefinition: ({ allowsHttp, document }) => toValidated(toDefinition(document, allowsHttp)),
  importDefinition,
  analyseWorkflow: (source) => toValidated(analyse(source)),
  readFlow: (spec) => flowUses(spec),
  compileFlow: (request) => toValidated(compileFlow(request)),
  compileStep: (request) => toValidated(compileStep(request)),
  writeFlowFile,
  resumeFlow: (request) => toValidated(resumeFlow(request)),
  compareFlows: ({ from, to }) => ({
    code: diffLines(JSON.stringify(from, null, 2), JSON.stringify(to, null, 2)),
    steps: compareFlows({ from, to })
  }),
  traceMap,
  mapLosses,
  drawDiagram: drawSvg,
  diffLines: ({ from, to }) => diffLines(from, to)
}

/** All computations. `loadWasm`: of the engine. */
export const makeComputations = (loadWasm: LoadWasm) => ({
  ...computations,
  readFlowFile: makeFlowFileReader(loadWasm)
})
