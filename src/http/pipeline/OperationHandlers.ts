/**
 * Answers operations over HTTP: decodes path, query and body by the contract, runs the use case, and encodes the reply. A
 * request that does not decode is a client error; a reply that does not encode is a defect.
 */
import { HttpApiSchema } from "@effect/platform"
import { Context, Effect, Either, Layer, Option, ParseResult, Schema, SchemaAST } from "effect"
import { type Failure, NotFound } from "../../domain/Failure.js"
import type { Issue } from "../../domain/Issues.js"
import { decodeStrict, formatIssues } from "../../domain/SchemaIssues.js"
import { type Fields, queryFields } from "../../domain/event/WebhookPayload.js"
import { answerDefect, decodeFailure } from "../DecodeFailure.js"
import type { AnySchema, Contract, Answer } from "../operation/Contract.js"
import type { AnyCall, Operation, ServicesOf } from "../operation/Operation.js"
import type { RawReply, StreamedBody } from "../Wire.js"
import type { Exchange } from "./Exchange.js"

export type OperationHandler = (exchange: Exchange) => Effect.Effect<RawReply, unknown>

// --- Requests ---

/** The parameters of the query; one that is sent several times is a list. */
const queryOf = (target: string): Fields => {
  const at = target.indexOf("?")
  return at < 0 ? {} : queryFields(target.slice(at + 1))
}

/** The decoded parameters; a path with invalid percent-encoding exists nowhere. */
const decodedPath = (params: Exchange["params"]) =>
  Either.try({
    try: () => Object.fromEntries(Object.entries(params).map(([name, text]) => [name, decodeURIComponent(text)])),
    catch: () => new NotFound({ what: "path" })
  })

type Decode = (exchange: Exchange) => Either.Either<unknown, Failure>

const decodeWith =
  (
    decode: (value: unknown) => Either.Either<unknown, ReadonlyArray<Issue>>,
    part: (exchange: Exchange) => Either.Either<unknown, Failure>
  ): Decode =>
  (exchange) =>
    Either.flatMap(part(exchange), (value) =>
      Either.mapLeft(decode(value), (issues) => decodeFailure(issues, exchange.request.method))
    )

const decodeLax = (schema: AnySchema) => {
  const decode = Schema.decodeUnknownEither(schema)
  return (value: unknown) => Either.mapLeft(decode(value), formatIssues)
}

/** Only bodies refuse unknown members, where their schema says so. */
const decoderOf = (schema: AnySchema) =>
  Option.isSome(SchemaAST.getParseOptionsAnnotation(schema.ast)) ? decodeStrict(schema) : decodeLax(schema)

const callDecoder = ({ input: { body, path, query } }: Form) => {
  const parts: Array<readonly [keyof Contract["input"], Decode]> = []
  if (path !== undefined) parts.push(["path", decodeWith(decoderOf(path), ({ params }) => decodedPath(params))])
  // An absent body decodes as an empty object, so that its schema names the required members.
  if (body !== undefined)
    parts.push(["body", decodeWith(decoderOf(body), ({ body: sent }) => Either.right(sent === undefined ? {} : sent))])
  if (query !== undefined)
    parts.push(["query", decodeWith(decoderOf(query), ({ request }) => Either.right(queryOf(request.target)))])
  return (exchange: Exchange): Either.Either<AnyCall, Failure> => {
    const call: { -readonly [member in keyof AnyCall]: unknown } = {
      context: exchange,
      path: undefined,
      query: undefined,
      body: undefined
    }
    for (const [name, decode] of parts) {
      const decoded = decode(exchange)
      if (Either.isLeft(decoded)) return Either.left(decoded.left)
      call[name] = decoded.right
    }
    return Either.right({ ...call, context: exchange })
  }
}

// --- Replies ---

const encodeReply = (
  { isStreamed = false, schema, status }: Answer,
  value: unknown,
  headers: RawReply["headers"]
): Effect.Effect<RawReply> => {
  if (isStreamed) {
    const type = HttpApiSchema.getEncoding(schema.ast).contentType
    // The type of the output says so.
    return Effect.succeed({ status, headers: { "content-type": type, ...headers }, body: value as StreamedBody })
  }
  if (HttpApiSchema.isVoid(schema.ast)) return Effect.succeed({ status, headers, body: "" })
  const encoded = Schema.encodeUnknownEither(schema)(value)
  if (Either.isLeft(encoded)) return Effect.die(answerDefect(ParseResult.ArrayFormatter.formatErrorSync(encoded.left)))
  const { contentType, kind } = HttpApiSchema.getEncoding(schema.ast)
  const body =
    kind === "Json"
      ? JSON.stringify(encoded.right)
      : encoded.right instanceof Uint8Array
        ? encoded.right
        : `${encoded.right}`
  return Effect.succeed({ status, headers: { "content-type": contentType, ...headers }, body })
}

/** What decides how a call is read and answered. */
type Form = Pick<Contract, "group" | "name" | "input" | "outputs">

type Run = (call: AnyCall) => Effect.Effect<unknown, Failure>

const handlerOf = (contract: Form, run: Run): OperationHandler => {
  const decode = callDecoder(contract)
  const [first] = contract.outputs
  if (first === undefined) throw new Error(`${contract.group}.${contract.name} declares no answer`)
  return (exchange) => {
    const call = decode(exchange)
    if (Either.isLeft(call)) return Effect.fail(call.left)
    return Effect.flatMap(run(call.right), (value) => {
      const answer = contract.outputs.find(({ status }) => status === exchange.status) ?? first
      exchange.addRecordHeaders(value, answer.status)
      return encodeReply(answer, value, exchange.replyHeaders)
    })
  }
}

/** The handler of an operation, and another one for embed sessions, if these may call it. */
const eitherHandler = (one: Operation, run: Run, runForSession: Run | undefined): OperationHandler => {
  const usual = handlerOf(one, run)
  if (one.sessions === undefined || runForSession === undefined) return usual
  const { input, outputs } = one.sessions
  const ofSession = handlerOf({ ...one, input: { ...one.input, ...input }, outputs }, runForSession)
  return (exchange) => (exchange.caller.embedded === null ? usual : ofSession)(exchange)
}

/** The handler of each operation. */
export class OperationHandlers extends Context.Tag("svc/OperationHandlers")<
  OperationHandlers,
  ReadonlyMap<Contract, OperationHandler>
>() {}

/** The handlers of these operations, with the services that their rows name. */
export const handlersOf = <O extends Operation>(
  operations: ReadonlyArray<O>
): Layer.Layer<OperationHandlers, never, ServicesOf<O>> =>
  Layer.effect(
    OperationHandlers,
    Effect.map(
      // The services of all rows, which the table's type lists.
      Effect.forEach(operations as ReadonlyArray<Operation<ServicesOf<O>>>, (one) =>
        Effect.map(
          Effect.all([one.prepare, one.prepareForSessions ?? Effect.succeed(undefined)]),
          ([run, runForSession]) => [one, eitherHandler(one, run, runForSession)] as const
        )
      ),
      (handlers) => new Map<Contract, OperationHandler>(handlers)
    )
  )
