/** Where an OpenAPI document says its service is: a base URL, and what of it each connection fills in. */
import { isObject, type JsonObject } from "../../Json.js"
import { type Document, listAt, objectAt, textAt } from "./Document.js"

export interface Server {
  readonly baseUrl: string
  /** JSON Schema of the connection's config; absent where there is nothing to fill in. */
  readonly connectionConfig?: JsonObject
  /** Scheme and host, where they are fixed: what relative addresses of the document are resolved against. */
  readonly origin: string | undefined
}

/** `location`: where the document was read, if it was. */
export const serverOf = (document: Document, location: string | undefined): Server => {
  const [url, variables] = document.generation === 3 ? three(document.root) : [two(document.root), {}]
  const absolute = absoluteOf(url, location)
  const { config, text } = filled(absolute ?? url, variables)
  const known = absolute !== undefined
  const baseUrl = known ? text : `{{connection.config.baseUrl}}${text.startsWith("/") ? text : ""}`
  const properties: JsonObject = { ...(known ? {} : { baseUrl: asked }), ...config }
  const required = Object.entries(properties).flatMap(([name, schema]) =>
    isObject(schema) && schema["default"] === undefined ? [name] : []
  )
  const origin = /^https:\/\/[^/{]+(?=\/|$)/.exec(baseUrl)?.[0]
  return Object.keys(properties).length === 0
    ? { baseUrl: trimmed(baseUrl), origin }
    : {
        baseUrl: trimmed(baseUrl),
        connectionConfig: { type: "object", properties, ...(required.length === 0 ? {} : { required }) },
        origin
      }
}

const asked: JsonObject = { type: "string", format: "uri", title: "Base URL" }

const trimmed = (url: string) => url.replace(/\/+$/, "")

const three = (root: JsonObject): readonly [url: string, variables: JsonObject] => {
  const servers = listAt(root, "servers").filter(isObject)
  const best = servers.find((server) => textAt(server, "url")?.startsWith("https://") === true) ?? servers[0] ?? {}
  return [textAt(best, "url") ?? "/", objectAt(best, "variables")]
}

const two = (root: JsonObject): string => {
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
  if (location === undefined || !URL.canParse(location)) return undefined
  return `https://${new URL(location).host}${secure.startsWith("/") ? secure : `/${secure}`}`
}

/** `{region}` becomes the connection's config, with its default. */
const filled = (url: string, variables: JsonObject): { readonly text: string; readonly config: JsonObject } => {
  const config: { [name: string]: JsonObject } = {}
  const text = url.replace(/\{([^{}]+)\}/g, (_whole, name: string) => {
    const variable = objectAt(variables, name)
    const member = name.replace(/\W/g, "_")
    const preset = variable["default"]
    const value = typeof preset === "string" && preset !== "" ? preset : undefined
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
