/** Bodies that fit no schema, in each member of each endpoint's body: refusing them costs by their length. */
import { HttpApi } from "@effect/platform"
import { Either, Option, type Schema, type SchemaAST } from "effect"
import { bodyBytes } from "../../../src/domain/Limits.js"
import { decodeStrict } from "../../../src/domain/SchemaIssues.js"
import { decodeFailure } from "../../../src/http/DecodeFailure.js"
import { ExecutionApi, RunApi } from "../../../src/http/execution/Api.js"
import { ResourceApi } from "../../../src/http/resource/Api.js"
import { TenantApi } from "../../../src/http/tenant/Api.js"

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

type Groups = Parameters<typeof HttpApi.reflect>[0]["groups"][string]

const bodiesOf = <Id extends string, G extends Groups, E, R>(
  api: HttpApi.HttpApi<Id, G, E, R>,
  most: number
): ReadonlyArray<BodyCase> => {
  const bodies: Array<BodyCase> = []
  HttpApi.reflect(api, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint, group }) => {
      const schema = Option.getOrUndefined(endpoint.payloadSchema)
      if (schema === undefined) return
      // `reflect` does not know the types of schemas; each of a body decodes without services.
      const decode = decodeStrict(schema as unknown as Schema.Schema<unknown, unknown>)
      bodies.push({
        name: `${group.identifier}.${endpoint.name}`,
        members: membersOf(schema.ast).flatMap(([name, type]) => (isMeasured(type) ? [] : [name])),
        most,
        refuse: (body) => Either.mapLeft(decode(body), (issues) => decodeFailure(issues, endpoint.method))
      })
    }
  })
  return bodies
}

export const bodyCases: ReadonlyArray<BodyCase> = [
  ...bodiesOf(ResourceApi, bodyBytes.management),
  ...bodiesOf(TenantApi, bodyBytes.management),
  ...bodiesOf(ExecutionApi, bodyBytes.execute),
  ...bodiesOf(RunApi, bodyBytes.execute)
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
