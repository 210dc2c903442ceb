/**
 * Renders the API reference as one HTML page from the OpenAPI document: without script or external resources, with an
 * anchor for each operation and schema.
 */
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import { html, type Markup } from "../Markup.js"
import { resolveReferences } from "./References.js"
import { schemaMarkup } from "./SchemaMarkup.js"
import { style } from "./Style.js"
import { inlineCode } from "./InlineCode.js"

const methods = ["get", "post", "put", "patch", "delete"] as const

const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})
const list = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])
const text = (value: Json | undefined): string => (typeof value === "string" ? value : "")

interface Operation {
  readonly id: string
  readonly tag: string
  readonly method: string
  readonly path: string
  readonly spec: JsonObject
}

const operationsOf = (paths: JsonObject): ReadonlyArray<Operation> =>
  Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const spec = members(item)[method]
      if (spec === undefined || !isObject(spec)) return []
      return [{ id: text(spec["operationId"]), tag: text(list(spec["tags"])[0]), method, path, spec }]
    })
  )

/** "apiKeys" is "Api keys". */
const titleOf = (tag: string): string => {
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
    : html`<h4>Request body</h4>
        ${contents}`
}

const answersOf = (spec: JsonObject): Markup =>
  html`<h4>Answers</h4>
    <dl>
      ${Object.entries(members(spec["responses"])).map(([status, response]) => {
        const contents = contentsOf(response)
        const headers = Object.keys(members(members(response)["headers"]))
        return html`<dt><code>${status}</code> ${inlineCode(text(members(response)["description"]))}</dt>
          ${headers.length === 0 ? html`` : html`<dd>Headers: ${headers.join(", ")}</dd>`}
          ${contents.length === 0 ? html`` : html`<dd>${contents}</dd>`}`
      })}
    </dl>`

const operationMarkup = ({ id, method, path, spec }: Operation): Markup =>
  html`<article id="${id}">
    <h3>
      <a href="#${id}"><code>${method.toUpperCase()} ${path}</code></a>
    </h3>
    ${summaryMarkup(spec)} ${parametersOf(spec)} ${bodyOf(spec)} ${answersOf(spec)}
  </article>`

/** The input of the page. */
export interface ReferenceOptions {
  /** The union of the surfaces' documents. */
  readonly document: Json
  /** The machine-readable documents to link, with their titles. */
  readonly documents: ReadonlyArray<{ readonly path: string; readonly title: string }>
}

/** The page as HTML text. */
export const referencePage = ({ document, documents }: ReferenceOptions): string => {
  const { components, paths } = members(document)
  const operations = operationsOf(members(resolveReferences(paths ?? {}, members(components))))
  const tags = [...new Set(operations.map(({ tag }) => tag))]
  const operationsWith = (tag: string) => operations.filter((operation) => operation.tag === tag)
  const schemas = Object.entries(members(members(components)["schemas"]))
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <title>svc API</title>
        <style>
          ${{ html: style }}
        </style>
      </head>
      <body>
        <header>
          <h1>svc API</h1>
          <p>
            Send your key as <code>Authorization: Bearer svk_…</code> or <code>x-svc-api-key: svk_…</code>; surface B
            (<code>/api/v1/tenants/…</code>) takes the second form, with <code>x-svc-space-id</code>.
          </p>
          <p>The same for programs:</p>
          <ul>
            ${documents.map(({ path, title }) => html`<li><a href="${path}">${title}</a></li>`)}
          </ul>
        </header>
        <nav aria-label="Operations">
          ${tags.map(
            (tag) =>
              html`<details>
                <summary>${titleOf(tag)}</summary>
                <ul>
                  ${operationsWith(tag).map(
                    ({ id, method, path }) =>
                      html`<li>
                        <a href="#${id}"><code>${method.toUpperCase()} ${path}</code></a>
                      </li>`
                  )}
                </ul>
              </details>`
          )}
        </nav>
        <main>
          ${tags.map(
            (tag) =>
              html`<section>
                <h2>${titleOf(tag)}</h2>
                ${operationsWith(tag).map(operationMarkup)}
              </section>`
          )}
          <section>
            <h2>Schemas</h2>
            ${schemas.map(
              ([name, schema]) =>
                html`<article id="schema-${name}">
                  <h3>
                    <a href="#schema-${name}"><code>${name}</code></a>
                  </h3>
                  ${schemaMarkup(schema)}
                </article>`
            )}
          </section>
        </main>
      </body>
    </html>`.html
}
