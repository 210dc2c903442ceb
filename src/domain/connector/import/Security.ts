/** Imports the security schemes of an OpenAPI document as auth methods. */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import { type OpenApiDocument, listAt, objectAt, textAt, UniqueNames } from "./OpenApiDocument.js"
import { parseUrl } from "../../Url.js"
import { tlsWarning } from "./ServerUrl.js"

/** The auth methods, never empty; the first is the default. `origin`: relative URLs are resolved against it. */
export const importAuth = (document: OpenApiDocument, origin: string | undefined): ReadonlyArray<JsonObject> => {
  const schemes =
    document.generation === 3
      ? objectAt(objectAt(document.root, "components"), "securitySchemes")
      : objectAt(document.root, "securityDefinitions")
  const required = listAt(document.root, "security")
    .filter(isObject)
    .map((one) => Object.keys(one))
  const mentioned = new Set(required.flat())
  const alternatives = [
    ...required,
    ...Object.keys(schemes)
      .filter((name) => !mentioned.has(name))
      .map((name) => [name])
  ]
  const usedNames = new UniqueNames()
  const methods = alternatives.flatMap((names) => methodsOf(document, schemes, names, origin))
  if (methods.length === 0 && Object.keys(schemes).length > 0)
    document.warn("security", "no scheme can be imported: the connector has no credential.")
  const unique = methods.map((method) => ({
    ...method,
    id: usedNames.take(idOf(String(method["id"] ?? "method")), 64)
  }))
  return unique.length === 0
    ? [{ id: "none", type: "none", default: true }]
    : unique.map((method, at) => (at === 0 ? { ...method, default: true } : method))
}

const idOf = (name: string): string => {
  const plain = name.replace(/[^\w-]/g, "_")
  return /^[A-Za-z]/.test(plain) ? plain : `method_${plain}`
}

const methodsOf = (
  document: OpenApiDocument,
  schemes: JsonObject,
  names: ReadonlyArray<string>,
  origin: string | undefined
): ReadonlyArray<JsonObject> => {
  const methods = names.map((name) => {
    const scheme = document.part(schemes[name])
    return methodsOfScheme(name, scheme, origin, (message) => document.warn(`${placeOf(document)}.${name}`, message))
  })
  const [first = []] = methods
  if (names.length < 2) return first
  // Several API keys that are required together become one method; other schemes cannot be combined.
  const parts = methods.flatMap((one) => one.slice(0, 1))
  if (parts.length < names.length || parts.some((part) => part["type"] !== "api_key")) {
    document.warn(
      "security",
      `${names.join(" and ")} are required together: only ${names[0] ?? "the first"} is imported.`
    )
    return first
  }
  return [
    {
      id: names.join("_"),
      type: "custom",
      title: names.join(" and "),
      fields: parts.flatMap((part, at) => renameFields(listAt(part, "fields"), names[at] ?? "")),
      inject: parts.flatMap((part, at) => renameReferences(listAt(part, "inject"), names[at] ?? ""))
    }
  ]
}

const fieldName = (name: string) => idOf(name).replaceAll("-", "_")

const renameFields = (fields: ReadonlyArray<Json>, name: string): ReadonlyArray<Json> =>
  fields.filter(isObject).map((field) => ({ ...field, name: fieldName(name), title: name }))

const renameReferences = (parts: ReadonlyArray<Json>, name: string): ReadonlyArray<Json> =>
  parts.filter(isObject).map((part) => ({
    ...part,
    value: String(part["value"]).replace(/credential\.\w+/, `credential.${fieldName(name)}`)
  }))

const placeOf = ({ generation }: OpenApiDocument) =>
  generation === 3 ? "components.securitySchemes" : "securityDefinitions"

const methodsOfScheme = (
  id: string,
  scheme: JsonObject,
  origin: string | undefined,
  warn: (message: string) => void
): ReadonlyArray<JsonObject> => {
  const description = textAt(scheme, "description")?.slice(0, 1_000)
  const common = { id, ...(description === undefined ? {} : { description }) }
  switch (scheme["type"]) {
    case "apiKey":
      return [{ ...common, ...apiKey(textAt(scheme, "in") ?? "header", textAt(scheme, "name") ?? "X-API-Key") }]
    case "basic":
      return [{ ...common, type: "basic" }]
    case "http":
      return [{ ...common, ...http((textAt(scheme, "scheme") ?? "").toLowerCase()) }]
    case "oauth2":
      return oauth(common, scheme, origin, warn)
    case "openIdConnect":
      warn("OpenID Connect Discovery is not supported: connections need a bearer token. Add a method of type oauth2.")
      return [{ ...common, ...token("Bearer") }]
    default:
      warn(`the type ${textAt(scheme, "type") ?? "that is missing"} is not supported: the scheme is left out.`)
      return []
  }
}

const secretField = (name: string, title: string) => [{ name, title, secret: true }]

const apiKey = (place: string, name: string): JsonObject => ({
  type: "api_key",
  fields: secretField("apiKey", "API key"),
  inject: [
    place === "cookie"
      ? { in: "header", name: "Cookie", value: `${name}={{credential.apiKey}}` }
      : { in: place === "query" ? "query" : "header", name, value: "{{credential.apiKey}}" }
  ]
})

const token = (scheme: string): JsonObject => ({
  type: "api_key",
  fields: secretField("token", "Token"),
  inject: [{ in: "header", name: "Authorization", value: `${scheme} {{credential.token}}` }]
})

const http = (scheme: string): JsonObject => {
  if (scheme === "basic") return { type: "basic" }
  if (scheme === "digest") {
    return {
      type: "custom",
      sign: "hook:digest",
      fields: [{ name: "username", title: "User name" }, ...secretField("password", "Password")]
    }
  }
  return token(/^[\w-]+$/.test(scheme) && scheme !== "bearer" ? scheme : "Bearer")
}

/** Methods of the flows with a code or with client credentials; other flows have no token that can be refreshed. */
const oauth = (common: JsonObject, scheme: JsonObject, origin: string | undefined, warn: (message: string) => void) => {
  const flows = objectAt(scheme, "flows")
  const flowOf = (...names: ReadonlyArray<string>) =>
    names.map((name) => objectAt(flows, name)).find((flow) => Object.keys(flow).length > 0) ??
    (names.includes(textAt(scheme, "flow") ?? "") ? scheme : undefined)
  const urlAt: UrlAt = (flow, name) => {
    const given = textAt(flow, name)
    const url = addressOf(given, origin)
    if (given !== undefined && url !== undefined && /^\s*http:/i.test(given)) warn(tlsWarning(given, url))
    return url
  }
  const methods = [
    ...grantMethods(common, flowOf("authorizationCode", "accessCode"), "authorization_code", urlAt),
    ...grantMethods(common, flowOf("clientCredentials", "application"), "client_credentials", urlAt)
  ]
  if (methods.length > 0) return methods
  const otherFlows = ["implicit", "password"].filter((name) => flowOf(name) !== undefined)
  const why =
    otherFlows.length === 0
      ? "its flows have no token URL"
      : `the flow ${otherFlows.join(" and ")} has no token that can be refreshed without the user`
  warn(`${why}: connections need a bearer token, which must be replaced when it expires.`)
  return [{ ...common, ...token("Bearer") }]
}

/** The URL of a flow's member, with HTTPS. */
type UrlAt = (flow: JsonObject, name: string) => string | undefined

const grantMethods = (
  common: JsonObject,
  flow: JsonObject | undefined,
  kind: "authorization_code" | "client_credentials",
  urlAt: UrlAt
): ReadonlyArray<JsonObject> => {
  if (flow === undefined) return []
  const tokenUrl = urlAt(flow, "tokenUrl")
  const authorizationUrl = urlAt(flow, "authorizationUrl")
  if (tokenUrl === undefined || (kind === "authorization_code" && authorizationUrl === undefined)) return []
  const scopes = Object.keys(objectAt(flow, "scopes"))
  return [
    {
      ...common,
      type: "oauth2",
      grant: kind,
      tokenUrl,
      scopes,
      ...(kind === "authorization_code"
        ? { authorizationUrl: authorizationUrl ?? null }
        : {
            fields: [{ name: "clientId", title: "Client id" }, ...secretField("clientSecret", "Client secret")]
          })
    }
  ]
}

const addressOf = (url: string | undefined, origin: string | undefined): string | undefined => {
  if (url === undefined) return undefined
  const secure = url.trim().replace(/^http:\/\//i, "https://")
  if (/^https:\/\//i.test(secure)) return parseUrl(secure) === undefined ? undefined : secure
  return origin === undefined ? undefined : parseUrl(secure, origin)?.href
}
