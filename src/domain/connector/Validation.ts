/**
 * From an unknown document to a definition, or to every mistake in it with its path. What passes here is callable:
 * what it names is there, what it writes can be read. Contract: connector definition.
 */
import { Either, ParseResult, Schema } from "effect"
import type { Detail } from "../Failure.js"
import { detailsOf, relevantIssues } from "../Issues.js"
import { isObject, type Json } from "../Json.js"
import { actionsMistakes, placed, type SchemaMistakes } from "./ActionChecks.js"
import { authMistakes, baseMistakes } from "./AuthChecks.js"
import { duplicates, each, type Mistakes, pathMistakes, reference, under, unless, wrong } from "./Checks.js"
import { ConnectorDefinition } from "./Definition.js"
import { entityMistakes } from "./EntityChecks.js"
import { eventMistakes } from "./EventChecks.js"
import { withTls } from "./PlainHttp.js"
import { fromRaw } from "./RawAuth.js"
import { repaired } from "./Repair.js"
import { namesIn } from "./Schemas.js"

/** Slugs that are paths of the API. */
const reserved = new Set(["discover"])

/**
 * The definition that a document is. `schemaMistakes` judges the JSON Schemas in it. `allowsHttp`: its URLs may begin with
 * http://, and the caller judges their hosts. Left: all that is wrong, never empty.
 */
export const validate = (
  document: Json,
  schemaMistakes: SchemaMistakes,
  { allowsHttp = false }: { readonly allowsHttp?: boolean } = {}
): Either.Either<ConnectorDefinition, ReadonlyArray<Detail>> => {
  const known = fromRaw(withoutEditors(document))
  const mistakesOf = (definition: ConnectorDefinition) =>
    mistakesIn(allowsHttp ? withTls(definition) : definition, schemaMistakes)
  return Either.match(read(known), {
    onLeft: (error) => Either.left(formMistakes(known, error, mistakesOf)),
    onRight: (definition) => {
      const mistakes = mistakesOf(definition)
      return mistakes.length === 0 ? Either.right(definition) : Either.left(mistakes)
    }
  })
}

/** A file may tell an editor where its schema is; that says nothing of the connector, and is true in one place only. */
const withoutEditors = (document: Json): Json => {
  if (!isObject(document) || typeof document["$schema"] !== "string") return document
  const { $schema: _, ...rest } = document
  return rest
}

/** What is wrong with a definition that has the form of one. */
export const mistakesIn = (definition: ConnectorDefinition, schemaMistakes: SchemaMistakes): Mistakes => {
  const judge = withShared(definition, schemaMistakes)
  return [
    ...unless(!reserved.has(definition.slug), "slug", "RESERVED_NAME", `${definition.slug} is a path of the API`),
    ...baseMistakes(definition),
    ...(definition.connectionConfig === undefined
      ? []
      : placed("connectionConfig", judge(definition.connectionConfig))),
    ...authMistakes(definition),
    ...duplicates(
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
        ? placed(under("schemas", name), judge(schema))
        : unless(typeof schema === "boolean", under("schemas", name), "INVALID_SCHEMA", "must be a schema")
    ),
    ...toolMistakes(definition)
  ]
}

/** Judges a schema by itself: shared ones that it names must be there, and are judged where they stand. */
const withShared =
  ({ schemas }: ConnectorDefinition, schemaMistakes: SchemaMistakes): SchemaMistakes =>
  (schema) => {
    const names = namesIn(schema)
    if (names.length === 0) return schemaMistakes(schema)
    const own = isObject(schema["$defs"]) ? schema["$defs"] : {}
    const absent = [...new Set(names)].filter((name) => !Object.hasOwn(schemas, name) && !Object.hasOwn(own, name))
    const stubs = Object.fromEntries(names.map((name) => [name, true]))
    return [
      ...absent.flatMap((name) => wrong("", "UNKNOWN_NAME", `there is no schema "${name}"`)),
      ...schemaMistakes({ ...schema, $defs: { ...stubs, ...own } })
    ]
  }

const testMistakes = ({ actions, test }: ConnectorDefinition): Mistakes =>
  test === undefined
    ? []
    : [
        ...reference("test.action", test.action, new Set(actions.map(({ name }) => name)), "action"),
        ...pathMistakes("test.accountLabel", test.accountLabel),
        ...Object.entries(test.config).flatMap(([name, text]) => pathMistakes(`test.config.${name}`, text))
      ]

const toolMistakes = ({ actions, toolActions }: ConnectorDefinition): Mistakes => {
  const names = new Set(actions.map(({ name }) => name))
  return toolActions === "all"
    ? []
    : each("toolActions", toolActions, (name, path) => reference(path, name, names, "action"))
}

// --- Form ---

const read = Schema.decodeUnknownEither(ConnectorDefinition, { errors: "all", onExcessProperty: "error" })

const readKnown = Schema.decodeUnknownEither(ConnectorDefinition, { errors: "first", onExcessProperty: "ignore" })

/** What is wrong with the form, and with what else can be told of the document nevertheless. */
const formMistakes = (
  document: Json,
  error: ParseResult.ParseError,
  mistakesOf: (definition: ConnectorDefinition) => Mistakes
): Mistakes => {
  const issues = relevantIssues(ParseResult.ArrayFormatter.formatErrorSync(error))
  const form = detailsOf(issues, "is not known here")
  const broken = issues.filter(({ _tag }) => _tag !== "Unexpected").map(({ path }) => path)
  const further = repaired(document, broken)
  const definition = further === undefined ? undefined : Either.getOrUndefined(readKnown(further.document))
  return further === undefined || definition === undefined
    ? form
    : [...form, ...mistakesOf(definition).filter(further.tells)]
}
