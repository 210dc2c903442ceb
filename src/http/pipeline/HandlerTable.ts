/**
 * Runs the handlers of the typed API: decodes path, query and body by the endpoint's schemas, and encodes the reply. A
 * request that does not decode is a client error; a reply that does not encode is a defect.
 */
import {
  type HttpApi,
  type HttpApiEndpoint,
  type HttpApiGroup,
  HttpApiSchema,
  HttpServerResponse
} from "@effect/platform"
// oxlint-disable-next-line no-restricted-imports -- The library's types of handlers, in the one place that needs them.
import type { HttpApiBuilder } from "@effect/platform"
import { Context, Effect, Either, Layer, Option, ParseResult, Schema, SchemaAST, type Scope } from "effect"
import { type Failure, NotFound } from "../../domain/Failure.js"
import type { Issue } from "../../domain/Issues.js"
import { decodeStrict, formatIssues } from "../../domain/SchemaIssues.js"
import { type Fields, queryFields } from "../../domain/WebhookPayload.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { answerDefect, decodeFailure } from "../DecodeFailure.js"
import type { RawReply } from "../Wire.js"
import type { Exchange } from "./Exchange.js"

type EndpointHandler = (exchange: Exchange) => Effect.Effect<RawReply, unknown>

/** The handler of each endpoint, by `handlerKey`. */
export class HandlerTable extends Context.Tag("svc/HandlerTable")<HandlerTable, Map<string, EndpointHandler>>() {}

/** An empty table, which the layers of the groups fill. */
export const layer = Layer.sync(HandlerTable, () => new Map())

/** The key of an endpoint in the table: `workflows.create`. */
export const handlerKey = (group: string, endpoint: string): string => `${group}.${endpoint}`

/** Any schema of an endpoint: all of them decode and encode without services. */
type AnySchema = Schema.Schema<unknown, unknown>
type Endpoint = HttpApiEndpoint.HttpApiEndpoint.AnyWithProps
type Request = { readonly path?: unknown; readonly urlParams?: unknown; readonly payload?: unknown }
type Handler = (request: Request) => Effect.Effect<unknown, unknown, CurrentExchange>

// --- Requests ---

/** The parameters of the query; one that is sent several times is a list. */
const queryOf = (target: string): Fields => {
  const at = target.indexOf("?")
  return at < 0 ? {} : queryFields(target.slice(at + 1))
}

/** The decoded parameters; a path with invalid percent-encoding exists nowhere. */
const decodedPath = (params: Exchange["params"]): { readonly [name: string]: string } | NotFound => {
  try {
    return Object.fromEntries(Object.entries(params).map(([name, text]) => [name, decodeURIComponent(text)]))
  } catch {
    return new NotFound({ what: "path" })
  }
}

type Decode = (exchange: Exchange) => Either.Either<unknown, Failure>

const decodeWith =
  (
    decode: (value: unknown) => Either.Either<unknown, ReadonlyArray<Issue>>,
    part: (exchange: Exchange) => unknown
  ): Decode =>
  (exchange) => {
    const value = part(exchange)
    if (value instanceof NotFound) return Either.left(value)
    return Either.mapLeft(decode(value), (issues) => decodeFailure(issues, exchange.request.method))
  }

const decodeLax = (schema: AnySchema) => {
  const decode = Schema.decodeUnknownEither(schema)
  return (value: unknown) => Either.mapLeft(decode(value), formatIssues)
}

/** Only bodies refuse unknown members, where their schema says so. */
const decoderOf = (schema: Schema.Schema.Any) =>
  Option.isSome(SchemaAST.getParseOptionsAnnotation(schema.ast))
    ? decodeStrict(schema as AnySchema)
    : decodeLax(schema as AnySchema)

const requestDecoder = ({ pathSchema, payloadSchema, urlParamsSchema }: Endpoint) => {
  const parts: Array<readonly [keyof Request, Decode]> = []
  if (pathSchema._tag === "Some")
    parts.push(["path", decodeWith(decoderOf(pathSchema.value), ({ params }) => decodedPath(params))])
  // An absent body decodes as an empty object, so that its schema names the required members.
  if (payloadSchema._tag === "Some")
    parts.push(["payload", decodeWith(decoderOf(payloadSchema.value), ({ body }) => (body === undefined ? {} : body))])
  if (urlParamsSchema._tag === "Some")
    parts.push(["urlParams", decodeWith(decoderOf(urlParamsSchema.value), ({ request }) => queryOf(request.target))])
  return (exchange: Exchange): Either.Either<Request, Failure> => {
    const request: { -readonly [part in keyof Request]: unknown } = {}
    for (const [name, decode] of parts) {
      const decoded = decode(exchange)
      if (Either.isLeft(decoded)) return Either.left(decoded.left)
      request[name] = decoded.right
    }
    return Either.right(request)
  }
}

// --- Replies ---

interface SuccessSchema {
  readonly status: number
  readonly schema: AnySchema
}

const successSchemasOf = ({ successSchema }: Endpoint): ReadonlyArray<SuccessSchema> => {
  const schemas = new Set<Schema.Schema.Any>()
  HttpApiSchema.deunionize(schemas, successSchema)
  return Array.from(schemas, (schema) => ({
    status: HttpApiSchema.getStatusSuccessAST(schema.ast),
    schema: schema as AnySchema
  }))
}

const encodeReply = (
  { schema, status }: SuccessSchema,
  value: unknown,
  headers: RawReply["headers"]
): Effect.Effect<RawReply> => {
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

/** The reply of a handler that has encoded it itself, such as an exported definition. */
const replyFromResponse = (
  { body, headers, status }: HttpServerResponse.HttpServerResponse,
  more: RawReply["headers"]
): RawReply => ({
  status,
  headers: { ...headers, ...more },
  body: body._tag === "Uint8Array" ? body.body : ""
})

const makeEndpointHandler = (
  endpoint: Endpoint,
  handler: Handler,
  context: Context.Context<never>
): EndpointHandler => {
  const decode = requestDecoder(endpoint)
  const successes = successSchemasOf(endpoint)
  return (exchange) => {
    const request = decode(exchange)
    if (Either.isLeft(request)) return Effect.fail(request.left)
    return Effect.flatMap(
      Effect.provide(handler(request.right), Context.add(context, CurrentExchange, exchange)),
      (value): Effect.Effect<RawReply> => {
        const success = successes.find(({ status }) => status === exchange.status) ?? successes[0]
        if (HttpServerResponse.isServerResponse(value))
          return Effect.succeed(replyFromResponse(value, exchange.replyHeaders))
        if (success === undefined) return Effect.dieMessage(`${endpoint.name} declares no success`)
        exchange.addRecordHeaders(value, success.status)
        return encodeReply(success, value, exchange.replyHeaders)
      }
    )
  }
}

// --- The table ---

type Handlers<
  ApiError,
  ApiR,
  Groups extends HttpApiGroup.HttpApiGroup.Any,
  Name extends string
> = HttpApiBuilder.Handlers.FromGroup<ApiError, ApiR, HttpApiGroup.HttpApiGroup.WithName<Groups, Name>>

/** The layer that adds a group's handlers to the table. Like `HttpApiBuilder.group`, it does not compile if one is missing. */
export const groupLayer = <
  ApiId extends string,
  Groups extends HttpApiGroup.HttpApiGroup.Any,
  ApiError,
  ApiR,
  const Name extends HttpApiGroup.HttpApiGroup.Name<Groups>,
  Return
>(
  api: HttpApi.HttpApi<ApiId, Groups, ApiError, ApiR>,
  name: Name,
  build: (handlers: Handlers<ApiError, ApiR, Groups, Name>) => HttpApiBuilder.Handlers.ValidateReturn<Return>
): Layer.Layer<
  never,
  HttpApiBuilder.Handlers.Error<Return>,
  HandlerTable | Exclude<HttpApiBuilder.Handlers.Context<Return>, Scope.Scope>
> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const table = yield* HandlerTable
      const context = yield* Effect.context<never>()
      const endpoints = (api.groups as unknown as { readonly [group: string]: HttpApiGroup.HttpApiGroup.AnyWithProps })[
        name
      ]?.endpoints
      const handlers = {
        handle: (endpoint: string, handler: Handler) => {
          const found = endpoints?.[endpoint]
          if (found !== undefined)
            table.set(handlerKey(name, endpoint), makeEndpointHandler(found as Endpoint, handler, context))
          return handlers
        }
      }
      // The library's types of handlers, of which only `handle` is used.
      const built: unknown = build(handlers as unknown as Handlers<ApiError, ApiR, Groups, Name>)
      if (Effect.isEffect(built)) yield* built as Effect.Effect<unknown>
    })
  ) as ReturnType<typeof groupLayer<ApiId, Groups, ApiError, ApiR, Name, Return>>
