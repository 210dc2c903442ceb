/** Imports the servers of an OpenAPI document as the base URL, with variables as config of the connection. */
import { isObject, type JsonObject } from "../../Json.js"
import { type OpenApiDocument, listAt, objectAt, textAt } from "./OpenApiDocument.js"
import { parseUrl } from "../../Url.js"
import { chooseServer, readServerUrl, relativeWarnings, type ServerChoice, tlsWarning } from "./ServerUrl.js"

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
  const place = document.generation === 3 ? "servers" : "host"
  const warn = (message: string) => document.warn(place, message)
  const { url, variables, warnings } =
    document.generation === 3
      ? chooseServer(listAt(document.root, "servers"), "To use another one, change baseUrl in the definition.")
      : swaggerServer(document.root, location)
  warnings.forEach(warn)
  const variable = wholeVariable(url)
  if (variable !== undefined) return variableServer(variable, variables, warn)
  const read = readServerUrl(url, location)
  ;[...read.warnings, ...relativeWarnings(url, read, location)].forEach(warn)
  const { config, text } = fillVariables(read.absolute ?? read.path, variables)
  const isAbsolute = read.absolute !== undefined
  const baseUrl = isAbsolute ? text : `{{connection.config.baseUrl}}${text}`
  const properties = { ...(isAbsolute ? {} : { baseUrl: baseUrlSchema }), ...config }
  const origin = /^https:\/\/[^/{]+(?=\/|$)/.exec(baseUrl)?.[0]
  return Object.keys(properties).length === 0
    ? { baseUrl: trimSlashes(baseUrl), origin }
    : { baseUrl: trimSlashes(baseUrl), connectionConfig: configSchema(properties), origin }
}

/** A server whose whole address is a variable: each connection has its own. */
const variableServer = (
  [name, rest]: readonly [name: string, rest: string],
  variables: JsonObject,
  warn: (message: string) => void
): ImportedServer => {
  const member = memberOf(name)
  const { config, text } = fillVariables(rest, variables)
  const given = textAt(objectAt(variables, name), "default")
  const preset = given === undefined ? undefined : presetUrl(given)
  if (given !== undefined && preset !== undefined && /^\s*http:/i.test(given)) warn(tlsWarning(given, preset))
  const { required = [], ...schema } = configSchema({
    [member]: baseUrlMember(objectAt(variables, name), name, preset),
    ...config
  })
  return {
    baseUrl: trimSlashes(`{{connection.config.${member}}}${text}`),
    connectionConfig: { ...schema, required: [...new Set([member, ...required])] },
    origin: undefined
  }
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
    const isOwn = listAt(operation, "servers").length > 0
    const ownServers = listAt(isOwn ? operation : item, "servers")
    if (ownServers.length === 0) return undefined
    const place = isOwn ? `paths.${path}.${method.toLowerCase()}.servers` : `paths.${path}.servers`
    const { url, variables, warnings } = chooseServer(ownServers, "To use another one, change the action's path.")
    const ignored = (why: string) => {
      document.warn(place, `${why}: the operation is sent to the connector's base URL, ${server.baseUrl}.`)
      return undefined
    }
    const read = readServerUrl(url, server.origin ?? location)
    const { absolute } = read
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
    const resolved = server.origin === undefined ? relativeWarnings(url, read, location) : []
    for (const message of [...warnings, ...read.warnings, ...resolved]) document.warn(place, message)
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

/** The variable and path of `{server}/v1`. */
const wholeVariable = (url: string): readonly [name: string, rest: string] | undefined => {
  const [, name, rest = ""] = /^\{([^{}]+)\}((?:\/.*)?)$/.exec(url) ?? []
  return name === undefined ? undefined : [name, rest]
}

const memberOf = (name: string) => name.replace(/\W/g, "_")

/** A config member for a base URL, with the variable's default if that is a URL. */
const baseUrlMember = (variable: JsonObject, title: string, preset: string | undefined): JsonObject => {
  const description = textAt(variable, "description")
  return {
    ...baseUrlSchema,
    title,
    ...(description === undefined ? {} : { description }),
    ...(preset === undefined ? {} : { default: preset })
  }
}

/** A default that is a URL; `api` and other words are placeholders. */
const presetUrl = (text: string): string | undefined =>
  isFull(text) ? readServerUrl(text, undefined).absolute : undefined

const isFull = (url: string) => /^(?:https?:)?\/\/[^/]/i.test(url.trim())

const presetOf = (variables: JsonObject, name: string): string | undefined =>
  textAt(objectAt(variables, name), "default")

/** Whether the default of a host variable is a host; `HOSTNAME` and `your-domain` are placeholders. */
const isHost = (text: string) => /^[\w-]+(?:\.[\w-]+)+(?::\d+)?$/.test(text)

/** The server of a Swagger document, whose scheme is https if there is a choice. */
const swaggerServer = (root: JsonObject, location: string | undefined): ServerChoice => {
  const host = textAt(root, "host")
  const path = textAt(root, "basePath") ?? "/"
  if (host === undefined) return { url: path, variables: {}, warnings: [] }
  const rest = `${host}${path.startsWith("/") ? path : `/${path}`}`
  const schemes = listAt(root, "schemes")
  const isPlain = schemes.length === 0 ? /^http:/i.test(location ?? "") : !schemes.includes("https")
  const warnings = isPlain ? [tlsWarning(`http://${rest}`, `https://${rest}`)] : []
  return { url: `https://${rest}`, variables: {}, warnings }
}

/** Replaces variables such as `{region}` by templates over the connection's config, with their defaults. */
const fillVariables = (url: string, variables: JsonObject) => {
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
