/** From what a client sends to a valid definition: the document itself, its text, or the URL where it is. */
import { Duration, Effect, Either, Schema } from "effect"
import { Computations, type Judged, type TooCostly, tooCostlyDetail } from "../../actors/ports/Computations.js"
import { Egress } from "../../actors/ports/Egress.js"
import { ImportRequest } from "../../domain/connector/Connector.js"
import type { ImportWarning } from "../../domain/connector/import/Document.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { Principal } from "../../actors/management/Caller.js"
import { mistakesIn } from "../Decode.js"
import { type Detail, invalid, type Unavailable, ValidationFailed } from "../../domain/Failure.js"
import type { Json, JsonObject } from "../../domain/Json.js"
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

const readImport = Schema.decodeUnknownEither(Schema.Struct({ import: ImportRequest }), {
  onExcessProperty: "error",
  errors: "all"
})

/** `warnings`: what an import could not take over; absent where nothing was imported. */
interface ReadDefinition {
  readonly definition: ConnectorDefinition
  readonly warnings?: ReadonlyArray<ImportWarning>
}

const isAddress = (source: string) => /^https?:\/\/\S+$/i.test(source.trim())

export const make = Effect.gen(function* () {
  const { compute } = yield* Computations
  const egress = yield* Egress

  /** The definition, or every mistake in the document as one failure. */
  const judged = <A>(
    computation: Effect.Effect<Judged<A>, TooCostly | Unavailable>,
    path: string
  ): Effect.Effect<A, ValidationFailed | Unavailable> =>
    computation.pipe(
      Effect.catchTag("TooCostly", (error) => refused([tooCostlyDetail(path, error)])),
      Effect.flatMap((result) => (result.ok ? Effect.succeed(result.value) : refused(result.mistakes)))
    )

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

  /** What a source holds: the document, its text, or the text behind its URL. */
  const contentOf = (source: Json, path: string): Effect.Effect<Json, ValidationFailed> =>
    typeof source === "string" && isAddress(source) ? fetched(source.trim(), path) : Effect.succeed(source)

  const locationOf = (source: Json) =>
    typeof source === "string" && isAddress(source) ? { location: source.trim() } : {}

  /** The definition that the body of a create or an update is, or imports. `slug`: what an import must be called. */
  const definitionFrom = (
    { organisationId }: Principal,
    body: JsonObject,
    slug?: string
  ): Effect.Effect<ReadDefinition, ValidationFailed | Unavailable> => {
    if (body["import"] === undefined)
      return Effect.map(judged(compute("readDefinition", organisationId, body), ""), (definition) => ({ definition }))
    const path = "import.source"
    return Effect.gen(function* () {
      const { import: request } = yield* Either.mapLeft(readImport({ import: body["import"] }), (error) =>
        refused(mistakesIn(error))
      )
      const source = yield* contentOf(request.source, path)
      const options = {
        ...(request.name === undefined ? {} : { name: request.name }),
        ...(request.kind === undefined ? {} : { kind: request.kind }),
        ...locationOf(request.source),
        ...(slug === undefined && request.slug === undefined ? {} : { slug: slug ?? request.slug ?? "" })
      }
      const imported = compute("importDefinition", organisationId, { source, path, format: request.format, options })
      return yield* judged(imported, path)
    })
  }

  /** The definition that an OpenAPI document would make; nothing is kept. */
  const offered = ({ organisationId }: Principal, document: Json) =>
    Effect.flatMap(contentOf(document, "openapi"), (source) =>
      judged(
        compute("importDefinition", organisationId, {
          source,
          path: "openapi",
          format: "openapi",
          options: locationOf(document)
        }),
        "openapi"
      )
    )

  return { definitionFrom, offered }
})
