/** Renders an operation of the OpenAPI document: parameters, body, answers. */
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { html, type Markup } from "../Markup.js"
import { schemaMarkup } from "./SchemaMarkup.js"

/** `text` with the parts between backticks as `<code>`. */
const inlineCode = (text: string): Markup =>
  html`${text.split("`").map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`

const methods = ["get", "post", "put", "patch", "delete"] as const

export const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})
const list = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])
const text = (value: Json | undefined): string => (typeof value === "string" ? value : "")

export interface DocumentedOperation {
  readonly id: string
  readonly tag: string
  readonly method: string
  readonly path: string
  readonly spec: JsonObject
}

export const operationsOf = (paths: JsonObject): ReadonlyArray<DocumentedOperation> =>
  Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const spec = members(item)[method]
      if (spec === undefined || !isObject(spec)) return []
      return [{ id: text(spec["operationId"]), tag: text(list(spec["tags"])[0]), method, path, spec }]
    })
  )

/** `apiKeys` is "Api keys". */
export const titleOf = (tag: string): string => {
  const words = tag.replace(/([a-z])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const summaryMarkup = (spec: JsonObject): Markup => {
  const [summary, description] = [text(spec["summary"]), text(spec["description"])]
  return html`${summary === "" ? html`` : html`<p><strong>${summary}</strong></p>`}
  ${description === "" || description === summary ? html`` : html`<p>${inlineCode(description)}</p>`}`
}

const parameterRow = (parameter: Json): Markup => {
  const { description, in: place, name, required, schema } = members(parameter)
  return html`<tr>
    <th scope="row"><code>${text(name)}</code></th>
    <td>${text(place)}${required === true ? ", required" : ""}</td>
    <td>
      ${schemaMarkup(schema ?? {})}
      ${text(description) === text(members(schema)["description"]) ? "" : inlineCode(text(description))}
    </td>
  </tr>`
}

const parametersOf = (spec: JsonObject): Markup => {
  const parameters = list(spec["parameters"])
  if (parameters.length === 0) return html``
  return html`<table>
    <caption>
      Parameters
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">In</th>
        <th scope="col">Value</th>
      </tr>
    </thead>
    <tbody>
      ${parameters.map(parameterRow)}
    </tbody>
  </table>`
}

const contentsOf = (value: Json | undefined): ReadonlyArray<Markup> =>
  Object.entries(members(members(value)["content"])).map(
    ([type, content]) =>
      html`<p><code>${type}</code></p>
        ${schemaMarkup(members(content)["schema"] ?? {})} ${exampleOf(members(content))}`
  )

const exampleOf = (content: JsonObject): Markup => {
  const { example } = content
  return example === undefined ? html`` : html`<pre tabindex="0">${JSON.stringify(example, null, 2)}</pre>`
}

const bodyOf = (spec: JsonObject): Markup => {
  const contents = contentsOf(spec["requestBody"])
  return contents.length === 0
    ? html``
    : html`<h3>Request body</h3>
        ${contents}`
}

const answersOf = (spec: JsonObject): Markup =>
  html`<h3>Answers</h3>
    <dl>
      ${Object.entries(members(spec["responses"])).map(([status, response]) => {
        const contents = contentsOf(response)
        const headers = Object.keys(members(members(response)["headers"]))
        return html`<dt><code>${status}</code> ${inlineCode(text(members(response)["description"]))}</dt>
          ${headers.length === 0 ? html`` : html`<dd>Headers: ${headers.join(", ")}</dd>`}
          ${contents.length === 0 ? html`` : html`<dd>${contents}</dd>`}`
      })}
    </dl>`

export const operationMarkup = ({ id, method, path, spec }: DocumentedOperation): Markup =>
  html`<article id="${id}">
    <h2>
      <a href="#${id}"><code>${method.toUpperCase()} ${path}</code></a>
    </h2>
    ${summaryMarkup(spec)} ${parametersOf(spec)} ${bodyOf(spec)} ${answersOf(spec)}
  </article>`
