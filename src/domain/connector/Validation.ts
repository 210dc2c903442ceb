/**
 * From an unknown document to a definition, or to every mistake in it with its path. What passes here is callable:
 * what it names is there, what it writes can be read. Contract: connector definition.
 */
import { Either, ParseResult, Schema } from "effect"
import type { Detail } from "../Failure.js"
import { detailsOf, relevantIssues } from "../Issues.js"
import { isObject, type Json } from "../Json.js"
import { actionsMistakes, prefixMistakes, type SchemaMistakes } from "./ActionChecks.js"
import { authMistakes, baseMistakes } from "./AuthChecks.js"
import {
  duplicateMistakes,
  mistakesInEach,
  type Mistakes,
  pathMistakes,
  referenceMistakes,
  memberPath,
  mistakeUnless,
  mistakeAt
} from "./Checks.js"
import { ConnectorDefinition } from "./Definition.js"
import { entityMistakes } from "./EntityChecks.js"
import { eventMistakes } from "./EventChecks.js"
import { withTls } from "./PlainHttp.js"
import { replaceRawAuth } from "./RawAuth.js"
import { repairDocument } from "./RepairedDocument.js"
import { sharedNamesIn } from "./SharedSchemas.js"

/** Slugs that are paths of the API. */
const reservedSlugs = new Set(["discover"])

/**
 * The definition that a document is. `schemaMistakes` judges the JSON Schemas in it. `allowsHttp`: its URLs may begin with
 * http://, and the caller judges their hosts. Left: all that is wrong, never empty.
 */
export const validateDefinition = (
  document: Json,
  schemaMistakes: SchemaMistakes,
  { allowsHttp = false }: { readonly allowsHttp?: boolean } = {}
): Either.Either<ConnectorDefinition, ReadonlyArray<Detail>> => {
  const known = replaceRawAuth(withoutSchemaReference(document))
  const mistakesOf = (definition: ConnectorDefinition) =>
    mistakesIn(allowsHttp ? withTls(definition) : definition, schemaMistakes)
  return Either.match(decodeStrictly(known), {
    onLeft: (error) => Either.left(formMistakes(known, error, mistakesOf)),
    onRight: (definition) => {
      const mistakes = mistakesOf(definition)
      return mistakes.length === 0 ? Either.right(definition) : Either.left(mistakes)
    }
  })
}

/** A file may tell an editor where its schema is; that says nothing of the connector, and is true in one place only. */
const withoutSchemaReference = (document: Json): Json => {
  if (!isObject(document) || typeof document["$schema"] !== "string") return document
  const { $schema: _, ...rest } = document
  return rest
}

/** What is wrong with a definition that has the form of one. */
export const mistakesIn = (definition: ConnectorDefinition, schemaMistakes: SchemaMistakes): Mistakes => {
  const judge = checkWithShared(definition, schemaMistakes)
  return [
    ...mistakeUnless(
      !reservedSlugs.has(definition.slug),
      "slug",
      "RESERVED_NAME",
      `${definition.slug} is a path of the API`
    ),
    ...baseMistakes(definition),
    ...(definition.connectionConfig === undefined
      ? []
      : prefixMistakes("connectionConfig", judge(definition.connectionConfig))),
    ...authMistakes(definition),
    ...duplicateMistakes(
      "actions",
      "name",
      definition.actions.map(({ name }) => name)
    ),
    ...actionsMistakes(definition, judge),
    ...testMistakes(definition),
    ...eventMistakes(definition, judge),
    ...entityMistakes(definition),
    ...Object.entries(definition.schemas).flatMap(([name, schema]) =>
      isObject(schema)
        ? prefixMistakes(memberPath("schemas", name), judge(schema))
        : mistakeUnless(typeof schema === "boolean", memberPath("schemas", name), "INVALID_SCHEMA", "must be a schema")
    ),
    ...toolMistakes(definition)
  ]
}

/** Judges a schema by itself: shared ones that it names must be there, and are judged where they stand. */
const checkWithShared =
  ({ schemas }: ConnectorDefinition, schemaMistakes: SchemaMistakes): SchemaMistakes =>
  (schema) => {
    const names = sharedNamesIn(schema)
    if (names.length === 0) return schemaMistakes(schema)
    const own = isObject(schema["$defs"]) ? schema["$defs"] : {}
    const absent = [...new Set(names)].filter((name) => !Object.hasOwn(schemas, name) && !Object.hasOwn(own, name))
    const stubs = Object.fromEntries(names.map((name) => [name, true]))
    return [
      ...absent.flatMap((name) => mistakeAt("", "UNKNOWN_NAME", `there is no schema "${name}"`)),
      ...schemaMistakes({ ...schema, $defs: { ...stubs, ...own } })
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

/** What is wrong with the form, and with what else can be told of the document nevertheless. */
const formMistakes = (
  document: Json,
  error: ParseResult.ParseError,
  mistakesOf: (definition: ConnectorDefinition) => Mistakes
): Mistakes => {
  const issues = relevantIssues(ParseResult.ArrayFormatter.formatErrorSync(error))
  const form = detailsOf(issues, "is not known here")
  const broken = issues.filter(({ _tag }) => _tag !== "Unexpected").map(({ path }) => path)
  const further = repairDocument(document, broken)
  const definition = further === undefined ? undefined : Either.getOrUndefined(decodeLeniently(further.document))
  return further === undefined || definition === undefined
    ? form
    : [...form, ...mistakesOf(definition).filter(further.isOriginal)]
}
