/**
 * Imports a Postman collection v2.1 as a connector definition: every request becomes an action. Nothing that the collection
 * refers to is fetched, its scripts are not run, and its credentials are neither stored nor shown. Pure, and linear in the
 * document.
 */
import { Either } from "effect"
import { isObject, type Json, type JsonObject } from "../../../Json.js"
import { slugOf } from "../../../Slug.js"
import { parseUrl } from "../../../Url.js"
import type { ImportedConnector, OpenApiOptions } from "../OpenApi.js"
import { makeWarningList, objectAt, type OpenApiDocument, textAt, versionOf } from "../OpenApiDocument.js"
import { makeSchemaConversion } from "../SchemaConversion.js"
import { ownOrigin } from "../../request/BaseUrl.js"
import { importServer, makeOwnServers } from "../Servers.js"
import { importCollectionAuth } from "./PostmanAuth.js"
import {
  type CollectionItem,
  type CollectionMistake,
  collectItems,
  descriptionOf,
  readCollection
} from "./PostmanDocument.js"
import { actionNames, importItem, methodOf, pathTemplate } from "./PostmanItem.js"
import { commonBase, readRequestUrl, type RequestUrl, serverOf } from "./PostmanUrl.js"
import { findSecrets, makeVariables, type VariableValue } from "./PostmanVariables.js"

/** The outcome of an import. */
export interface ImportedCollection extends ImportedConnector {
  /** The place of each action's request in the collection. */
  readonly places: ReadonlyArray<string>
}

/** Imports a collection. Left: why it is not one, or what of it cannot be read. */
export const importPostman = (
  value: Json,
  options: OpenApiOptions
): Either.Either<ImportedCollection, CollectionMistake> =>
  Either.gen(function* () {
    const given = yield* readCollection(value)
    const secrets = findSecrets(given, (yield* collectItems(given)).requests)
    const root = secrets.scrub(given)
    const { empty, requests, scripts } = yield* collectItems(root)
    const warnings = makeWarningList()
    const document = emptyDocument(warnings)
    const valueOf = makeVariables(root, secrets.names)
    const auth = importCollectionAuth(document, root, requests, valueOf)
    for (const place of empty) warnings.warn(place, "is neither a request nor a folder: it is left out.")
    if (scripts.length > 0)
      warnings.warn(scripts[0] === "" ? "event" : `${scripts[0]}.event`, scriptWarning(scripts.length))
    const found = requests.flatMap((one) => {
      const method = methodOf(one.request)
      if (method !== undefined) return [{ one, method, url: readRequestUrl(one.request["url"], valueOf) }]
      const name = (textAt(one.request, "method") ?? "").slice(0, 40)
      warnings.warn(`${one.place}.request.method`, `is ${name}, which no action can have: the request is left out.`)
      return []
    })
    if (found.length === 0) return yield* Either.left({ at: "item", message: "has no requests that can be imported" })
    const common = commonBase(
      found.map(({ url }) => url),
      valueOf
    )
    const places = makePlaces(document, found, common, valueOf)
    const conversion = makeSchemaConversion(document)
    const shared = { document, conversion, valueOf, secrets, keyPlace: auth.keyPlace }
    const actions = places.all.map(({ one, ...place }) => importItem(shared, one, place))
    const definition = {
      ...headOf(root, options),
      ...places.server(),
      auth: auth.methods,
      actions
    }
    return { definition, warnings: warnings.list(), places: found.map(({ one }) => one.place) }
  })

const scriptWarning = (count: number) =>
  `has scripts, which are not run${count === 1 ? "" : `, like those of ${count - 1} other places`}: what they set must be an argument of the call.`

/** A document without content, of which the parts of a collection are members. */
const emptyDocument = ({ list, warn }: ReturnType<typeof makeWarningList>): OpenApiDocument => ({
  root: {},
  generation: 3,
  part: (value) => (isObject(value) ? value : {}),
  at: () => undefined,
  warn,
  warnings: list
})

/** The members of the definition that describe the connector. */
const headOf = (root: JsonObject, options: OpenApiOptions): JsonObject => {
  const info = objectAt(root, "info")
  const name = options.name ?? textAt(info, "name")?.trim().slice(0, 200).toWellFormed() ?? "API"
  const description = descriptionOf(info, 2_000)
  const { major = 1, minor = 0, patch = 0 } = objectAt(info, "version")
  const version = isObject(info["version"]) ? [major, minor, patch].join(".") : info["version"]
  return {
    svcConnector: 1,
    slug: options.slug ?? (/[a-z0-9]/i.test(name) ? slugOf(name) : "connector"),
    name,
    ...(description === undefined ? {} : { description }),
    kind: options.kind ?? "custom",
    version: versionOf(version)
  }
}

interface FoundRequest {
  readonly one: CollectionItem
  readonly method: string
  readonly url: RequestUrl
}

/** The paths of the actions below the base URL, and the base URL itself. */
const makePlaces = (
  document: OpenApiDocument,
  found: ReadonlyArray<FoundRequest>,
  { head, prefix }: { readonly head: string; readonly prefix: ReadonlyArray<string> },
  valueOf: VariableValue
) => {
  // The place of the request whose URL is being read, for the warnings of what OpenAPI has as servers.
  let place = `${found.find(({ url }) => url.head === head)?.one.place ?? "item"}.request.url`
  const placed = { ...document, warn: (_path: string, message: string) => document.warn(place, message) }
  const server = importServer({ ...placed, root: { servers: [serverOf(head, prefix, valueOf)] } }, undefined)
  const own = makeOwnServers(placed, server, undefined)
  const located = found.map(({ one, url, ...rest }) => {
    place = `${one.place}.request.url`
    for (const message of url.warnings) document.warn(place, message)
    const isOwn = url.head !== head && url.head !== ""
    const path = pathTemplate(isOwn ? url.segments : url.segments.slice(prefix.length))
    const servers = isOwn ? [serverOf(url.head, [], valueOf)] : []
    const base = own.baseOf({}, { servers }, { method: rest.method, path })
    const isUsable = base === undefined || ownOrigin(base) !== undefined
    if (!isUsable) document.warn(place, `${base} is no valid address: the request is sent to the connector's base URL.`)
    return { one, url, ...rest, path, base: isUsable ? base : undefined }
  })
  const names = actionNames(located)
  return {
    all: located.map((one, at) => ({ ...one, name: names[at] ?? "" })),
    server: (): JsonObject => {
      const connectionConfig = own.configWith(server.connectionConfig)
      const domain = server.origin === undefined ? undefined : parseUrl(server.origin)?.hostname
      return {
        baseUrl: server.baseUrl,
        ...(connectionConfig === undefined ? {} : { connectionConfig }),
        ...(domain === undefined ? {} : { domain })
      }
    }
  }
}
