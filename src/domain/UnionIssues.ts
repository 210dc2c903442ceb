/**
 * Keeps, of the issues of a union, those of the alternative that was evidently meant: the others say of a value what is no
 * mistake of it. Costs by the schema, not by the size of the value.
 */
import { ParseResult, SchemaAST } from "effect"

type Part = ParseResult.ParseIssue

/** An issue of an alternative that takes a value of this kind, and refuses what is in it. */
type Inner = ParseResult.Composite | ParseResult.Refinement | ParseResult.Transformation

/** The parts of a composite issue; of a union, those of the alternative that was meant. */
export const partsOf = ({ actual, ast, issues }: ParseResult.Composite): readonly [Part, ...ReadonlyArray<Part>] => {
  const parts = "_tag" in issues ? ([issues] as const) : issues
  if (!SchemaAST.isUnion(ast) || parts.length < 2 || typeof actual !== "object" || actual === null) return parts
  const [part, ...others] = parts.filter((one): one is Inner => looksInside(one, Array.isArray(actual)))
  if (part === undefined) return parts
  return others.length === 0 || Array.isArray(actual)
    ? [part, ...others]
    : [meantPart([part, ...others], actual) ?? new ParseResult.Type(ast, actual, expectedMembers([part, ...others]))]
}

const looksInside = (part: Part, isList: boolean): boolean => {
  switch (part._tag) {
    case "Composite":
      return !isList || !SchemaAST.isTypeLiteral(part.ast)
    case "Refinement":
      return part.kind === "Predicate" || looksInside(part.issue, isList)
    case "Transformation":
      return part.kind !== "Encoded" || looksInside(part.issue, isList)
    default:
      return false
  }
}

/** The alternative with most members of the value, of those the one with fewest issues; none: it has no member of any. */
const meantPart = (parts: ReadonlyArray<Inner>, actual: object): Inner | undefined => {
  const scored = parts.map((part) => ({ part, score: scoreOf(part, actual), size: sizeOf(part) }))
  const [best] = scored.sort((a, b) => b.score - a.score || a.size - b.size)
  return best === undefined || (best.score <= 0 && expectedMembers(parts) !== undefined) ? undefined : best.part
}

/** More than the members of any alternative: a literal that is equal, or differs, decides. */
const discriminator = 1_000

const scoreOf = ({ ast }: Inner, actual: object): number =>
  Math.max(
    0,
    ...objectsOf(ast).map(({ propertySignatures }) =>
      propertySignatures.reduce((score, { name, type }) => {
        if (!Object.hasOwn(actual, name)) return score
        const literal = literalOf(type)
        if (literal === undefined) return score + 1
        return literal === actual[name as keyof typeof actual] ? score + discriminator : score - discriminator
      }, 0)
    )
  )

/** The only value that a member may have, if there is one. */
const literalOf = (type: SchemaAST.AST): SchemaAST.LiteralValue | undefined => {
  const [first, ...others] = SchemaAST.isUnion(type)
    ? type.types.filter((one) => one._tag !== "UndefinedKeyword")
    : [type]
  return others.length === 0 && first?._tag === "Literal" ? first.literal : undefined
}

const sizeOf = (part: Inner): number => (part._tag === "Composite" && !("_tag" in part.issues) ? part.issues.length : 1)

/** What a value that has no member of any alternative must have; `undefined`: an alternative requires nothing. */
const expectedMembers = (parts: ReadonlyArray<Inner>): string | undefined => {
  const forms = parts
    .flatMap(({ ast }) => objectsOf(ast))
    .map(({ propertySignatures }) =>
      propertySignatures.flatMap(({ isOptional, name }) => (isOptional ? [] : [String(name)])).join(" with ")
    )
  return forms.length === 0 || forms.includes("")
    ? undefined
    : `must have ${forms.slice(0, -1).join(", ")} or ${forms.slice(-1).join("")}`
}

/** The objects that a schema describes. */
const objectsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.TypeLiteral> => {
  switch (ast._tag) {
    case "TypeLiteral":
      return [ast]
    case "Refinement":
    case "Transformation":
      return objectsOf(ast.from)
    case "Union":
      return ast.types.flatMap(objectsOf)
    case "Suspend":
      return objectsOf(ast.f())
    default:
      return []
  }
}
