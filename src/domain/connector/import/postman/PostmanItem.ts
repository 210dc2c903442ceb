/** Imports a request of a Postman collection as an action: it is read as an operation of OpenAPI. */
import { isSecretHeader, redactMembers } from "../../../access/SecretNames.js"
import { isList, isObject, type Json, type JsonObject } from "../../../Json.js"
import { isHeaderName, isHeaderText } from "../../request/ValueEncoding.js"
import { listAt, objectAt, type OpenApiDocument, textAt, UniqueNames } from "../OpenApiDocument.js"
import { actionName, importOperation } from "../Operation.js"
import type { SchemaConversion } from "../SchemaConversion.js"
import { parseExample, readBody, scalar } from "./PostmanBody.js"
import { type CollectionItem, descriptionOf } from "./PostmanDocument.js"
import { namesIn, type RequestUrl, segmentTemplate } from "./PostmanUrl.js"
import { type CollectionSecrets, fill, type VariableValue } from "./PostmanVariables.js"

/** What the requests of a collection share. */
export interface SharedParts {
  readonly document: OpenApiDocument
  readonly conversion: SchemaConversion
  readonly valueOf: VariableValue
  readonly secrets: CollectionSecrets
  /** Where the connector's API key is sent: `header x-api-key`. */
  readonly keyPlace: string | undefined
}

/** The place of a request in the connector. */
export interface ActionPlace {
  readonly method: string
  readonly name: string
  readonly url: RequestUrl
  /** The path below the base URL, as OpenAPI writes it. */
  readonly path: string
  /** The action's own base URL; `undefined`: the connector's. */
  readonly base: string | undefined
}

const methods = new Set(["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH"])

/** The method of a request, which is GET without one; `undefined`: actions do not have it. */
export const methodOf = (request: JsonObject): string | undefined => {
  const method = (textAt(request, "method") ?? "GET").trim().toUpperCase()
  return methods.has(method) ? method : undefined
}

/** The path of segments. */
export const pathTemplate = (segments: ReadonlyArray<string>): string => `/${segments.map(segmentTemplate).join("/")}`

/** Names the actions by their items: one that several have begins with the folder's. */
export const actionNames = (
  items: ReadonlyArray<{ readonly one: CollectionItem; readonly method: string; readonly path: string }>
): ReadonlyArray<string> => {
  const nameOf = (text: string, method: string, path: string, used: UniqueNames) =>
    actionName(/[A-Za-z0-9]/.test(text) ? { operationId: text } : {}, method, path, used)
  const plain = items.map(({ method, one, path }) => nameOf(lowerFirstWord(one.name), method, path, new UniqueNames()))
  const counts = new Map<string, number>()
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1)
  const used = new UniqueNames()
  return items.map(({ method, one, path }, at) => {
    const isShared = (counts.get(plain[at] ?? "") ?? 0) > 1 && one.folder !== undefined
    const text = isShared && /[A-Za-z0-9]/.test(one.name) ? `${one.folder} ${one.name}` : one.name
    return nameOf(lowerFirstWord(text), method, path, used)
  })
}

/** `GET users` is named `getUsers`. */
const lowerFirstWord = (text: string): string =>
  text.replace(/^[^A-Za-z0-9]*([A-Z][A-Z0-9]+)(?![a-z])/, (word) => word.toLowerCase())

/** The action of a request, as in a definition. */
export const importItem = (shared: SharedParts, one: CollectionItem, place: ActionPlace): JsonObject => {
  const { conversion, keyPlace } = shared
  const at = `${one.place}.request`
  const document = { ...shared.document, warn: (_path: string, message: string) => shared.document.warn(at, message) }
  const report = (message: string) => shared.document.warn(`${at}.body`, message)
  const headers = headersOf(one.request)
  const type = headers.find(({ name }) => name.toLowerCase() === "content-type")
  const body = readBody(one.request, type === undefined ? undefined : fill(type.value, shared.valueOf), report)
  if (body !== undefined && ["GET", "HEAD"].includes(place.method))
    report(`is left out: a ${place.method} request has no body.`)
  const sent = headers.filter(({ name }) => keyPlace !== `header ${name.toLowerCase()}`)
  const description = descriptionOf(one.request, 1_000) ?? descriptionOf(one.item, 1_000)
  const operation: JsonObject = {
    ...(one.name === "" ? {} : { summary: one.name }),
    ...(description === undefined ? {} : { description }),
    parameters: [
      ...pathParameters(place),
      ...queryParameters(place.url, keyPlace),
      ...sent.map(({ description, name }) => ({
        in: "header",
        name,
        schema: { type: "string" },
        ...(description === undefined ? {} : { description })
      }))
    ],
    ...(body === undefined ? {} : { requestBody: body })
  }
  const { base, method, name, path } = place
  const action = importOperation(document, conversion, operation, { method, path, name, shared: [], base })
  const mocks = mocksOf(one.item, shared.secrets)
  return { ...withHeaderValues(action, sent, shared), ...(mocks.length === 0 ? {} : { mocks }) }
}

const pathParameters = ({ path, url }: ActionPlace): ReadonlyArray<JsonObject> =>
  namesIn(path).map((name) => {
    const description = url.descriptions.get(name)
    return {
      in: "path",
      name,
      schema: { type: ["string", "number"] },
      ...(description === undefined ? {} : { description })
    }
  })

/** One parameter for each name; a name that occurs several times is a list. */
const queryParameters = ({ query }: RequestUrl, keyPlace: string | undefined): ReadonlyArray<JsonObject> => {
  const found = new Map<string, JsonObject>()
  for (const { description, name } of query) {
    if (keyPlace === `query ${name}` || name === "__proto__") continue
    const schema = found.has(name) ? { type: "array", items: scalar } : scalar
    found.set(name, { in: "query", name, schema, ...(description === undefined ? {} : { description }) })
  }
  return [...found.values()]
}

interface HeaderMember {
  readonly name: string
  readonly value: string
  readonly description: string | undefined
}

/** The headers that are not disabled; they may be lines of one text. */
const headersOf = (request: JsonObject): ReadonlyArray<HeaderMember> => {
  const given = Object.hasOwn(request, "header") ? request["header"] : undefined
  const entries: ReadonlyArray<Json> =
    typeof given === "string"
      ? given.split("\n").map((line) => {
          const [key = "", ...value] = line.split(":")
          return { key, value: value.join(":") }
        })
      : isList(given)
        ? given
        : []
  const found = new Map<string, HeaderMember>()
  for (const one of entries) {
    if (!isObject(one) || one["disabled"] === true) continue
    const name = textAt(one, "key")?.trim() ?? ""
    if (!isHeaderName(name) || name === "__proto__") continue
    const value = textAt(one, "value")?.trim() ?? ""
    found.set(name.toLowerCase(), { name, value, description: descriptionOf(one, 1_000) })
  }
  return [...found.values()]
}

/** Characters of a header's value that is sent without an argument. */
const longestHeader = 500

/** The action whose headers have the collection's values where a call has no argument. */
const withHeaderValues = (
  action: JsonObject,
  headers: ReadonlyArray<HeaderMember>,
  { secrets, valueOf }: SharedParts
): JsonObject => {
  const request = objectAt(action, "request")
  const templates = objectAt(request, "headers")
  if (Object.keys(templates).length === 0) return action
  const values = new Map(headers.map(({ name, value }) => [name, value]))
  const filled = Object.entries(templates).map(([name, template]): readonly [string, Json] => {
    const value = fill(values.get(name) ?? "", valueOf) ?? ""
    const isFixed =
      value !== "" &&
      value.length <= longestHeader &&
      isHeaderText(value) &&
      !isSecretHeader(name) &&
      !secrets.has(value) &&
      !/[\\"]|\[redacted\]/.test(value)
    return [name, isFixed ? `${String(template).slice(0, -2)} ?? ${JSON.stringify(value)}}}` : template]
  })
  return { ...action, request: { ...request, headers: Object.fromEntries(filled) } }
}

/** Characters of an example that becomes a mock. */
const longestMock = 4_000

/** The first small example of a success in JSON as a mock. */
const mocksOf = (item: JsonObject, secrets: CollectionSecrets): ReadonlyArray<JsonObject> => {
  for (const response of listAt(item, "response")) {
    if (!isObject(response)) continue
    const { body, code } = response
    if (typeof code !== "number" || code < 200 || code > 299) continue
    if (typeof body !== "string" || body.length > longestMock) continue
    const output = parseExample(body)
    if (output === undefined || hasSecret(output, secrets)) continue
    return [{ name: textAt(response, "name")?.trim().slice(0, 100) ?? "example", output: redactMembers(output) }]
  }
  return []
}

const hasSecret = (value: Json, secrets: CollectionSecrets): boolean =>
  typeof value === "string"
    ? secrets.has(value)
    : typeof value === "object" && value !== null
      ? Object.values(value).some((member) => hasSecret(member, secrets))
      : false
