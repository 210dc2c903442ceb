/** Imports the auth of a Postman collection as the connector's auth method. Credentials in it are not read. */
import { isObject, type JsonObject } from "../../../Json.js"
import { isHeaderName } from "../../request/ValueEncoding.js"
import { listAt, objectAt, type OpenApiDocument, textAt } from "../OpenApiDocument.js"
import { importAuth } from "../Security.js"
import type { CollectionItem } from "./PostmanDocument.js"
import { authAttributes, fill, type VariableValue } from "./PostmanVariables.js"

/** The auth methods of a collection. */
export interface CollectionAuth {
  readonly methods: ReadonlyArray<JsonObject>
  /** Where an API key is sent, which is no argument: `header x-api-key`. */
  readonly keyPlace: string | undefined
}

/** The auth of the whole collection, or else the first one of a request. */
export const importCollectionAuth = (
  document: OpenApiDocument,
  root: JsonObject,
  requests: ReadonlyArray<CollectionItem>,
  valueOf: VariableValue
): CollectionAuth => {
  const own = textAt(objectAt(root, "auth"), "type") === undefined ? undefined : objectAt(root, "auth")
  const found = own === undefined ? requests.find(({ auth }) => isSignIn(auth)) : undefined
  const auth = own ?? found?.auth
  const place = found === undefined ? "auth" : `${found.place}.request.auth`
  if (auth === undefined) return headerAuth(document, requests)
  reportOthers(document, auth, requests, valueOf)
  if (found !== undefined)
    document.warn(place, "is the first auth of a request: it becomes the connector's, since the collection has none.")
  return methodOf(document, auth, place, valueOf)
}

const isSignIn = (auth: JsonObject | undefined) => auth !== undefined && auth["type"] !== "noauth"

/** A method for an Authorization header that requests have in place of an auth. */
const headerAuth = (document: OpenApiDocument, requests: ReadonlyArray<CollectionItem>): CollectionAuth => {
  for (const { place, request } of requests) {
    const headers = listAt(request, "header").filter(isObject)
    const at = headers.findIndex(
      (one) => textAt(one, "key")?.trim().toLowerCase() === "authorization" && one["disabled"] !== true
    )
    const value = textAt(headers[at] ?? {}, "value")
    if (value === undefined) continue
    const [, scheme = "Bearer"] = /^\s*([A-Za-z][\w-]*)\s+\S/.exec(value) ?? []
    const type = scheme.toLowerCase() === "basic" ? "basic" : "bearer"
    document.warn(
      `${place}.request.header`,
      `has an Authorization header and no auth: the connector has the method ${type}, whose credential each connection has.`
    )
    return { methods: importAuth(withScheme(document, type, { type: "http", scheme }), undefined), keyPlace: undefined }
  }
  return { methods: importAuth(withScheme(document, "none", undefined), undefined), keyPlace: undefined }
}

/** A document with this scheme alone, whose warnings have the place of the collection's. */
const withScheme = (
  document: OpenApiDocument,
  id: string,
  scheme: JsonObject | undefined,
  place = "auth"
): OpenApiDocument => ({
  ...document,
  root: scheme === undefined ? {} : { components: { securitySchemes: { [id]: scheme } } },
  warn: (_path, message) => document.warn(place, message)
})

const methodOf = (
  document: OpenApiDocument,
  auth: JsonObject,
  place: string,
  valueOf: VariableValue
): CollectionAuth => {
  const type = textAt(auth, "type") ?? ""
  const attributes = authAttributes(auth)
  const made = (scheme: JsonObject | undefined) => importAuth(withScheme(document, type, scheme, place), undefined)
  switch (type) {
    case "noauth":
      return { methods: made(undefined), keyPlace: undefined }
    case "bearer":
    case "basic":
    case "digest":
      return { methods: made({ type: "http", scheme: type }), keyPlace: undefined }
    case "apikey":
      return keyMethod(attributes, valueOf, made, (message) => document.warn(place, message))
    case "oauth2":
      return {
        methods: made(oauthScheme(attributes, valueOf)).map((method) => sentAs(method, attributes)),
        keyPlace: undefined
      }
    default:
      return { methods: made({ type: type.slice(0, 40) }), keyPlace: undefined }
  }
}

const keyMethod = (
  attributes: ReadonlyMap<string, string>,
  valueOf: VariableValue,
  made: (scheme: JsonObject | undefined) => ReadonlyArray<JsonObject>,
  warn: (message: string) => void
): CollectionAuth => {
  const name = fill(attributes.get("key") ?? "", valueOf)?.trim()
  const where = attributes.get("in") === "query" ? "query" : "header"
  if (name === undefined || name === "" || (where === "header" && !isHeaderName(name))) {
    warn(`has an API key whose name is not known: the connector has no credential. Add a method of type api_key.`)
    return { methods: made(undefined), keyPlace: undefined }
  }
  const methods = made({ type: "apiKey", in: where, name })
  const [, prefix] = /^([\w-]+) \{\{[^{}]+\}\}$/.exec(attributes.get("value")?.trim() ?? "") ?? []
  return {
    methods:
      prefix === undefined
        ? methods
        : methods.map((method) => ({
            ...method,
            inject: [{ in: where, name, value: `${prefix} {{credential.apiKey}}` }]
          })),
    keyPlace: `${where} ${where === "header" ? name.toLowerCase() : name}`
  }
}

const oauthScheme = (attributes: ReadonlyMap<string, string>, valueOf: VariableValue): JsonObject => {
  const urlOf = (name: string) => {
    const url = fill(attributes.get(name) ?? "", valueOf)?.trim() ?? ""
    return url === "" ? {} : { [name === "authUrl" ? "authorizationUrl" : "tokenUrl"]: url }
  }
  const scopes = (fill(attributes.get("scope") ?? "", valueOf) ?? "").split(/[\s,]+/).filter((scope) => scope !== "")
  const flow = {
    ...urlOf("authUrl"),
    ...urlOf("accessTokenUrl"),
    scopes: Object.fromEntries(scopes.map((scope) => [scope, ""]))
  }
  // Without a choice Postman has the grant with a code.
  const grant = attributes.get("grant_type") ?? "authorization_code"
  const kind = grant.startsWith("authorization_code") ? "authorizationCode" : flowNames[grant]
  return { type: "oauth2", flows: kind === undefined ? {} : { [kind]: flow } }
}

const flowNames: { readonly [grant: string]: string | undefined } = {
  client_credentials: "clientCredentials",
  implicit: "implicit",
  password_credentials: "password"
}

/** The method with the token in the place, and with the prefix, that the auth names. */
const sentAs = (method: JsonObject, attributes: ReadonlyMap<string, string>): JsonObject => {
  const token = method["type"] === "oauth2" ? "{{credential.accessToken}}" : "{{credential.token}}"
  const prefix = (attributes.get("headerPrefix") ?? "Bearer").trim()
  if (attributes.get("addTokenTo") === "queryParams")
    return { ...method, inject: [{ in: "query", name: "access_token", value: token }] }
  if (prefix === "Bearer" || !/^[\w-]{0,40}$/.test(prefix)) return method
  return { ...method, inject: [{ in: "header", name: "Authorization", value: `${prefix} ${token}`.trim() }] }
}

/** Reports requests whose auth is another one. */
const reportOthers = (
  document: OpenApiDocument,
  main: JsonObject,
  requests: ReadonlyArray<CollectionItem>,
  valueOf: VariableValue
): void => {
  const mainKey = keyOf(main, valueOf)
  const keys = new Map<JsonObject, string>()
  for (const { auth, place } of requests) {
    if (auth === undefined || auth === main) continue
    const key = keys.get(auth) ?? keyOf(auth, valueOf)
    keys.set(auth, key)
    if (key === mainKey) continue
    const type = (textAt(auth, "type") ?? "").slice(0, 40)
    document.warn(
      `${place}.request.auth`,
      `is ${type === "noauth" ? "none" : type} and not the connector's ${(textAt(main, "type") ?? "").slice(0, 40)}: the action is sent with the connection's credential.`
    )
  }
}

/** What makes two auths the same method. */
const keyOf = (auth: JsonObject, valueOf: VariableValue): string => {
  const attributes = authAttributes(auth)
  return [
    textAt(auth, "type"),
    ...["in", "key", "authUrl", "accessTokenUrl"].map((name) => fill(attributes.get(name) ?? "", valueOf) ?? "")
  ].join(" ")
}
