/** Reads the files of `svc connector check`, compares them, and writes what differs. */
import { Effect, Either } from "effect"
import { readFileSync, statSync } from "node:fs"
import { didYouMean } from "../../domain/ClosestName.js"
import { compareDefinition, type DefinitionComparison } from "../../domain/connector/check/DefinitionComparison.js"
import { readProviderDocument } from "../../domain/connector/check/ProviderDocument.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import { validateDefinition } from "../../domain/connector/Validation.js"
import { builtInOf, builtInSlugs } from "../../domain/connectors/index.js"
import type { Json } from "../../domain/Json.js"
import { findSchemaMistakes } from "../computing/worker/Contracts.js"
import { parseText } from "../computing/worker/Text.js"
import { misuseCode, OperatorError, reasonOf } from "../process/OperatorError.js"

/** Beyond this a file is no API document. */
const maxBytes = 64 * 1024 * 1024

/** Compares the connector with this slug, or in this file, with the documents in files. */
export const compareFiles = Effect.fnUntraced(function* (slug: string, files: ReadonlyArray<string>) {
  const definition = yield* definitionOf(slug)
  const documents = yield* Effect.forEach(files, (file) =>
    Effect.flatMap(readFile(file), (value) =>
      Either.mapLeft(readProviderDocument(value), (problem) => refuse(`${file} ${problem}.`))
    )
  )
  return compareDefinition(definition, documents)
})

/** The lines for a terminal: a difference each, and a summary. */
export const linesOf = (comparison: DefinitionComparison): ReadonlyArray<string> => {
  const { actions, compared, connector, differences, documents, entities, uncompared, version } = comparison
  const described = documents.map(({ operations, title, version }) => `${title} ${version} (${operations} operations)`)
  return [
    ...differences.map(({ action, at, code, entity, message }) =>
      [entity === undefined ? action : `${action} (${entity})`, at, code, message].join("  ")
    ),
    ...(differences.length === 0 ? [] : [""]),
    `${connector} ${version} against ${described.join(", ")}:`,
    `${compared} of ${actions} actions and the maps of ${entities} entities compared; ${differences.length} differences; ` +
      `${uncompared.length} places not compared, since the document leaves them open or the definition computes them.`
  ]
}

const refuse = (message: string) => new OperatorError({ message, exitCode: misuseCode })

const definitionOf = (slug: string): Effect.Effect<ConnectorDefinition, OperatorError> => {
  if (!slug.endsWith(".json")) {
    const found = builtInOf(slug)
    return found === undefined
      ? refuse(
          `There is no built-in connector ${slug}.${didYouMean(slug, builtInSlugs)} There are ${builtInSlugs.join(", ")}.`
        )
      : Effect.succeed(found)
  }
  return Effect.flatMap(readFile(slug), (value) =>
    Either.mapLeft(validateDefinition(value, findSchemaMistakes, { allowsHttp: true }), ([first]) =>
      refuse(`${slug} is no connector definition: ${first?.path ?? ""} ${first?.message ?? ""}`)
    )
  )
}

const readFile = (file: string): Effect.Effect<Json, OperatorError> =>
  Effect.flatMap(
    Effect.try({
      try: () => (statSync(file).size > maxBytes ? undefined : readFileSync(file, "utf8")),
      catch: (cause) => refuse(`${file} cannot be read: ${reasonOf(cause)}.`)
    }),
    (text) =>
      text === undefined
        ? refuse(`${file} has more than ${maxBytes / 1024 / 1024} MiB.`)
        : Either.mapLeft(parseText(text), (problem) => refuse(`${file} ${problem}.`))
  )
