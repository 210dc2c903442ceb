/** Imports the servers of an OpenAPI document as the base URL, with variables as config of the connection. */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import { type OpenApiDocument, listAt, objectAt, textAt } from "./OpenApiDocument.js"
import { parseUrl } from "../../Url.js"

/** The connector's base URL. */
export interface ImportedServer {
  readonly baseUrl: string
  /** The JSON Schema of the connection's config; absent without variables. */
  readonly connectionConfig?: JsonObject
  /** Scheme and host if they have no variables; relative URLs of the document are resolved against it. */
  readonly origin: string | undefined
}

/** The server of a document. `location`: the URL of the document, if it was read from one. */
export const importServer = (document: OpenApiDocument, location: string | undefined): ImportedServer => {
  const [url, variables] =
    document.generation === 3 ? bestServer(listAt(document.root, "servers")) : [swaggerUrl(document.root), {}]
  const variable = wholeVariable(url)
  if (variable !== undefined) {
    const [name, rest] = variable
    const member = memberOf(name)
    const { config, text } = fillVariables(rest, variables)
    const { required = [], ...schema } = configSchema({
      [member]: baseUrlMember(objectAt(variables, name), name),
      ...config
    })
    return {
      baseUrl: trimSlashes(`{{connection.config.${member}}}${text}`),
      connectionConfig: { ...schema, required: [...new Set([member, ...required])] },
      origin: undefined
    }
  }
  const absolute = absoluteOf(url, location)
  const { config, text } = fillVariables(absolute ?? url, variables)
  const isAbsolute = absolute !== undefined
  if (!isAbsolute)
    document.warn("servers", "have no address: each connection needs its base URL as connection.config.baseUrl.")
  const baseUrl = isAbsolute ? text : `{{connection.config.baseUrl}}${text.startsWith("/") ? text : ""}`
  const properties = { ...(isAbsolute ? {} : { baseUrl: baseUrlSchema }), ...config }
  const origin = /^https:\/\/[^/{]+(?=\/|$)/.exec(baseUrl)?.[0]
  return Object.keys(properties).length === 0
    ? { baseUrl: trimSlashes(baseUrl), origin }
    : { baseUrl: trimSlashes(baseUrl), connectionConfig: configSchema(properties), origin }
}

interface ConfigSchema extends JsonObject {
  readonly required?: ReadonlyArray<string>
}

const configSchema = (properties: { readonly [name: string]: JsonObject }): ConfigSchema => {
  const required = Object.entries(properties).flatMap(([name, schema]) =>
    schema["default"] === undefined ? [name] : []
  )
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) }
}

/** Servers of single paths and operations, whose actions have full URLs. */
export const makeOwnServers = (document: OpenApiDocument, server: ImportedServer, location: string | undefined) => {
  const added: { [name: string]: JsonObject } = {}

  /** The base URL of an operation; `undefined`: the connector's. */
  const baseOf = (
    item: JsonObject,
    operation: JsonObject,
    { method, path }: { readonly method: string; readonly path: string }
  ): string | undefined => {
    const ownServers = [operation, item].map((one) => listAt(one, "servers")).find((servers) => servers.length > 0)
    if (ownServers === undefined) return undefined
    const [url, variables] = bestServer(ownServers)
    const place = `paths.${path}.${method.toLowerCase()}.servers`
    const ignored = (why: string) => {
      document.warn(place, `${why}: the operation is sent to the connector's base URL, ${server.baseUrl}.`)
      return undefined
    }
    const absolute = absoluteOf(url, server.origin ?? location)
    if (absolute === undefined) return ignored(`${url} has no address`)
    const [, host = "", rest = ""] = /^https:\/\/([^/]*)(.*)$/.exec(absolute) ?? []
    const undefinedVariables: Array<string> = []
    const fixed = host.replace(/\{([^{}]+)\}/g, (_whole, name: string) => {
      const preset = presetOf(variables, name)
      if (preset === undefined) undefinedVariables.push(name)
      return preset ?? ""
    })
    if (undefinedVariables.length > 0)
      return ignored(`the host of ${url} depends on ${undefinedVariables.join(", ")}, which has no default`)
    if (parseUrl(`https://${fixed}`) === undefined) return ignored(`${url} has no valid host`)
    if (fixed !== host) document.warn(place, `the host of ${url} takes the defaults of its variables: ${fixed}.`)
    const { config, text } = fillVariables(rest, variables)
    const base = trimSlashes(`${new URL(`https://${fixed}`).origin}${text}`)
    if (base === server.baseUrl) return undefined
    Object.assign(added, config)
    return base
  }

  /** The config schema with the variables of these servers. */
  const configWith = (given: JsonObject | undefined): JsonObject | undefined => {
    if (Object.keys(added).length === 0) return given
    const { properties, required = [] } = configSchema(added)
    const before = given ?? {}
    const all = [...new Set([...listAt(before, "required"), ...required])]
    return {
      type: "object",
      properties: { ...(isObject(properties) ? properties : {}), ...objectAt(before, "properties") },
      ...(all.length === 0 ? {} : { required: all })
    }
  }

  return { baseOf, configWith }
}

const baseUrlSchema: JsonObject = { type: "string", format: "uri", title: "Base URL" }

const trimSlashes = (url: string) => url.replace(/(?<!\/)\/+$/, "")

const bestServer = (given: ReadonlyArray<Json>): readonly [url: string, variables: JsonObject] => {
  const servers = given.filter(isObject)
  const urlOf = (server: JsonObject) => withScheme(textAt(server, "url") ?? "/")
  const best = servers.find((server) => urlOf(server).startsWith("https://")) ?? servers[0] ?? {}
  return [urlOf(best), objectAt(best, "variables")]
}

/** Replaces a variable scheme by HTTPS. */
const withScheme = (url: string) => url.trim().replace(/^\{[^{}]+\}:\/\//, "https://")

/** The variable and path of `{server}/v1`. */
const wholeVariable = (url: string): readonly [name: string, rest: string] | undefined => {
  const [, name, rest = ""] = /^\{([^{}]+)\}((?:\/.*)?)$/.exec(url) ?? []
  return name === undefined ? undefined : [name, rest]
}

const memberOf = (name: string) => name.replace(/\W/g, "_")

/** A config member for a base URL, with the variable's default if that is a URL. */
const baseUrlMember = (variable: JsonObject, title: string): JsonObject => {
  const preset = absoluteOf(textAt(variable, "default") ?? "", undefined)
  const description = textAt(variable, "description")
  return {
    ...baseUrlSchema,
    title,
    ...(description === undefined ? {} : { description }),
    ...(preset === undefined ? {} : { default: preset })
  }
}

const presetOf = (variables: JsonObject, name: string): string | undefined =>
  textAt(objectAt(variables, name), "default")

/** Whether the default of a host variable is a host; `HOSTNAME` and `your-domain` are placeholders. */
const isHost = (text: string) => /^[\w-]+(?:\.[\w-]+)+(?::\d+)?$/.test(text)

const swaggerUrl = (root: JsonObject): string => {
  const host = textAt(root, "host")
  const path = textAt(root, "basePath") ?? "/"
  return host === undefined ? path : `https://${host}${path.startsWith("/") ? path : `/${path}`}`
}

/** The absolute URL, always with HTTPS, so that a typing error in a document cannot disable TLS. */
const absoluteOf = (url: string, location: string | undefined): string | undefined => {
  const secure = url
    .trim()
    .replace(/^http:\/\//i, "https://")
    .replace(/^\/\/(?=[^/])/, "https://")
  if (/^https:\/\/[^/\s?#@]+/i.test(secure)) return secure.replace(/[?#].*$/, "")
  if (location === undefined || parseUrl(location) === undefined) return undefined
  return `https://${new URL(location).host}${secure.startsWith("/") ? secure : `/${secure}`}`
}

/** Replaces variables such as `{region}` by templates over the connection's config, with their defaults. */
const fillVariables = (
  url: string,
  variables: JsonObject
): { readonly text: string; readonly config: { readonly [name: string]: JsonObject } } => {
  const config: { [name: string]: JsonObject } = {}
  const wholeHost = /^https:\/\/\{([^{}]+)\}(?=[/:]|$)/.exec(url)?.[1]
  const text = url.replace(/\{([^{}]+)\}/g, (_whole, name: string) => {
    const variable = objectAt(variables, name)
    const member = memberOf(name)
    const preset = presetOf(variables, name)
    const value = name === wholeHost && preset !== undefined && !isHost(preset) ? undefined : preset
    const choices = listAt(variable, "enum").filter((one) => typeof one === "string")
    const description = textAt(variable, "description")
    config[member] = {
      type: "string",
      title: name,
      ...(description === undefined ? {} : { description }),
      ...(choices.length === 0 ? {} : { enum: choices }),
      ...(value === undefined ? {} : { default: value })
    }
    return value === undefined
      ? `{{connection.config.${member}}}`
      : `{{connection.config.${member} ?? ${JSON.stringify(value)}}}`
  })
  return { text, config }
}
