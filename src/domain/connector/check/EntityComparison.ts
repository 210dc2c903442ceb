/** Compares the members that an entity's maps read and write with the schemas of a provider's document. */
import { cachedTemplate, templatePaths, textsIn } from "../../expression/Template.js"
import { expandPairs } from "../../mapping/ExpandedPairs.js"
import type { FieldMap } from "../../mapping/FieldMap.js"
import type { Model } from "../../model/FieldType.js"
import { readsRecord } from "../request/EntityArguments.js"
import type { ActionDefinition } from "../Action.js"
import { findAction, type ConnectorDefinition } from "../Definition.js"
import { actionsOf, argumentsOf, type EntityDefinition, type EntityOperation } from "../Entity.js"
import { mapsOf } from "../EntityMaps.js"
import { bodyOfType } from "./ActionComparison.js"
import { answerPath } from "./AnswerPlaces.js"
import { type PartComparison, type Findings, makeFindings } from "./Difference.js"
import { type FoundOperation, stepsOf } from "./PathMatch.js"
import { findMember, type SchemaStep } from "./SchemaMembers.js"
import { placesOfArgument, textOfSteps } from "./SentMembers.js"

/** The operations of the actions that documents have, by the action's name. */
export type FoundOperations = ReadonlyMap<string, FoundOperation>

/** The differences of one entity. */
export const compareEntity = (
  definition: ConnectorDefinition,
  entity: EntityDefinition,
  operations: FoundOperations
): ReadonlyArray<PartComparison> => {
  const read = mapsOf(entity).flatMap(({ fields }) => sourcesOf(fields))
  const written = mapsOf(entity).flatMap(({ fieldsOut, model }) => targetsOf(fieldsOut, model))
  const reading = ["read", "search", "get", "create", "update"] as const
  const writing = ["create", "update"] as const
  return [
    ...reading.flatMap((operation) => {
      const name = actionsOf(entity, operation).at(-1)
      const action = name === undefined ? undefined : findAction(definition, name)
      const found = name === undefined ? undefined : operations.get(name)
      return action === undefined || found === undefined
        ? []
        : [compareRead(entity, operation, action, found, new Set(read))]
    }),
    ...writing.map((operation) => compareWritten(definition, entity, operation, operations, new Set(written)))
  ]
}

/** The paths that pairs read, of lists by `[*]`. */
const sourcesOf = (fields: ReadonlyArray<FieldMap>): ReadonlyArray<string> =>
  expandPairs(fields, "").flatMap(({ pair }) => (pair.from === undefined ? [] : [pair.from]))

/** The paths that pairs write; members that the provider sets are never written. */
const targetsOf = (fields: ReadonlyArray<FieldMap>, model: Model): ReadonlyArray<string> =>
  expandPairs(fields, "").flatMap(({ pair }) => {
    const from = pair.from === undefined ? undefined : stepsOf(pair.from)?.[0]
    const member = typeof from === "string" ? model.fields[from] : undefined
    return member?.isReadOnly === true ? [] : [pair.to]
  })

// --- Reading ---

const compareRead = (
  entity: EntityDefinition,
  operation: EntityOperation,
  action: ActionDefinition,
  { document, operation: documented }: FoundOperation,
  paths: ReadonlySet<string>
): PartComparison => {
  const findings = makeFindings(action.name, entity.name)
  if (documented.answer === undefined) return findings.comparison()
  const isList = operation === "read" || operation === "search"
  const items = action.pagination?.items
  const place = isList ? (items === undefined ? [] : stepsOf(items)) : stepsOf(entity.record ?? "$")
  for (const path of paths) {
    const steps = stepsOf(path)
    if (steps === undefined || place === undefined) continue
    const at = answerPath(action, [...place, ...(isList ? [null] : []), ...steps])
    if (at === undefined) findings.skip(`${operation}: ${path}`, "the action computes it")
    else noteRead(at, `${operation}: ${path}`)
  }
  function noteRead(at: ReadonlyArray<SchemaStep>, text: string) {
    const found = findMember(document, [documented.answer], at)
    if (found.tag === "absent") findings.add("UNREAD_MEMBER", text)
    if (found.tag === "open") findings.skip(text, "the document leaves its members open")
  }
  return findings.comparison()
}

// --- Writing ---

const compareWritten = (
  definition: ConnectorDefinition,
  entity: EntityDefinition,
  operation: "create" | "update",
  operations: FoundOperations,
  paths: ReadonlySet<string>
): PartComparison => {
  const names = actionsOf(entity, operation)
  const findings = makeFindings(names[0] ?? "", entity.name)
  if (names.length === 0) return findings.comparison()
  for (const path of paths) {
    const steps = stepsOf(path)
    if (steps === undefined) continue
    for (const [index, name] of names.entries()) {
      const action = findAction(definition, name)
      const found = operations.get(name)
      if (action !== undefined && found !== undefined)
        compareWrittenPath(
          argumentPlaces(entity, operation, index, steps),
          action,
          found,
          `${operation}: ${path}`,
          findings
        )
    }
  }
  return findings.comparison()
}

/** Compares where the action sends a member of the record, as these arguments, with the document's body. */
const compareWrittenPath = (
  places: ReadonlyArray<ReadonlyArray<SchemaStep>>,
  action: ActionDefinition,
  { document, operation }: FoundOperation,
  text: string,
  findings: Findings
): void => {
  const body = bodyOfType(action, operation.bodies)
  if (body?.schema === undefined) return
  const targets = new Map(
    places.flatMap((place) => placesOfArgument(action, place)).map((steps) => [textOfSteps(steps), steps])
  )
  for (const [at, steps] of targets) {
    const member = findMember(document, [body.schema], steps)
    if (member.tag === "absent") findings.add("UNKNOWN_MEMBER", text, `${action.name} sends it as ${at}`)
    if (member.tag === "open") findings.skip(text, "the document leaves its members open")
  }
}

/** The arguments of an operation's action that a member of the record becomes. */
const argumentPlaces = (
  entity: EntityDefinition,
  operation: EntityOperation,
  index: number,
  path: ReadonlyArray<SchemaStep>
): ReadonlyArray<ReadonlyArray<SchemaStep>> => {
  const templates = argumentsOf(entity, operation, index)
  if (templates === undefined) return index === 0 ? [path] : []
  const named = textsIn(templates, "").flatMap(([at, text]) => {
    const place = stepsOf(at) ?? []
    return templatePaths(cachedTemplate(text)).flatMap(([root, ...below]) => {
      const read = below.map((segment) => (typeof segment === "number" ? null : segment))
      return root === "record" && read.every((step, depth) => depth >= path.length || step === path[depth])
        ? [[...place, ...path.slice(read.length)]]
        : []
    })
  })
  return readsRecord(templates) ? named : [...named, path]
}
