/**
 * The lock file of the messages between nodes: nodes of two neighbouring releases talk, so that a message of one number
 * never changes. Each protocol has a number here, and its shapes in the file by number. `npm run generate` adds a shape
 * under a new number if the one before reads its messages, and never replaces one.
 */
import { Schema, SchemaAST } from "effect"
import { type Rpc, RpcSchema } from "@effect/rpc"
import { Connection } from "../../src/actors/connection/Protocol.js"
import { Execution } from "../../src/actors/execution/Protocol.js"
import { OrganisationLimits } from "../../src/actors/organisation/Protocol.js"
import { NodeStartRpcs, StartOrder, StartOutcome } from "../../src/actors/ports/run/NodeStarts.js"
import { ProviderLimit } from "../../src/actors/provider/Protocol.js"
import { Shard } from "../../src/actors/shard/Protocol.js"
import type { PlainMessages } from "./messageTypes.js"
import { canonicalJson, type Json } from "../../src/domain/Json.js"

/** What a message looks like on the wire. A member whose name ends with `?` may be absent. */
export type MessageShape =
  | string
  | { readonly literal: string | number | boolean | null }
  | { readonly type: string }
  | { readonly items: MessageShape }
  | { readonly tuple: ReadonlyArray<MessageShape> }
  | { readonly anyOf: ReadonlyArray<MessageShape> }
  | { readonly members: Shapes; readonly others?: MessageShape }
type Shapes = { readonly [name: string]: MessageShape }

/** The shapes of the types without a schema, which tests leave out. */
type PlainShapes = { readonly [name in keyof PlainMessages]?: MessageShape }

/** Protocol → number → message → shape. */
export type MessageLock = Readonly<Record<string, Readonly<Record<string, Shapes>>>>

export interface NodeProtocol {
  readonly number: number
  readonly messages: Shapes
}

export const messageLockFile = "test/runtime/messages.lock.json"

/** The schemas of the messages of each protocol, by message and part. */
export const messageSchemas = (): Readonly<Record<string, Readonly<Record<string, Schema.Schema.AnyNoContext>>>> => ({
  Connection: ofRpcs(Connection.protocol.requests),
  Execution: ofRpcs(Execution.protocol.requests),
  OrganisationLimits: ofRpcs(OrganisationLimits.protocol.requests),
  ProviderLimit: ofRpcs(ProviderLimit.protocol.requests),
  Shard: ofRpcs(Shard.protocol.requests),
  NodeStarts: {
    ...ofRpcs(NodeStartRpcs.requests),
    "Begin order": Schema.make(textOf(StartOrder)),
    "Begin outcome": Schema.make(textOf(StartOutcome))
  }
})

/** Raise the number of a protocol with each change of its messages. */
const numbers: Readonly<Record<string, number>> = {
  Connection: 2,
  Execution: 1,
  OrganisationLimits: 1,
  ProviderLimit: 1,
  Shard: 1,
  NodeStarts: 1,
  // The version of the libraries, whose own messages carry those of the others.
  library: 1
}

/**
 * The protocols as they are. `plain`: the shapes of the types without a schema; `libraries`: the versions of those that
 * carry messages.
 */
export const nodeProtocols = (plain: PlainShapes, libraries: Shapes): Readonly<Record<string, NodeProtocol>> => ({
  ...mapValues(messageSchemas(), (schemas, name) => ({
    number: numbers[name] ?? 0,
    messages: {
      ...mapValues(schemas, ({ ast }) => shapeOf(SchemaAST.encodedAST(ast))),
      ...(name === "NodeStarts" ? plain : {})
    }
  })),
  library: { number: numbers["library"] ?? 0, messages: libraries }
})

/** The lock with new numbers added, and a message for each change that violates it, with what to do. */
export const addMessages = (
  lock: MessageLock,
  protocols: Readonly<Record<string, NodeProtocol>>
): { readonly lock: MessageLock; readonly broken: ReadonlyArray<string> } => {
  const broken: Array<string> = []
  const next = mapValues(protocols, ({ messages, number }, name) => {
    const before = lock[name] ?? {}
    const last = Math.max(0, ...Object.keys(before).map(Number))
    const known = before[number]
    const [previous] = known === undefined && last > 0 ? [before[last]] : []
    if (known !== undefined && canonicalJson(known as Json) !== canonicalJson(messages as Json))
      broken.push(
        `the messages of ${name} are no longer those of number ${number}: ${differences(known, messages, name).join("; ") || "they read more"}; raise its number to ${last + 1} in test/support/messageLock.ts`
      )
    else if (number !== last && number !== last + 1)
      broken.push(`${name} has the number ${number}, and its lock ends with ${last}: give it ${last} or ${last + 1}`)
    else if (previous !== undefined && name !== "library") broken.push(...differences(previous, messages, name))
    return { ...before, [number]: known ?? messages }
  })
  for (const name of Object.keys(lock))
    if (protocols[name] === undefined) broken.push(`the protocol ${name} is gone, and the release before uses it`)
  return { lock: broken.length > 0 ? lock : next, broken }
}

/** The lock without these numbers (`PROTOCOL@NUMBER`), which no release contains. Throws if the lock does not have one. */
export const removeMessages = (lock: MessageLock, names: ReadonlyArray<string>): MessageLock => {
  const left = new Set(names)
  const kept = mapValues(lock, (numbered, name) =>
    Object.fromEntries(Object.entries(numbered).filter(([number]) => !left.delete(`${name}@${number}`)))
  )
  if (left.size > 0) throw new Error(`${messageLockFile} holds no ${[...left].join(", ")}`)
  return kept
}

export const messageLockText = (lock: MessageLock): string => `${JSON.stringify(lock, null, 1)}\n`

/** What a node of the release before could not read, or would miss, of messages with the next shapes. */
export const differences = (before: Shapes, next: Shapes, at: string): ReadonlyArray<string> => [
  ...Object.entries(before).flatMap(([name, shape]) => {
    const there = next[name]
    return there === undefined
      ? [`${at}.${name} is gone or is no longer ${name.endsWith("?") ? "optional" : "required"}: leave it as it was`]
      : difference(shape, there, `${at}.${name}`)
  }),
  ...Object.keys(next)
    .filter((name) => before[name] === undefined && !name.endsWith("?") && !isMessage(at) && !isChanged(before, name))
    .map((name) => `${at}.${name} is new and required: the release before does not send it, so make it optional`)
]

/** Reported as gone. */
const isChanged = (before: Shapes, name: string): boolean => before[`${name}?`] !== undefined

/** A protocol may get further messages: a release sends them once it is confirmed. */
const isMessage = (at: string): boolean => !at.includes(".")

const difference = (before: MessageShape, next: MessageShape, at: string): ReadonlyArray<string> => {
  if (canonicalJson(before as Json) === canonicalJson(next as Json)) return []
  if (typeof before === "object" && typeof next === "object") {
    if ("members" in before && "members" in next) {
      const others = { before: before.others ?? "none", next: next.others ?? "none" }
      return [...differences(before.members, next.members, at), ...difference(others.before, others.next, `${at}.*`)]
    }
    if ("items" in before && "items" in next) return difference(before.items, next.items, `${at}[]`)
    if ("tuple" in before && "tuple" in next && before.tuple.length === next.tuple.length)
      return before.tuple.flatMap((shape, index) => difference(shape, next.tuple[index] ?? "none", `${at}[${index}]`))
    if ("anyOf" in before && "anyOf" in next)
      // Further alternatives may come: a release sends them once it is confirmed.
      return before.anyOf.flatMap((shape) => {
        const alike = next.anyOf.filter((one) => tagOf(one) === tagOf(shape))
        const found = alike.map((one) => difference(shape, one, `${at}.${tagOf(shape)}`))
        return found.some((each) => each.length === 0) ? [] : (found[0] ?? [`${at}.${tagOf(shape)} is gone: leave it`])
      })
  }
  return [`${at} is another: leave it as it was, and add an optional member`]
}

/** Tells the alternatives of a union apart. */
const tagOf = (shape: MessageShape): string => {
  if (typeof shape === "string") return shape
  const tag = "members" in shape ? shape.members["_tag"] : undefined
  if (tag !== undefined && typeof tag === "object" && "literal" in tag) return String(tag.literal)
  return "literal" in shape ? JSON.stringify(shape.literal) : Object.keys(shape).sort().join()
}

// --- Shapes of schemas ---

type AnyRpc = Pick<Rpc.AnyWithProps, "payloadSchema" | "successSchema" | "errorSchema">

/** The parts of each message: what is sent, what is answered, and the failure. */
const ofRpcs = (rpcs: ReadonlyMap<string, unknown>) =>
  Object.fromEntries(
    // The group hides what its messages are made of.
    ([...rpcs] as ReadonlyArray<readonly [string, AnyRpc]>).flatMap(([tag, rpc]) => {
      const { errorSchema, payloadSchema, successSchema } = rpc
      const success = RpcSchema.isStreamSchema(successSchema) ? successSchema.success : successSchema
      return [
        [`${tag} request`, payloadSchema as Schema.Schema.AnyNoContext],
        [`${tag} answer`, success as Schema.Schema.AnyNoContext],
        [`${tag} failure`, errorSchema as Schema.Schema.AnyNoContext]
      ]
    })
  )

/** What a message that is sent as text contains. */
const textOf = ({ ast }: Schema.Schema.AnyNoContext): SchemaAST.AST => (SchemaAST.isTransformation(ast) ? ast.to : ast)

const shapeOf = (ast: SchemaAST.AST): MessageShape => {
  switch (ast._tag) {
    case "Literal":
      return { literal: typeof ast.literal === "bigint" ? String(ast.literal) : ast.literal }
    case "Union": {
      const shapes = ast.types.filter((type) => type._tag !== "UndefinedKeyword").map(shapeOf)
      const sorted = shapes.toSorted((one, other) =>
        canonicalJson(one as Json) < canonicalJson(other as Json) ? -1 : 1
      )
      return sorted.length === 1 && sorted[0] !== undefined ? sorted[0] : { anyOf: sorted }
    }
    case "TypeLiteral": {
      const members = ast.propertySignatures
        .map(({ isOptional, name, type }) => [isOptional ? `${String(name)}?` : String(name), shapeOf(type)] as const)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
      const [index] = ast.indexSignatures
      return { members: Object.fromEntries(members), ...(index === undefined ? {} : { others: shapeOf(index.type) }) }
    }
    case "TupleType": {
      const [rest] = ast.rest
      return ast.elements.length === 0 && rest !== undefined
        ? { items: shapeOf(rest.type) }
        : { tuple: ast.elements.map(({ type }) => shapeOf(type)) }
    }
    case "Refinement":
      return shapeOf(ast.from)
    case "Declaration":
    case "Suspend":
      return { type: String(ast.annotations[SchemaAST.IdentifierAnnotationId] ?? ast) }
    default:
      return ast._tag.replace("Keyword", "").toLowerCase()
  }
}

const mapValues = <A, B>(record: Readonly<Record<string, A>>, to: (value: A, name: string) => B) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, to(value, name)]))
