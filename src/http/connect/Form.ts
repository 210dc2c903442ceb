/** The form of a connect session: what of config and credential a person must still enter, and what was entered. */
import { Redacted } from "effect"
import type { Secrets } from "../../actors/ports/Connections.js"
import type { AuthMethod } from "../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { html, type Markup } from "./Html.js"

export interface Field {
  /** `config.subdomain`, `credential.apiKey`. */
  readonly name: string
  readonly title: string
  readonly description: string | null
  readonly secret: boolean
  readonly required: boolean
  readonly options: ReadonlyArray<string> | null
  readonly type: "string" | "number" | "boolean"
}

const textOf = (value: Json | undefined): string | null => (typeof value === "string" && value !== "" ? value : null)

const typeOf = (schema: JsonObject): Field["type"] => {
  const type = schema["type"]
  return type === "number" || type === "integer" ? "number" : type === "boolean" ? "boolean" : "string"
}

const configFields = ({ connectionConfig = {} }: ConnectorDefinition, given: JsonObject): ReadonlyArray<Field> => {
  const properties = connectionConfig["properties"]
  const required = connectionConfig["required"]
  if (!isObject(properties)) return []
  return Object.entries(properties).flatMap(([name, schema]) => {
    if (Object.hasOwn(given, name) || !isObject(schema)) return []
    const values = schema["enum"]
    return [
      {
        name: `config.${name}`,
        title: textOf(schema["title"]) ?? name,
        description: textOf(schema["description"]),
        secret: false,
        required: Array.isArray(required) && required.includes(name),
        options: Array.isArray(values) ? values.map(String) : null,
        type: typeOf(schema)
      }
    ]
  })
}

const credentialFields = (method: AuthMethod): ReadonlyArray<Field> => {
  if (method.type === "none" || (method.type === "oauth2" && method.grant === "authorization_code")) return []
  return method.fields.map(({ description, name, required, secret, title }) => ({
    name: `credential.${name}`,
    title: title ?? name,
    description: description ?? null,
    secret,
    required,
    options: null,
    type: "string"
  }))
}

/** What is to be entered; where nothing is, an OAuth method leads to the provider at once. */
export const fieldsOf = (
  definition: ConnectorDefinition,
  method: AuthMethod,
  given: JsonObject
): ReadonlyArray<Field> => [...configFields(definition, given), ...credentialFields(method)]

const input = ({ name, options, required, secret, type }: Field): Markup => {
  const needed = required ? html` required` : html``
  if (options !== null)
    return html`<select id="${name}" name="${name}" ${needed}>
      ${options.map((value) => html`<option>${value}</option>`)}
    </select>`
  const kind = secret ? "password" : type === "number" ? "number" : type === "boolean" ? "checkbox" : "text"
  return html`<input
    id="${name}"
    name="${name}"
    type="${kind}"
    autocomplete="off"
    spellcheck="false"
    ${type === "boolean" ? html`` : needed}
  />`
}

export const formMarkup = (fields: ReadonlyArray<Field>, action: string, error: string | null): Markup =>
  html`${error === null ? html`` : html`<p class="error" role="alert">${error}</p>`}
    <form method="post" action="${action}">
      ${fields.map(
        (field) =>
          html`<label for="${field.name}">${field.title}</label>${input(field)}${
              field.description === null ? html`` : html`<small>${field.description}</small>`
            }`
      )}<button type="submit">Connect</button>
    </form>`

/** What a browser posted. A field that was left empty was not entered. */
export const entered = (
  fields: ReadonlyArray<Field>,
  body: Uint8Array
): { readonly config: JsonObject; readonly fields: Secrets } => {
  const form = new URLSearchParams(new TextDecoder().decode(body))
  const config: { [name: string]: Json } = {}
  const secrets: { [name: string]: Redacted.Redacted } = {}
  for (const { name, type } of fields) {
    const [part = "", ...rest] = name.split(".")
    const member = rest.join(".")
    const text = form.get(name)
    if (part === "config" && type === "boolean") config[member] = text !== null
    else if (text === null || text === "") continue
    else if (part === "config") config[member] = type === "number" ? Number(text) : text.trim()
    else secrets[member] = Redacted.make(text)
  }
  return { config, fields: secrets }
}
