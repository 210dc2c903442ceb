/**
 * From an unknown document to a definition, or to every mistake in it with its path. What passes here is callable:
 * what it names is there, what it writes can be read. Contract: connector definition.
 */
import { Either, ParseResult, Schema } from "effect"
import type { Detail } from "../Failure.js"
import { isObject, type Json } from "../Json.js"
import { actionsMistakes, placed, type SchemaMistakes } from "./ActionChecks.js"
import { authMistakes, baseMistakes } from "./AuthChecks.js"
import { duplicates, each, type Mistakes, pathMistakes, reference, under, unless, wrong } from "./Checks.js"
import { ConnectorDefinition } from "./Definition.js"
import { entityMistakes } from "./EntityChecks.js"
import { eventMistakes } from "./EventChecks.js"
import { fromRaw } from "./RawAuth.js"
import { namesIn } from "./Schemas.js"

/** Slugs that are paths of the API. */
const reserved = new Set(["discover"])

/** The definition that a document is. `schemaMistakes` judges the JSON Schemas in it. Left: all that is wrong, never empty. */
export const validate = (
  document: Json,
  schemaMistakes: SchemaMistakes
): Either.Either<ConnectorDefinition, ReadonlyArray<Detail>> =>
  Either.flatMap(decode(fromRaw(document)), (definition) => {
    const mistakes = mistakesIn(definition, schemaMistakes)
    return mistakes.length === 0 ? Either.right(definition) : Either.left(mistakes)
  })

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

const decode = (document: unknown): Either.Either<ConnectorDefinition, Mistakes> =>
  Either.mapLeft(read(document), (error) => {
    const seen = new Set<string>()
    return ParseResult.ArrayFormatter.formatErrorSync(error).flatMap(({ _tag, message, path }) => {
      const at = dotted(path)
      const key = `${at} ${message}`
      if (seen.has(key)) return []
      seen.add(key)
      const code = codes[_tag]
      return [{ path: at, code: code ?? "INVALID_VALUE", message: words[code ?? ""] ?? message }]
    })
  })

const codes: { readonly [tag: string]: string } = { Unexpected: "UNKNOWN_FIELD", Missing: "REQUIRED" }
const words: { readonly [code: string]: string } = { UNKNOWN_FIELD: "is not known here", REQUIRED: "is required" }

const dotted = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text === "" ? String(part) : `${text}.${String(part)}`,
    ""
  )
