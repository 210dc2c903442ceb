/** From what a client sends to a valid definition: the document itself, its text, or the URL where it is. */
import { Duration, Effect, Either, Schema } from "effect"
import { Contracts } from "../../actors/ports/Contracts.js"
import { Documents } from "../../actors/ports/Documents.js"
import { Egress } from "../../actors/ports/Egress.js"
import { ImportRequest } from "../../domain/connector/Connector.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import { fromOpenApi, type OpenApiOptions } from "../../domain/connector/import/OpenApi.js"
import { validate } from "../../domain/connector/Validation.js"
import { mistakesIn } from "../Decode.js"
import { type Detail, invalid, ValidationFailed } from "../../domain/Failure.js"
import { isObject, type Json, type JsonObject, unstorable, unstorableMessage } from "../../domain/Json.js"
import { importBytes } from "../../domain/Limits.js"

const timeout = Duration.seconds(30)
/** More would tell nobody anything. */
const mostDetails = 200

/** Every mistake of a definition as one failure. */
const refused = (details: ReadonlyArray<Detail>): ValidationFailed => {
  const [first] = details
  const all = (code: Detail["code"]) => details.every((detail) => detail.code === code)
  return new ValidationFailed({
    code: all("RESERVED_NAME") ? "RESERVED_NAME" : all("UNKNOWN_FIELD") ? "UNKNOWN_FIELD" : "VALIDATION_FAILED",
    message: first === undefined ? "the definition is not valid" : `${first.path} ${first.message}`.trim(),
    details: details.slice(0, mostDetails)
  })
}

/** A timer, not a yield: requests that wait on the network get their turn, too. */
const othersFirst = Effect.sleep(Duration.zero)

const readImport = Schema.decodeUnknownEither(Schema.Struct({ import: ImportRequest }), {
  onExcessProperty: "error",
  errors: "all"
})

const isAddress = (source: string) => /^https?:\/\/\S+$/i.test(source.trim())

/** The value, if it can be stored. */
const storable = (value: Json, path: string): Either.Either<Json, ValidationFailed> => {
  const bad = unstorable(value)
  return bad === undefined
    ? Either.right(value)
    : Either.left(invalid(path, "NOT_STORABLE", `${bad.path} ${unstorableMessage[bad.reason]}`))
}

export const make = Effect.gen(function* () {
  const contracts = yield* Contracts
  const egress = yield* Egress
  const documents = yield* Documents

  const checked = (document: Json): Effect.Effect<ConnectorDefinition, ValidationFailed> =>
    Either.mapLeft(validate(document, contracts.mistakes), refused)

  const fetched = (url: string, path: string): Effect.Effect<string, ValidationFailed> =>
    egress
      .send({
        method: "GET",
        url,
        headers: [["accept", "application/json, application/yaml, text/yaml, */*"]],
        body: null,
        timeout,
        maxBytes: importBytes,
        redirects: 3
      })
      .pipe(
        Effect.catchTags({
          EgressBlocked: ({ reason }) => invalid(path, "URL_NOT_ALLOWED", `cannot be read: ${reason}`),
          EgressUnreachable: ({ reason }) => invalid(path, "UNREACHABLE", `cannot be read: ${reason}`),
          EgressTimedOut: () => invalid(path, "UNREACHABLE", "cannot be read: it took too long"),
          EgressTooLarge: () => invalid(path, "TOO_LARGE", `has more than ${importBytes} bytes`)
        }),
        Effect.flatMap(({ body, status }) =>
          status === 200
            ? Effect.succeed(new TextDecoder().decode(body))
            : invalid(path, "UNREACHABLE", `cannot be read: it answered ${status}`)
        )
      )

  /** The document behind a source. */
  const documentOf = (source: Json, path: string): Effect.Effect<Json, ValidationFailed> => {
    if (typeof source !== "string") return Effect.succeed(source)
    const text = isAddress(source) ? fetched(source.trim(), path) : Effect.succeed(source)
    return text.pipe(
      Effect.flatMap((content) =>
        Effect.mapError(documents.parse(content), (why) => invalid(path, "SYNTAX_ERROR", why))
      ),
      Effect.flatMap((value) => storable(value, path))
    )
  }

  const ofOpenApi = (document: Json, path: string, options: OpenApiOptions) =>
    // Large documents compute for hundreds of milliseconds: others get their turn in between.
    othersFirst.pipe(
      Effect.flatMap(() =>
        Either.mapLeft(fromOpenApi(document, options), (why) => invalid(path, "INVALID_VALUE", why))
      ),
      Effect.zipLeft(othersFirst),
      Effect.flatMap(checked)
    )

  /** The definition that the body of a create or an update is, or imports. `slug`: what an import must be called. */
  const definitionFrom = (body: JsonObject, slug?: string): Effect.Effect<ConnectorDefinition, ValidationFailed> => {
    if (body["import"] === undefined) return checked(body)
    return Effect.gen(function* () {
      const { import: request } = yield* Either.mapLeft(readImport({ import: body["import"] }), (error) =>
        refused(mistakesIn(error))
      )
      const document = yield* documentOf(request.source, "import.source")
      const options = {
        ...(request.name === undefined ? {} : { name: request.name }),
        ...(request.kind === undefined ? {} : { kind: request.kind }),
        ...(typeof request.source === "string" && isAddress(request.source) ? { location: request.source.trim() } : {}),
        ...(slug === undefined && request.slug === undefined ? {} : { slug: slug ?? request.slug ?? "" })
      }
      if (request.format === "openapi") return yield* ofOpenApi(document, "import.source", options)
      const { location: _location, ...rest } = options
      return yield* checked(isObject(document) ? { ...document, ...rest } : document)
    })
  }

  /** The definition that an OpenAPI document would make; nothing is kept. */
  const offered = (source: Json): Effect.Effect<ConnectorDefinition, ValidationFailed> =>
    Effect.flatMap(documentOf(source, "openapi"), (document) =>
      ofOpenApi(document, "openapi", typeof source === "string" && isAddress(source) ? { location: source.trim() } : {})
    )

  return { definitionFrom, offered }
})
