/** The form of a connect session: what of config and credential a person must still enter, and what was entered. */
import { Redacted } from "effect"
import type { CredentialSecrets } from "../../actors/ports/Connections.js"
import type { AuthMethod } from "../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { html, type Markup } from "../Markup.js"

export interface Field {
  /** `config.subdomain`, `credential.apiKey`. */
  readonly name: string
  readonly title: string
  readonly description: string | null
  readonly secret: boolean
  readonly required: boolean
  readonly options: ReadonlyArray<string> | null
  readonly type: "string" | "number" | "integer" | "boolean"
  /** What stands there at first. */
  readonly initial: string | null
  readonly min: number | null
  readonly max: number | null
  /** What the text must look like, for the words that say so. */
  readonly form: { readonly pattern: string | null; readonly format: string | null }
}

/** What a person must mend: in a field of the form, or anywhere. */
export interface Problem {
  /** A field's name. */
  readonly field: string | null
  readonly text: string
}

const textOf = (value: Json | undefined): string | null => (typeof value === "string" && value !== "" ? value : null)

const typeOf = (schema: JsonObject): Field["type"] => {
  const type = schema["type"]
  return type === "number" || type === "integer" || type === "boolean" ? type : "string"
}

const numberOf = (value: Json | undefined): number | null => (typeof value === "number" ? value : null)

/** How a part of a definition uses a member of the connection's config: `needed` where nothing stands in for it. */
const useOf = (part: unknown, name: string): "needed" | "used" | "unused" => {
  const text = JSON.stringify(part).replace(/\s+/g, "")
  const place = `connection.config.${name}`
  if (text.includes(`{{${place}}}`)) return "needed"
  for (let at = text.indexOf(place); at >= 0; at = text.indexOf(place, at + 1))
    if (!/[\w-]/.test(text.charAt(at + place.length))) return "used"
  return "unused"
}

/** Whether only other methods than the chosen one use a member: then nobody is asked for it. */
const isOthersOnly = (definition: ConnectorDefinition, method: AuthMethod, name: string): boolean => {
  const { auth, connectionConfig: _schema, ...rest } = definition
  const others = auth.filter(({ id }) => id !== method.id)
  return useOf(others, name) !== "unused" && useOf(method, name) === "unused" && useOf(rest, name) === "unused"
}

const configFields = (definition: ConnectorDefinition, method: AuthMethod, given: JsonObject): ReadonlyArray<Field> => {
  const { connectionConfig = {} } = definition
  const properties = connectionConfig["properties"]
  const required = connectionConfig["required"]
  if (!isObject(properties)) return []
  return Object.entries(properties).flatMap(([name, schema]) => {
    if (Object.hasOwn(given, name) || !isObject(schema)) return []
    const isRequired = Array.isArray(required) && required.includes(name)
    if (!isRequired && isOthersOnly(definition, method, name)) return []
    const hasDefault = schema["default"] !== undefined
    const values = schema["enum"]
    return [
      {
        name: `config.${name}`,
        title: textOf(schema["title"]) ?? name,
        description: textOf(schema["description"]),
        secret: false,
        required: isRequired || (!hasDefault && useOf(method, name) === "needed"),
        options: Array.isArray(values) ? values.map(String) : null,
        type: typeOf(schema),
        initial: schema["default"] === undefined || schema["default"] === null ? null : String(schema["default"]),
        min: numberOf(schema["minimum"]),
        max: numberOf(schema["maximum"]),
        form: { pattern: textOf(schema["pattern"]), format: textOf(schema["format"]) }
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
    type: "string",
    initial: null,
    min: null,
    max: null,
    form: { pattern: null, format: null }
  }))
}

/** What is to be entered; where nothing is, an OAuth method leads to the provider at once. */
export const fieldsOf = (
  definition: ConnectorDefinition,
  method: AuthMethod,
  given: JsonObject
): ReadonlyArray<Field> => [...configFields(definition, method, given), ...credentialFields(method)]

type Values = ReadonlyMap<string, string>

const when = (shown: boolean, markup: Markup): Markup => (shown ? markup : html``)

/** What a field is told by besides its label, for those who hear the page; and that it is the one to mend. */
const told = ({ description, name }: Field, problem: Problem | null): Markup => {
  const wrong = problem?.field === name
  const by = [...(wrong ? ["problem"] : []), ...(description === null ? [] : [`${name}.hint`])].join(" ")
  return html`${when(by !== "", html` aria-describedby="${by}"`)}${when(wrong, html` aria-invalid="true" autofocus`)}`
}

const select = (field: Field, options: ReadonlyArray<string>, value: string | null, more: Markup): Markup =>
  html`<select id="${field.name}" name="${field.name}" ${when(field.required, html`required`)} ${more}>
    ${when(value === null || !field.required, html`<option value="">${field.required ? "Choose one" : "None"}</option>`)}
    ${options.map((one) => html`<option ${when(one === value, html`selected`)}>${one}</option>`)}
  </select>`

const kinds = { string: "text", number: "number", integer: "number", boolean: "checkbox" } as const

const input = (field: Field, value: string | null, problem: Problem | null): Markup => {
  const more = told(field, problem)
  if (field.options !== null) return select(field, field.options, value, more)
  const { max, min, name, required, secret, type } = field
  const content =
    type === "boolean"
      ? when(value === "true", html`checked`)
      : html`${when(required, html`required`)} ${when(value !== null, html`value="${value ?? ""}"`)}`
  return html`<input
    id="${name}"
    name="${name}"
    type="${secret ? "password" : kinds[type]}"
    autocomplete="off"
    autocapitalize="none"
    spellcheck="false"
    ${when(type === "number", html`step="any"`)}
    ${when(min !== null, html`min="${min ?? ""}"`)}
    ${when(max !== null, html`max="${max ?? ""}"`)}
    ${content}
    ${more}
  />`
}

const row = (field: Field, values: Values | null, problem: Problem | null): Markup => {
  // What was posted counts: a box without a tick is not posted.
  const value = values === null ? field.initial : (values.get(field.name) ?? null)
  const optional = when(!field.required && field.type !== "boolean", html` <span>(optional)</span>`)
  const label = html`<label for="${field.name}">${field.title}${optional}</label>`
  const control = input(field, value, problem)
  const hint = field.description === null ? html`` : html`<small id="${field.name}.hint">${field.description}</small>`
  return field.type === "boolean"
    ? html`<div class="tick">${control}${label}</div>
        ${hint}`
    : html`${label}${control}${hint}`
}

/** The form as it is first, or with what was entered and what is wrong with it. */
export const formMarkup = (
  fields: ReadonlyArray<Field>,
  action: string,
  values: Values | null,
  problem: Problem | null
): Markup =>
  html`${problem === null ? html`` : html`<p class="error" role="alert" id="problem">${problem.text}</p>`}
    <form method="post" action="${action}">
      ${fields.map((field) => row(field, values, problem))}<button type="submit">Connect</button>
    </form>`

const posted = (body: Uint8Array) => new URLSearchParams(new TextDecoder().decode(body))

/** What a browser posted, to be shown again: no secret. */
export const shownAgain = (fields: ReadonlyArray<Field>, body: Uint8Array): Values => {
  const form = posted(body)
  return new Map(
    fields.flatMap(({ name, secret, type }) => {
      const text = secret ? null : form.get(name)
      return text === null || text === "" ? [] : [[name, type === "boolean" ? "true" : text] as const]
    })
  )
}

/** What a browser posted. A field that was left empty was not entered. */
export const entered = (
  fields: ReadonlyArray<Field>,
  body: Uint8Array
): { readonly config: JsonObject; readonly fields: CredentialSecrets } => {
  const form = posted(body)
  const config: { [name: string]: Json } = {}
  const secrets: { [name: string]: Redacted.Redacted } = {}
  for (const { name, type } of fields) {
    const [part = "", ...rest] = name.split(".")
    const member = rest.join(".")
    const text = form.get(name)
    if (part === "config" && type === "boolean") config[member] = text !== null
    else if (text === null || text === "") continue
    else if (part === "config") config[member] = type === "string" ? text.trim() : Number(text)
    else secrets[member] = Redacted.make(text)
  }
  return { config, fields: secrets }
}
