/** The form of a connect session: its fields for configuration and credential, its markup, and the values that were posted. */
import { Redacted } from "effect"
import type { CredentialSecrets } from "../../actors/ports/connection/Connections.js"
import type { AuthMethod } from "../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import { readNumber } from "../../domain/expression/Numbers.js"
import { readFormFields } from "../../domain/FormFields.js"
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { html, type Markup } from "../Markup.js"

/** One field of the form. */
export interface Field {
  /** `config.subdomain`, `credential.apiKey`. */
  readonly name: string
  readonly title: string
  readonly description: string | null
  readonly secret: boolean
  readonly required: boolean
  readonly options: ReadonlyArray<string> | null
  readonly type: "string" | "number" | "integer" | "boolean"
  /** The value before anything is entered. */
  readonly initial: string | null
  readonly min: number | null
  readonly max: number | null
  /** The form of the text by the JSON schema, for error messages. */
  readonly form: { readonly pattern: string | null; readonly format: string | null }
}

/** An error that the form shows, at a field or at its top. */
export interface Problem {
  /** The name of the field; null: the whole form. */
  readonly field: string | null
  readonly text: string
}

const textOf = (value: Json | undefined): string | null => (typeof value === "string" && value !== "" ? value : null)

const typeOf = (schema: JsonObject): Field["type"] => {
  const type = schema["type"]
  return type === "number" || type === "integer" || type === "boolean" ? type : "string"
}

const numberOf = (value: Json | undefined): number | null => (typeof value === "number" ? value : null)

/** Whether a part of a definition uses a member of the connection's config; `needed`: it has no fallback value. */
const useOf = (part: unknown, name: string): "needed" | "used" | "unused" => {
  const text = JSON.stringify(part).replace(/\s+/g, "")
  const place = `connection.config.${name}`
  if (text.includes(`{{${place}}}`)) return "needed"
  for (let at = text.indexOf(place); at >= 0; at = text.indexOf(place, at + 1))
    if (!/[\w-]/.test(text.charAt(at + place.length))) return "used"
  return "unused"
}

/** Whether only other auth methods than the chosen one use a member; the form then leaves it out. */
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

/** The fields to fill in. Without any, an OAuth method redirects to the provider at once. `given`: config set already. */
export const fieldsOf = (
  definition: ConnectorDefinition,
  method: AuthMethod,
  given: JsonObject
): ReadonlyArray<Field> => [...configFields(definition, method, given), ...credentialFields(method)]

/** Fields of a posted form. */
const formFields = 1_000

type Values = ReadonlyMap<string, string>

const markupIf = (shown: boolean, markup: Markup): Markup => (shown ? markup : html``)

/** The attributes with which screen readers announce a field's hint and its problem. */
const ariaAttributes = ({ description, name }: Field, problem: Problem | null): Markup => {
  const wrong = problem?.field === name
  const by = [...(wrong ? ["problem"] : []), ...(description === null ? [] : [`${name}.hint`])].join(" ")
  return html`${markupIf(by !== "", html` aria-describedby="${by}"`)}${markupIf(wrong, html` aria-invalid="true" autofocus`)}`
}

const select = (field: Field, options: ReadonlyArray<string>, value: string | null, more: Markup): Markup =>
  html`<select id="${field.name}" name="${field.name}" ${markupIf(field.required, html`required`)} ${more}>
    ${markupIf(value === null || !field.required, html`<option value="">${field.required ? "Choose one" : "None"}</option>`)}
    ${options.map((one) => html`<option ${markupIf(one === value, html`selected`)}>${one}</option>`)}
  </select>`

const kinds = { string: "text", number: "number", integer: "number", boolean: "checkbox" } as const

const input = (field: Field, value: string | null, problem: Problem | null): Markup => {
  const more = ariaAttributes(field, problem)
  if (field.options !== null) return select(field, field.options, value, more)
  const { max, min, name, required, secret, type } = field
  const content =
    type === "boolean"
      ? markupIf(value === "true", html`checked`)
      : html`${markupIf(required, html`required`)} ${markupIf(value !== null, html`value="${value ?? ""}"`)}`
  return html`<input
    id="${name}"
    name="${name}"
    type="${secret ? "password" : kinds[type]}"
    autocomplete="off"
    autocapitalize="none"
    spellcheck="false"
    ${markupIf(type === "number", html`step="any"`)}
    ${markupIf(min !== null, html`min="${min ?? ""}"`)}
    ${markupIf(max !== null, html`max="${max ?? ""}"`)}
    ${content}
    ${more}
  />`
}

const row = (field: Field, values: Values | null, problem: Problem | null): Markup => {
  // Browsers do not post an unticked box, so a missing posted value is not the initial one.
  const value = values === null ? field.initial : (values.get(field.name) ?? null)
  const optional = markupIf(!field.required && field.type !== "boolean", html` <span>(optional)</span>`)
  const label = html`<label for="${field.name}">${field.title}${optional}</label>`
  const control = input(field, value, problem)
  const hint = field.description === null ? html`` : html`<small id="${field.name}.hint">${field.description}</small>`
  return field.type === "boolean"
    ? html`<div class="tick">${control}${label}</div>
        ${hint}`
    : html`${label}${control}${hint}`
}

/** The form, empty or with the posted values and the problem. */
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

/** The first value of each field; none of a form that no page of this service sends. */
const parseForm = (body: Uint8Array): ReadonlyMap<string, string> => {
  const form = new Map<string, string>()
  const problem = readFormFields(body, formFields, (name, value) => {
    if (!form.has(name)) form.set(name, value)
  })
  return problem === undefined ? form : new Map()
}

/** The posted values that the form shows again, without secrets. */
export const displayedValues = (fields: ReadonlyArray<Field>, body: Uint8Array): Values => {
  const form = parseForm(body)
  return new Map(
    fields.flatMap(({ name, secret, type }) => {
      const text = secret ? undefined : form.get(name)
      return text === undefined || text === "" ? [] : [[name, type === "boolean" ? "true" : text] as const]
    })
  )
}

/** The posted configuration and credential. Fields left empty are absent. */
export const readEntries = (
  fields: ReadonlyArray<Field>,
  body: Uint8Array
): { readonly config: JsonObject; readonly fields: CredentialSecrets } => {
  const form = parseForm(body)
  const config: { [name: string]: Json } = {}
  const secrets: { [name: string]: Redacted.Redacted } = {}
  for (const { name, type } of fields) {
    const [part = "", ...rest] = name.split(".")
    const member = rest.join(".")
    const text = form.get(name)
    if (part === "config" && type === "boolean") config[member] = text !== undefined
    else if (text === undefined || text === "") continue
    else if (part === "config") {
      const number = type === "string" ? Number.NaN : readNumber(text)
      // What is no number is refused as the text that it is.
      config[member] = Number.isFinite(number) ? number : text.trim()
    } else secrets[member] = Redacted.make(text)
  }
  return { config, fields: secrets }
}
