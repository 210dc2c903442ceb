/**
 * Decodes what clients send and formats the issues, at a cost by the size of the value. The library makes an issue for each
 * value that does not fit, and each quotes a part of what was sent: 64,000 numbers in the place of texts took 0.6 s.
 */
import { Either, ParseResult, Schema, SchemaAST } from "effect"
import type { Issue } from "./Issues.js"
import { partsOf } from "./UnionIssues.js"

/** Values of which all issues are found; of more, the first one is. */
const reportedValues = 2_000

/** Issues that are formatted. */
const formattedIssues = 200

/** Characters of a value that the library may quote in an issue. */
const quotedLength = 100

const strict = { onExcessProperty: "error" } as const

/** Decodes a value and refuses unknown members. Left: its issues, or the first one if it has very many values. */
export const decodeStrict = <A, I>(schema: Schema.Schema<A, I>) => {
  const all = Schema.decodeUnknownEither(schema.annotations({ parseOptions: { ...strict, errors: "all" } }))
  const first = Schema.decodeUnknownEither(schema.annotations({ parseOptions: { ...strict, errors: "first" } }))
  return (value: unknown): Either.Either<A, ReadonlyArray<Issue>> => {
    if (countValues(value, reportedValues) <= reportedValues) return Either.mapLeft(all(value), formatIssues)
    const path = findLongList(schema.ast, value)
    return path === undefined ? Either.mapLeft(first(value), formatIssues) : Either.left([tooLong(path)])
  }
}

/** Items of a list, and members of a record, that a schema describes one by one. */
const listItems = 10_000

const tooLong = (path: ReadonlyArray<string>): Issue => ({
  _tag: "Refinement",
  path,
  message: `must have at most ${listItems} items`
})

/** The path of the first list that is too long to decode each of its items; lists of any JSON are not. */
const findLongList = (ast: SchemaAST.AST, value: unknown): ReadonlyArray<string> | undefined => {
  switch (ast._tag) {
    case "Suspend":
      return findLongList(ast.f(), value)
    case "Transformation":
    case "Refinement":
      return findLongList(ast.from, value)
    case "Union": {
      const found = ast.types.map((type) => findLongList(type, value))
      return ast.types.some(SchemaAST.isDeclaration) ? undefined : found.find((path) => path !== undefined)
    }
    case "TupleType":
      return Array.isArray(value) && value.length > listItems ? [] : undefined
    case "TypeLiteral":
      return findInMembers(ast, value)
    default:
      return undefined
  }
}

const findInMembers = (ast: SchemaAST.TypeLiteral, value: unknown): ReadonlyArray<string> | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  // The names of a long list would all be written.
  if (Array.isArray(value)) return ast.indexSignatures.length > 0 && value.length > listItems ? [] : undefined
  if (ast.indexSignatures.length > 0 && Object.keys(value).length > listItems) return []
  for (const { name, type } of ast.propertySignatures) {
    if (!Object.hasOwn(value, name)) continue
    const path = findLongList(type, value[name as keyof typeof value])
    if (path !== undefined) return [String(name), ...path]
  }
  return undefined
}

/** The issues of an error, of unions those of the alternative that was meant, without large parts of the value. */
export const formatIssues = ({ issue }: ParseResult.ParseError): ReadonlyArray<Issue> =>
  ParseResult.ArrayFormatter.formatIssueSync(lighten(issue, { left: formattedIssues }))

/** The number of values in a value, up to one more than `most`. */
const countValues = (value: unknown, most: number): number => {
  if (typeof value !== "object" || value === null) return 1
  let count = 1
  // A list's names would all be written before the first one is read.
  const items: Iterable<unknown> = Array.isArray(value) ? value : Object.values(value)
  for (const item of items) {
    if (count > most) break
    count += countValues(item, most - count)
  }
  return count
}

/** What stands for a value in a message. */
const quotable = (value: unknown): unknown => {
  if (typeof value === "string") return value.slice(0, quotedLength)
  if (typeof value !== "object" || value === null) return value
  return Array.isArray(value) ? [] : {}
}

/** The issue with small values, and at most so many parts. */
const lighten = (issue: ParseResult.ParseIssue, budget: { left: number }): ParseResult.ParseIssue => {
  const actual = quotable(issue.actual)
  switch (issue._tag) {
    case "Type":
      return new ParseResult.Type(issue.ast, actual, issue.message)
    case "Missing":
      return issue
    case "Unexpected":
      return new ParseResult.Unexpected(actual, issue.message)
    case "Forbidden":
      return new ParseResult.Forbidden(issue.ast, actual, issue.message)
    case "Pointer":
      return new ParseResult.Pointer(issue.path, actual, lighten(issue.issue, budget))
    case "Refinement":
      return new ParseResult.Refinement(issue.ast, actual, issue.kind, lighten(issue.issue, budget))
    case "Transformation":
      return new ParseResult.Transformation(issue.ast, actual, issue.kind, lighten(issue.issue, budget))
    case "Composite": {
      const [head, ...more] = partsOf(issue)
      const rest = more.slice(0, Math.max(0, budget.left))
      budget.left -= rest.length
      return new ParseResult.Composite(issue.ast, actual, [
        lighten(head, budget),
        ...rest.map((part) => lighten(part, budget))
      ])
    }
  }
}
