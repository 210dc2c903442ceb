/** Where an OpenAPI document says its service is: a base URL, and what of it each connection fills in. */
import { isObject, type Json, type JsonObject } from "../../Json.js"
import { type OpenApiDocument, listAt, objectAt, textAt } from "./OpenApiDocument.js"
import { parseUrl } from "../../Url.js"

export interface ImportedServer {
  readonly baseUrl: string
  /** JSON Schema of the connection's config; absent where there is nothing to fill in. */
  readonly connectionConfig?: JsonObject
  /** Scheme and host, where they are fixed: what relative addresses of the document are resolved against. */
  readonly origin: string | undefined
}

/** `location`: where the document was read, if it was. */
export const importServer = (document: OpenApiDocument, location: string | undefined): ImportedServer => {
  const [url, variables] =
    document.generation === 3 ? bestServer(listAt(document.root, "servers")) : [swaggerUrl(document.root), {}]
  const whole = wholeVariable(url)
  if (whole !== undefined) {
    const [name, rest] = whole
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
  const known = absolute !== undefined
  if (!known)
    document.warn(
      "servers",
      "name no address: each connection is asked for its base URL, as connection.config.baseUrl."
    )
  const baseUrl = known ? text : `{{connection.config.baseUrl}}${text.startsWith("/") ? text : ""}`
  const properties = { ...(known ? {} : { baseUrl: baseUrlSchema }), ...config }
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

/** Servers of paths and operations: their actions name the whole URL. */
export const makeOwnServers = (document: OpenApiDocument, server: ImportedServer, location: string | undefined) => {
  const added: { [name: string]: JsonObject } = {}

  /** The base of one operation; `undefined`: the connector's. */
  const baseOf = (
    item: JsonObject,
    operation: JsonObject,
    { method, path }: { readonly method: string; readonly path: string }
  ): string | undefined => {
    const given = [operation, item].map((one) => listAt(one, "servers")).find((servers) => servers.length > 0)
    if (given === undefined) return undefined
    const [url, variables] = bestServer(given)
    const place = `paths.${path}.${method.toLowerCase()}.servers`
    const ignored = (why: string) => {
      document.warn(place, `${why}: the operation is sent to the connector's base URL, ${server.baseUrl}.`)
      return undefined
    }
    const absolute = absoluteOf(url, server.origin ?? location)
    if (absolute === undefined) return ignored(`${url} names no address`)
    const [, host = "", rest = ""] = /^https:\/\/([^/]*)(.*)$/.exec(absolute) ?? []
    const lacking: Array<string> = []
    const fixed = host.replace(/\{([^{}]+)\}/g, (_whole, name: string) => {
      const preset = presetOf(variables, name)
      if (preset === undefined) lacking.push(name)
      return preset ?? ""
    })
    if (lacking.length > 0) return ignored(`the host of ${url} depends on ${lacking.join(", ")}, which has no default`)
    if (parseUrl(`https://${fixed}`) === undefined) return ignored(`${url} names no host`)
    if (fixed !== host) document.warn(place, `the host of ${url} takes the defaults of its variables: ${fixed}.`)
    const { config, text } = fillVariables(rest, variables)
    const base = trimSlashes(`${new URL(`https://${fixed}`).origin}${text}`)
    if (base === server.baseUrl) return undefined
    Object.assign(added, config)
    return base
  }

  /** The connection's config with what the operations' servers ask for. */
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

const trimSlashes = (url: string) => url.replace(/\/+$/, "")

const bestServer = (given: ReadonlyArray<Json>): readonly [url: string, variables: JsonObject] => {
  const servers = given.filter(isObject)
  const urlOf = (server: JsonObject) => withScheme(textAt(server, "url") ?? "/")
  const best = servers.find((server) => urlOf(server).startsWith("https://")) ?? servers[0] ?? {}
  return [urlOf(best), objectAt(best, "variables")]
}

/** A scheme that is a variable is HTTPS, as every other is. */
const withScheme = (url: string) => url.trim().replace(/^\{[^{}]+\}:\/\//, "https://")

/** `{server}/v1`: all but the path is one variable. */
const wholeVariable = (url: string): readonly [name: string, rest: string] | undefined => {
  const [, name, rest = ""] = /^\{([^{}]+)\}((?:\/.*)?)$/.exec(url) ?? []
  return name === undefined ? undefined : [name, rest]
}

const memberOf = (name: string) => name.replace(/\W/g, "_")

/** A base URL as a member of the config, with the variable's default where that is one. */
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

/** Whether a default of a variable that is the whole host can be one: `HOSTNAME` and `your-domain` are placeholders. */
const isHost = (text: string) => /^[\w-]+(?:\.[\w-]+)+(?::\d+)?$/.test(text)

const swaggerUrl = (root: JsonObject): string => {
  const host = textAt(root, "host")
  const path = textAt(root, "basePath") ?? "/"
  return host === undefined ? path : `https://${host}${path.startsWith("/") ? path : `/${path}`}`
}

/** Always HTTPS: no connection speaks in the clear because a document forgot a letter. */
const absoluteOf = (url: string, location: string | undefined): string | undefined => {
  const secure = url
    .trim()
    .replace(/^http:\/\//i, "https://")
    .replace(/^\/\/(?=[^/])/, "https://")
  if (/^https:\/\/[^/\s?#@]+/i.test(secure)) return secure.replace(/[?#].*$/, "")
  if (location === undefined || parseUrl(location) === undefined) return undefined
  return `https://${new URL(location).host}${secure.startsWith("/") ? secure : `/${secure}`}`
}

/** `{region}` becomes the connection's config, with its default. */
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
