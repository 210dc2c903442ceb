/** Bodies that fit no schema, in each member of each endpoint's body: refusing them costs by their length. */
import { Either, type SchemaAST } from "effect"
import { bodyBytes } from "../../../src/domain/Limits.js"
import { decodeStrict } from "../../../src/domain/SchemaIssues.js"
import { decodeFailure } from "../../../src/http/DecodeFailure.js"
import type { Contract } from "../../../src/http/operation/Contract.js"
import { surfaceA, surfaceB, surfaceC, surfaceCStart } from "../../../src/http/operations/Surfaces.js"

/** Values of a size in bytes of JSON. Those of objects and lists are as many as the bound of JSON allows. */
const worstMembers: { readonly [name: string]: (size: number) => unknown } = {
  numbers: (size) => Array.from({ length: size / 2 }, () => 0),
  texts: (size) => Array.from({ length: size / 4 }, () => "a"),
  objects: (size) => Array.from({ length: size / 7 }, () => ({})),
  lists: (size) => Array.from({ length: size / 7 }, () => []),
  records: (size) => Array.from({ length: size / 40 }, () => ({ id: "a", type: "b", name: "c" })),
  "unknown members": (size) => Object.fromEntries(Array.from({ length: size / 25 }, (_, at) => [`k${at}`, 0])),
  "unknown objects": (size) => Object.fromEntries(Array.from({ length: size / 28 }, (_, at) => [`k${at}`, {}])),
  "one text": (size) => "a".repeat(size),
  spaces: (size) => " ".repeat(size)
}

/** The members of a body, by name. */
const membersOf = (ast: SchemaAST.AST): ReadonlyArray<readonly [name: string, type: SchemaAST.AST]> => {
  switch (ast._tag) {
    case "TypeLiteral":
      return ast.propertySignatures.map(({ name, type }) => [String(name), type])
    case "Transformation":
    case "Refinement":
      return membersOf(ast.from)
    case "Union":
      return [...new Map(ast.types.flatMap(membersOf))]
    case "Suspend":
      return membersOf(ast.f())
    default:
      return []
  }
}

/** An endpoint's body: its members, and how a body is refused. */
export interface BodyCase {
  readonly name: string
  /** The members whose type no case before this one has: equal types cost the same. */
  readonly members: ReadonlyArray<string>
  readonly refuse: (body: unknown) => unknown
  /** The largest body, in bytes. */
  readonly most: number
}

const measured = new Set<SchemaAST.AST>()

/** Whether a case before this one has a member of this type. */
const isMeasured = (type: SchemaAST.AST): boolean => {
  const has = measured.has(type)
  measured.add(type)
  return has
}

const bodiesOf = (operations: ReadonlyArray<Contract>, most: number): ReadonlyArray<BodyCase> =>
  operations.flatMap(({ group, input: { body }, method, name }) => {
    if (body === undefined) return []
    const decode = decodeStrict(body)
    return [
      {
        name: `${group}.${name}`,
        members: membersOf(body.ast).flatMap(([member, type]) => (isMeasured(type) ? [] : [member])),
        most,
        refuse: (sent: unknown) => Either.mapLeft(decode(sent), (issues) => decodeFailure(issues, method))
      }
    ]
  })

export const bodyCases: ReadonlyArray<BodyCase> = [
  ...bodiesOf(surfaceC, bodyBytes.management),
  ...bodiesOf(surfaceB, bodyBytes.management),
  ...bodiesOf([...surfaceA, ...surfaceCStart], bodyBytes.execute)
]

/** The bound of JSON allows no more values than in a megabyte; a single text may have the size of the body. */
const mostValues = bodyBytes.management

/** The worst members of a body of at most this size, each built once for each size. */
export const membersUpTo = (most: number) =>
  Object.entries(worstMembers).map(([name, make]) => {
    const built = new Map<number, unknown>()
    const ofSize = (size: number): unknown => {
      const value = built.get(size) ?? make(size)
      built.set(size, value)
      return value
    }
    return { name, ofSize, most: name === "one text" || name === "spaces" ? most : Math.min(most, mostValues) }
  })
