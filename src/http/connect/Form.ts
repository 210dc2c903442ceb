/** The form of a connect session: its markup, and the values that were posted. */
import { Redacted } from "effect"
import type { CredentialSecrets } from "../../actors/ports/connection/Connections.js"
import type { ConnectField } from "../../domain/connection/ConnectForm.js"
import { readNumber } from "../../domain/expression/Numbers.js"
import { readFormFields } from "../../domain/FormFields.js"
import type { Json, JsonObject } from "../../domain/Json.js"
import { html, type Markup } from "../Markup.js"

/** An error that the form shows, at a field or at its top. */
export interface Problem {
  /** The name of the field; null: the whole form. */
  readonly field: string | null
  readonly text: string
}

/** Fields of a posted form. */
const formFields = 1_000

type Values = ReadonlyMap<string, string>

const markupIf = (shown: boolean, markup: Markup): Markup => (shown ? markup : html``)

/** The attributes with which screen readers announce a field's hint and its problem. */
const ariaAttributes = ({ description, name }: ConnectField, problem: Problem | null): Markup => {
  const wrong = problem?.field === name
  const by = [...(wrong ? ["problem"] : []), ...(description === null ? [] : [`${name}.hint`])].join(" ")
  return html`${markupIf(by !== "", html` aria-describedby="${by}"`)}${markupIf(wrong, html` aria-invalid="true" autofocus`)}`
}

const select = (field: ConnectField, options: ReadonlyArray<string>, value: string | null, more: Markup): Markup =>
  html`<select id="${field.name}" name="${field.name}" ${markupIf(field.required, html`required`)} ${more}>
    ${markupIf(value === null || !field.required, html`<option value="">${field.required ? "Choose one" : "None"}</option>`)}
    ${options.map((one) => html`<option ${markupIf(one === value, html`selected`)}>${one}</option>`)}
  </select>`

const kinds = { string: "text", number: "number", integer: "number", boolean: "checkbox" } as const

const input = (field: ConnectField, value: string | null, problem: Problem | null): Markup => {
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

const row = (field: ConnectField, values: Values | null, problem: Problem | null): Markup => {
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
  fields: ReadonlyArray<ConnectField>,
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
export const displayedValues = (fields: ReadonlyArray<ConnectField>, body: Uint8Array): Values => {
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
  fields: ReadonlyArray<ConnectField>,
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
