/** Reads and checks a connector definition that a client sent: as a document, as text, or by its URL. */
import { Context, Duration, Effect, Either, Schema } from "effect"
import { ImportRequest } from "../../../domain/connector/ConnectorRecord.js"
import { decodeText } from "../../../domain/CharacterSets.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { ImportWarning } from "../../../domain/connector/import/OpenApiDocument.js"
import { headerOf } from "../../../domain/connector/request/ProviderAnswer.js"
import { plainOrigin, plainHttpMistake, plainUrls } from "../../../domain/connector/request/PlainHttp.js"
import { type Detail, invalid, Unavailable, ValidationFailed } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { detailsOf } from "../../../domain/Issues.js"
import type { Json, JsonObject } from "../../../domain/Json.js"
import { importBytes, answerItems } from "../../../domain/Limits.js"
import { Computations, type Validated, type TooCostly, tooCostlyDetail } from "../../ports/Computations.js"
import { Egress } from "../../ports/Egress.js"
import { type AnswerHolding, holdAnswers, HeldBytes } from "../../ports/HeldBytes.js"
import { decodeStrict } from "../../../domain/SchemaIssues.js"
import { ShareOwners } from "../../ports/organisation/ShareOwners.js"

/** The networks that the operator allows besides the public internet (`SVC_EGRESS_ALLOW`). */
export class OperatorNetworks extends Context.Tag("svc/OperatorNetworks")<
  OperatorNetworks,
  {
    readonly isEmpty: boolean
    /** Whether all current addresses of the URL's host are in these networks, on the URL's port. */
    readonly covers: (url: string) => Effect.Effect<boolean>
  }
>() {}

/**
 * A checked definition. `warnings`: the parts that an import left out; absent without an import. `isDryRun`: the request only
 * asks what the import would make.
 */
export interface ReadDefinition {
  readonly definition: ConnectorDefinition
  readonly isDryRun: boolean
  readonly warnings?: ReadonlyArray<ImportWarning>
}

const timeout = Duration.seconds(30)

/** All mistakes in a definition as one failure. */
const validationFailure = (details: ReadonlyArray<Detail>): ValidationFailed => {
  const [first] = details
  const all = (code: Detail["code"]) => details.every((detail) => detail.code === code)
  return new ValidationFailed({
    code: all("RESERVED_NAME") ? "RESERVED_NAME" : all("UNKNOWN_FIELD") ? "UNKNOWN_FIELD" : "VALIDATION_FAILED",
    message: first === undefined ? "the definition is not valid" : `${first.path} ${first.message}`.trim(),
    details: details.slice(0, answerItems.details)
  })
}

const readImport = decodeStrict(Schema.Struct({ import: ImportRequest }))

const isUrl = (source: string) => /^https?:\/\/\S+$/i.test(source.trim())

const locationOf = (source: Json) => (typeof source === "string" && isUrl(source) ? { location: source.trim() } : {})

/** The value; fails with all mistakes in the document. */
const valueOrFail = <A>(computation: Effect.Effect<Validated<A>, TooCostly | Unavailable>, path: string) =>
  computation.pipe(
    Effect.catchTag("TooCostly", (error) => validationFailure([tooCostlyDetail(path, error)])),
    Effect.flatMap((result) => (result.ok ? Effect.succeed(result.value) : validationFailure(result.mistakes)))
  )

const make = Effect.gen(function* () {
  const { compute } = yield* Computations
  const egress = yield* Egress
  const networks = yield* OperatorNetworks
  const allowsHttp = !networks.isEmpty
  const ledger = yield* HeldBytes
  const shareOwners = yield* ShareOwners

  /** Refuses URLs without TLS, except for hosts in the operator's networks. */
  const checkPlainUrls = (definition: ConnectorDefinition): Effect.Effect<void, ValidationFailed> =>
    Effect.filter(plainUrls(definition), ({ url }) => {
      const host = plainOrigin(url)
      return host === undefined ? Effect.succeed(true) : Effect.map(networks.covers(host), (covered) => !covered)
    }).pipe(
      Effect.flatMap((found) =>
        found.length === 0 ? Effect.void : validationFailure(found.map(({ path }) => plainHttpMistake(path)))
      )
    )

  const fetchText = (organisationId: OrganisationId, url: string, path: string) =>
    Effect.flatMap(shareOwners.of(organisationId), (owner) =>
      egress.send({
        owner,
        method: "GET",
        url,
        headers: [["accept", "application/json, application/yaml, text/yaml, */*"]],
        body: null,
        timeout,
        maxBytes: importBytes,
        redirects: 3
      })
    ).pipe(
      Effect.catchTags({
        EgressBlocked: ({ reason }) => invalid(path, "URL_NOT_ALLOWED", `cannot be read: ${reason}`),
        EgressUnreachable: ({ reason }) => invalid(path, "UNREACHABLE", `cannot be read: ${reason}`),
        EgressTimedOut: () => invalid(path, "UNREACHABLE", "cannot be read: it took too long"),
        EgressTooLarge: () => invalid(path, "TOO_LARGE", `has more than ${importBytes} bytes`),
        EgressNoMemory: () =>
          new Unavailable({ reason: "the service has no memory for the document now", retryAfterSeconds: 5 }),
        EgressBusy: ({ reason }) =>
          new Unavailable({ reason: `the document was not read: ${reason}`, retryAfterSeconds: 5 })
      }),
      Effect.flatMap(({ body, headers, status }) =>
        status === 200
          ? Effect.mapError(decodeText(body, headerOf(headers, "content-type")), (why) =>
              invalid(path, "INVALID_VALUE", `cannot be read: it ${why}`)
            )
          : invalid(path, "UNREACHABLE", `cannot be read: it answered ${status}`)
      )
    )

  /** The content of a source: the document or text itself, or the text at its URL. */
  const contentOf = (organisation: OrganisationId, source: Json, path: string) =>
    typeof source === "string" && isUrl(source) ? fetchText(organisation, source.trim(), path) : Effect.succeed(source)

  const importFrom = Effect.fnUntraced(function* (organisation: OrganisationId, body: JsonObject, slug?: string) {
    const path = "import.source"
    const { import: request } = yield* Either.mapLeft(readImport({ import: body["import"] }), (issues) =>
      validationFailure(detailsOf(issues, "is not a member of this request"))
    )
    const source = yield* contentOf(organisation, request.source, path)
    const options = {
      ...(request.name === undefined ? {} : { name: request.name }),
      ...(request.kind === undefined ? {} : { kind: request.kind }),
      ...locationOf(request.source),
      ...(slug === undefined && request.slug === undefined ? {} : { slug: slug ?? request.slug ?? "" })
    }
    const imported = compute("importDefinition", organisation, {
      source,
      path,
      format: request.format,
      options,
      allowsHttp: allowsHttp
    })
    return { ...(yield* valueOrFail(imported, path)), isDryRun: request.dryRun === true }
  })

  const held = <A, E>(organisation: OrganisationId, body: Effect.Effect<A, E, AnswerHolding>) =>
    Effect.flatMap(shareOwners.of(organisation), (owner) => holdAnswers(ledger, owner, body))

  const readDefinition = (organisation: OrganisationId, document: JsonObject) =>
    Effect.map(
      valueOrFail(compute("readDefinition", organisation, { document, allowsHttp }), ""),
      (definition): ReadDefinition => ({ definition, isDryRun: false })
    )

  /** The definition in, or imported by, the body of a create or an update. `slug`: the slug that an import must have. */
  const readBody = (organisation: OrganisationId, body: JsonObject, slug?: string) =>
    Effect.tap(
      body["import"] === undefined
        ? readDefinition(organisation, body)
        : held(organisation, importFrom(organisation, body, slug)),
      ({ definition }) => checkPlainUrls(definition)
    )

  /** The definition that an import of an OpenAPI document, or of a URL, would create; nothing is stored. */
  const readOpenApi = (organisation: OrganisationId, document: Json) => {
    const path = "openapi"
    const imported = Effect.flatMap(contentOf(organisation, document, path), (source) => {
      const options = locationOf(document)
      return valueOrFail(compute("importDefinition", organisation, { source, path, format: "openapi", options }), path)
    })
    return held(organisation, imported)
  }

  return { readBody, readOpenApi }
})

export class ConnectorImport extends Effect.Service<ConnectorImport>()("svc/ConnectorImport", { effect: make }) {}
