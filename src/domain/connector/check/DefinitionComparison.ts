/** Compares a connector definition with a provider's own documents. Pure, and linear in both but for the depth of schemas. */
import type { ConnectorDefinition } from "../Definition.js"
import { compareAction } from "./ActionComparison.js"
import { type Difference, makeFindings, type Uncompared } from "./Difference.js"
import { compareEntity } from "./EntityComparison.js"
import { findOperation, type FoundOperation } from "./PathMatch.js"
import type { ProviderDocument } from "./PublishedOperation.js"

/** The result of a comparison. */
export interface DefinitionComparison {
  readonly connector: string
  readonly version: string
  readonly documents: ReadonlyArray<{ readonly title: string; readonly version: string; readonly operations: number }>
  /** How many actions the connector has, and how many of them the documents have. */
  readonly actions: number
  readonly compared: number
  readonly entities: number
  readonly differences: ReadonlyArray<Difference>
  readonly uncompared: ReadonlyArray<Uncompared>
}

/** Compares all actions, and the maps of all entities, with the documents together. */
export const compareDefinition = (
  definition: ConnectorDefinition,
  documents: ReadonlyArray<ProviderDocument>
): DefinitionComparison => {
  const found = new Map<string, FoundOperation>()
  const missing = definition.actions.map((action) => {
    const match = findOperation(documents, definition, action)
    const findings = makeFindings(action.name)
    if ("operation" in match) found.set(action.name, match)
    else if (match.methods.length === 0) findings.add("UNKNOWN_PATH", "request.path", action.request.path)
    else findings.add("UNKNOWN_METHOD", "request.method", match.methods.join(", "))
    return findings.comparison()
  })
  const compared = definition.actions.flatMap((action) => {
    const operation = found.get(action.name)
    return operation === undefined ? [] : [compareAction(action, definition.schemas, operation)]
  })
  const entities = definition.entities.flatMap((entity) => compareEntity(definition, entity, found))
  const all = [...missing, ...compared, ...entities]
  return {
    connector: definition.slug,
    version: definition.version,
    documents: documents.map(({ operations, title, version }) => ({ title, version, operations: operations.length })),
    actions: definition.actions.length,
    compared: compared.length,
    entities: definition.entities.length,
    differences: all.flatMap(({ differences }) => differences),
    uncompared: all.flatMap(({ uncompared }) => uncompared)
  }
}
