/**
 * Runs the handlers of the typed API: decodes path, query and body by the endpoint's schemas, encodes the answer. What
 * does not decode is the client's mistake; an answer that does not encode is a defect of the service.
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
import { Context, Effect, Either, Layer, ParseResult, Schema, type Scope } from "effect"
import { type Failure, NotFound } from "../../domain/Failure.js"
import { Current } from "../auth/Authenticated.js"
import { answerDefect, decodeFailure } from "../Decode.js"
import type { RawReply } from "../Wire.js"
import type { Exchange } from "./Exchange.js"

type Run = (exchange: Exchange) => Effect.Effect<RawReply, unknown>

/** What answers each endpoint, by its group and name. */
export class Runners extends Context.Tag("svc/Runners")<Runners, Map<string, Run>>() {}

export const runners = Layer.sync(Runners, () => new Map())

export const runnerName = (group: string, endpoint: string): string => `${group}.${endpoint}`

/** Any schema of an endpoint: all of them decode and encode without services. */
type AnySchema = Schema.Schema<unknown, unknown>
type Endpoint = HttpApiEndpoint.HttpApiEndpoint.AnyWithProps
type Request = { readonly path?: unknown; readonly urlParams?: unknown; readonly payload?: unknown }
type Handler = (request: Request) => Effect.Effect<unknown, unknown, Current>

// --- What is asked ---

/** A parameter that stands there twice is a list. */
const queryOf = (target: string): { readonly [name: string]: string | ReadonlyArray<string> } => {
  const at = target.indexOf("?")
  const query: { [name: string]: string | Array<string> } = Object.create(null)
  if (at < 0) return query
  for (const [name, value] of new URLSearchParams(target.slice(at + 1))) {
    const before = query[name]
    query[name] = before === undefined ? value : [...(typeof before === "string" ? [before] : before), value]
  }
  return query
}

/** An id with invalid percent-encoding is unknown. */
const decodedPath = (params: Exchange["params"]): { readonly [name: string]: string } | NotFound => {
  try {
    return Object.fromEntries(Object.entries(params).map(([name, text]) => [name, decodeURIComponent(text)]))
  } catch {
    return new NotFound({ what: "path" })
  }
}

type Decode = (exchange: Exchange) => Either.Either<unknown, Failure>

const decodeWith =
  (schema: Schema.Schema.Any, part: (exchange: Exchange) => unknown): Decode =>
  (exchange) => {
    const value = part(exchange)
    if (value instanceof NotFound) return Either.left(value)
    return Either.mapLeft(Schema.decodeUnknownEither(schema as AnySchema)(value), (error) =>
      decodeFailure(ParseResult.ArrayFormatter.formatErrorSync(error), exchange.request.method)
    )
  }

const requestOf = ({ pathSchema, payloadSchema, urlParamsSchema }: Endpoint) => {
  const parts: Array<readonly [keyof Request, Decode]> = []
  if (pathSchema._tag === "Some")
    parts.push(["path", decodeWith(pathSchema.value, ({ params }) => decodedPath(params))])
  // An absent body is an empty object: its schema says which members it lacks.
  if (payloadSchema._tag === "Some")
    parts.push(["payload", decodeWith(payloadSchema.value, ({ body }) => (body === undefined ? {} : body))])
  if (urlParamsSchema._tag === "Some")
    parts.push(["urlParams", decodeWith(urlParamsSchema.value, ({ request }) => queryOf(request.target))])
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

// --- What is answered ---

interface Answer {
  readonly status: number
  readonly schema: AnySchema
}

const answersOf = ({ successSchema }: Endpoint): ReadonlyArray<Answer> => {
  const schemas = new Set<Schema.Schema.Any>()
  HttpApiSchema.deunionize(schemas, successSchema)
  return Array.from(schemas, (schema) => ({
    status: HttpApiSchema.getStatusSuccessAST(schema.ast),
    schema: schema as AnySchema
  }))
}

const replyWith = (
  { schema, status }: Answer,
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

/** What a handler has encoded itself: what is stored in the form in which it is answered. */
const replyOf = (
  { body, headers, status }: HttpServerResponse.HttpServerResponse,
  more: RawReply["headers"]
): RawReply => ({
  status,
  headers: { ...headers, ...more },
  body: body._tag === "Uint8Array" ? body.body : ""
})

const runner = (endpoint: Endpoint, handler: Handler, context: Context.Context<never>): Run => {
  const decode = requestOf(endpoint)
  const answers = answersOf(endpoint)
  return (exchange) => {
    const request = decode(exchange)
    if (Either.isLeft(request)) return Effect.fail(request.left)
    return Effect.flatMap(
      Effect.provide(handler(request.right), Context.add(context, Current, exchange)),
      (value): Effect.Effect<RawReply> => {
        const answer = answers.find(({ status }) => status === exchange.status) ?? answers[0]
        if (HttpServerResponse.isServerResponse(value)) return Effect.succeed(replyOf(value, exchange.replyHeaders))
        if (answer === undefined) return Effect.dieMessage(`${endpoint.name} declares no answer`)
        exchange.describe(value, answer.status)
        return replyWith(answer, value, exchange.replyHeaders)
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

/** Gives a group of endpoints its handlers; like the library's own, of which the types say which one is missing. */
export const group = <
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
  Runners | Exclude<HttpApiBuilder.Handlers.Context<Return>, Scope.Scope>
> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const table = yield* Runners
      const context = yield* Effect.context<never>()
      const endpoints = (api.groups as unknown as { readonly [group: string]: HttpApiGroup.HttpApiGroup.AnyWithProps })[
        name
      ]?.endpoints
      const handlers = {
        handle: (endpoint: string, handler: Handler) => {
          const found = endpoints?.[endpoint]
          if (found !== undefined) table.set(runnerName(name, endpoint), runner(found as Endpoint, handler, context))
          return handlers
        }
      }
      // The library's types of handlers, of which only `handle` is used.
      const built: unknown = build(handlers as unknown as Handlers<ApiError, ApiR, Groups, Name>)
      if (Effect.isEffect(built)) yield* built as Effect.Effect<unknown>
    })
  ) as ReturnType<typeof group<ApiId, Groups, ApiError, ApiR, Name, Return>>
