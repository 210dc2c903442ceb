/**
 * Validates a document as a connector definition and reports all mistakes with their paths. In a valid definition all
 * references resolve, and all templates and paths parse. Contract: connector definition.
 */
import { Either, type ParseResult, Schema } from "effect"
import type { Detail } from "../Failure.js"
import { detailsOf, relevantIssues } from "../Issues.js"
import { isObject, type Json, type JsonObject, isList } from "../Json.js"
import { actionsMistakes, prefixMistakes, type SchemaMistakes } from "./ActionChecks.js"
import { authMistakes, baseMistakes } from "./AuthChecks.js"
import {
  duplicateMistakes,
  mistakesInEach,
  type Mistakes,
  pathMistakes,
  referenceMistakes,
  mistakeUnless,
  mistakeAt
} from "../expression/Checks.js"
import { memberPath } from "../expression/Path.js"
import { ConnectorDefinition } from "./Definition.js"
import { entityMistakes } from "./EntityChecks.js"
import { eventMistakes } from "./EventChecks.js"
import { formatIssues } from "../SchemaIssues.js"
import { withTls } from "./request/PlainHttp.js"
import { replaceRawAuth } from "./request/RawAuth.js"
import { repairDocument } from "./RepairedDocument.js"

/** Slugs that would collide with a path of the API, and with what fixtures and steps call the records of common models. */
const reservedSlugs = new Set(["discover", "unified", "cdm"])

/**
 * The definition in a document. `findSchemaMistakes`: checks its JSON Schemas. `allowsHttp`: URLs may begin with
 * http://, and the caller checks their hosts. Left: all mistakes, never empty.
 */
export const validateDefinition = (
  document: Json,
  findSchemaMistakes: SchemaMistakes,
  { allowsHttp = false }: { readonly allowsHttp?: boolean } = {}
): Either.Either<ConnectorDefinition, ReadonlyArray<Detail>> => {
  const source = replaceRawAuth(withoutSchemaReference(document))
  const mistakesOf = (definition: ConnectorDefinition) =>
    mistakesIn(allowsHttp ? withTls(definition) : definition, findSchemaMistakes)
  return Either.match(decodeStrictly(source), {
    onLeft: (error) => Either.left(formMistakes(source, error, mistakesOf)),
    onRight: (definition) => {
      const mistakes = mistakesOf(definition)
      return mistakes.length === 0 ? Either.right(definition) : Either.left(mistakes)
    }
  })
}

/** Removes `$schema`, with which a file refers its editor to the JSON Schema. */
const withoutSchemaReference = (document: Json): Json => {
  if (!isObject(document) || typeof document["$schema"] !== "string") return document
  const { $schema: _, ...rest } = document
  return rest
}

/** The mistakes in a definition whose form is correct. */
export const mistakesIn = (definition: ConnectorDefinition, findSchemaMistakes: SchemaMistakes): Mistakes => {
  const check = checkWithShared(definition, findSchemaMistakes)
  return [
    ...mistakeUnless(
      !reservedSlugs.has(definition.slug),
      "slug",
      "RESERVED_NAME",
      `${definition.slug} is a name of svc's own: choose another`
    ),
    ...baseMistakes(definition),
    ...(definition.connectionConfig === undefined
      ? []
      : prefixMistakes("connectionConfig", check(definition.connectionConfig))),
    ...authMistakes(definition),
    ...duplicateMistakes(
      "actions",
      "name",
      definition.actions.map(({ name }) => name)
    ),
    ...actionsMistakes(definition, check),
    ...testMistakes(definition),
    ...eventMistakes(definition, check),
    ...entityMistakes(definition),
    ...Object.entries(definition.schemas).flatMap(([name, schema]) =>
      isObject(schema)
        ? prefixMistakes(memberPath("schemas", name), check(schema))
        : mistakeUnless(typeof schema === "boolean", memberPath("schemas", name), "INVALID_SCHEMA", "must be a schema")
    ),
    ...toolMistakes(definition)
  ]
}

/**
 * Checks that shared schemas exist, and the schema itself with stubs for them; shared schemas are checked separately.
 */
const checkWithShared =
  ({ schemas }: ConnectorDefinition, findSchemaMistakes: SchemaMistakes): SchemaMistakes =>
  (schema) => {
    const names = sharedNamesIn(schema)
    if (names.length === 0) return findSchemaMistakes(schema)
    const own = isObject(schema["$defs"]) ? schema["$defs"] : {}
    const absent = [...new Set(names)].filter((name) => !Object.hasOwn(schemas, name) && !Object.hasOwn(own, name))
    const stubs = Object.fromEntries(names.map((name) => [name, true]))
    return [
      ...absent.flatMap((name) => mistakeAt("", "UNKNOWN_NAME", `there is no schema "${name}"`)),
      ...findSchemaMistakes({ ...schema, $defs: { ...stubs, ...own } })
    ]
  }

const testMistakes = ({ actions, test }: ConnectorDefinition): Mistakes =>
  test === undefined
    ? []
    : [
        ...referenceMistakes("test.action", test.action, new Set(actions.map(({ name }) => name)), "action"),
        ...pathMistakes("test.accountLabel", test.accountLabel),
        ...Object.entries(test.config).flatMap(([name, text]) => pathMistakes(`test.config.${name}`, text))
      ]

const toolMistakes = ({ actions, toolActions }: ConnectorDefinition): Mistakes => {
  const names = new Set(actions.map(({ name }) => name))
  return toolActions === "all"
    ? []
    : mistakesInEach("toolActions", toolActions, (name, path) => referenceMistakes(path, name, names, "action"))
}

// --- Form ---

const decodeStrictly = Schema.decodeUnknownEither(ConnectorDefinition, { errors: "all", onExcessProperty: "error" })

const decodeLeniently = Schema.decodeUnknownEither(ConnectorDefinition, { errors: "first", onExcessProperty: "ignore" })

/** The mistakes of form, and the other mistakes of the parts whose form is correct. */
const formMistakes = (
  document: Json,
  error: ParseResult.ParseError,
  mistakesOf: (definition: ConnectorDefinition) => Mistakes
): Mistakes => {
  const issues = relevantIssues(formatIssues(error))
  const form = detailsOf(issues, "is not a member of this part")
  const broken = issues.filter(({ _tag }) => _tag !== "Unexpected").map(({ path }) => path)
  const repaired = repairDocument(document, broken)
  const definition = repaired === undefined ? undefined : Either.getOrUndefined(decodeLeniently(repaired.document))
  return repaired === undefined || definition === undefined
    ? form
    : [...form, ...mistakesOf(definition).filter(repaired.isOriginal)]
}

/**
 * The schema with all shared schemas that it needs in its `$defs`.
 * @internal Used by the lock of built-in actions and by tests.
 */
export const standaloneSchema = (definition: Pick<ConnectorDefinition, "schemas">, schema: JsonObject): JsonObject => {
  const needed = new Map<string, Json>()
  const queue: Array<Json> = [schema]
  for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
    for (const name of sharedNamesIn(one)) {
      const shared = Object.hasOwn(definition.schemas, name) ? definition.schemas[name] : undefined
      if (shared === undefined || needed.has(name)) continue
      needed.set(name, shared)
      queue.push(shared)
    }
  }
  if (needed.size === 0) return schema
  const own = schema["$defs"]
  return { ...schema, $defs: { ...Object.fromEntries(needed), ...(own !== undefined && isObject(own) ? own : {}) } }
}

/** The names of the shared schemas that a schema refers to directly. */
export const sharedNamesIn = (schema: Json): ReadonlyArray<string> => {
  if (typeof schema !== "object" || schema === null) return []
  if (isList(schema)) return schema.flatMap(sharedNamesIn)
  const reference = schema["$ref"]
  const name = typeof reference === "string" ? /^#\/\$defs\/([^/]+)$/.exec(reference)?.[1] : undefined
  return [...(name === undefined ? [] : [decodePointer(name)]), ...Object.values(schema).flatMap(sharedNamesIn)]
}

const decodePointer = (name: string): string => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")
