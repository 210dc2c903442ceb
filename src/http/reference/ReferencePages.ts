/**
 * Renders the API reference from the OpenAPI document: an index with a search, a page for each group of operations, and
 * one for each schema. No page needs another host, and each operation has an anchor.
 */
import type { Json } from "../../domain/Json.js"
import { html, type Markup } from "../Markup.js"
import { members, type DocumentedOperation, operationMarkup, operationsOf, titleOf } from "./OperationMarkup.js"
import { resolveReferences } from "./References.js"
import { pathOfSchema, schemaMarkup, schemasPath } from "./SchemaMarkup.js"
import { searchScript, style } from "./PageFiles.js"

/** The input of the pages. */
export interface ReferenceOptions {
  /** The union of the surfaces' documents. */
  readonly document: Json
  /** The machine-readable documents to link, with their titles. */
  readonly documents: ReadonlyArray<{ readonly path: string; readonly title: string }>
}

/** The path of the index; the other pages lie below it. */
export const referenceRoot = "/docs"
const pathOfGroup = (tag: string): string => `${referenceRoot}/${tag}`

const pageMarkup = (title: string, body: Markup, script = ""): string =>
  withoutIndentation(
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width,initial-scale=1" />
          <title>${title}</title>
          <style>
            ${{ html: style }}
          </style>
        </head>
        <body>
          ${body}${
            script === ""
              ? html``
              : html`<script>
                  ${{ html: script }}
                </script>`
          }
        </body>
      </html>`.html
  )

/** Removes the indentation of the templates, which is a fifth of a page; examples keep theirs. */
const withoutIndentation = (page: string): string =>
  page
    .split(/(<pre[\s\S]*?<\/pre>|<style>[\s\S]*?<\/style>|<script>[\s\S]*?<\/script>)/)
    .map((part) => (/^<(?:pre|style|script)/.test(part) ? part : part.replace(/\s*\n\s*/g, "\n")))
    .join("")

const searchForm = (query: Markup): Markup =>
  html`<form role="search" action="${referenceRoot}" method="get">
    <label for="q">Search operations</label> <input id="q" name="q" type="search" /> ${query}
  </form>`

const operationLink = ({ id, method, path, spec, tag }: DocumentedOperation): Markup =>
  html`<li data-operation>
    <a href="${pathOfGroup(tag)}#${id}"><code>${method.toUpperCase()} ${path}</code></a> ${summaryOf(spec)}
  </li>`

const summaryOf = ({ summary }: DocumentedOperation["spec"]): string => (typeof summary === "string" ? summary : "")

const indexPage = (
  tags: ReadonlyArray<string>,
  operations: ReadonlyArray<DocumentedOperation>,
  options: ReferenceOptions
) =>
  pageMarkup(
    "svc API",
    html`<header>
        <h1>svc API</h1>
        <p>
          Send your key as <code>Authorization: Bearer svk_…</code> or <code>x-svc-api-key: svk_…</code>; surface B
          (<code>/api/v1/tenants/…</code>) takes the second form, with <code>x-svc-space-id</code>.
        </p>
        ${searchForm(html`<output id="found" for="q"></output>`)}
      </header>
      <main>
        ${tags.map(
          (tag) =>
            html`<section data-group>
              <h2><a href="${pathOfGroup(tag)}">${titleOf(tag)}</a></h2>
              <ul>
                ${operations.filter((operation) => operation.tag === tag).map(operationLink)}
              </ul>
            </section>`
        )}
        <section>
          <h2>Schemas, and the same for programs</h2>
          <ul>
            <li><a href="${schemasPath}">Schemas</a></li>
            ${options.documents.map(({ path, title }) => html`<li><a href="${path}">${title}</a></li>`)}
          </ul>
        </section>
      </main>`,
    searchScript
  )

const header = (title: string): Markup =>
  html`<header>
    <p><a href="${referenceRoot}">svc API</a></p>
    ${searchForm(html`<button>Search</button>`)}
    <h1>${title}</h1>
  </header>`

const groupPage = (title: string, operations: ReadonlyArray<DocumentedOperation>) =>
  pageMarkup(
    `${title}: svc API`,
    html`${header(title)}
      <nav aria-label="Operations">
        <ul>
          ${operations.map(
            ({ id, method, path }) =>
              html`<li>
                <a href="#${id}"><code>${method.toUpperCase()} ${path}</code></a>
              </li>`
          )}
        </ul>
      </nav>
      <main>${operations.map(operationMarkup)}</main>`
  )

const schemasPage = (names: ReadonlyArray<string>) =>
  pageMarkup(
    "Schemas: svc API",
    html`${header("Schemas")}
      <main>
        <ul>
          ${names.map(
            (name) =>
              html`<li>
                <a href="${pathOfSchema(name)}"><code>${name}</code></a>
              </li>`
          )}
        </ul>
      </main>`
  )

const schemaPage = (name: string, schema: Json) =>
  pageMarkup(
    `${name}: svc API`,
    html`${header(name)}
      <main>
        <p><a href="${schemasPath}">All schemas</a></p>
        ${schemaMarkup(schema)}
      </main>`
  )

/** The pages as HTML text, by their paths. */
export const referencePages = (options: ReferenceOptions): { readonly [path: string]: string } => {
  const { components, paths } = members(options.document)
  const operations = operationsOf(members(resolveReferences(paths ?? {}, members(components))))
  const schemas = Object.entries(members(members(components)["schemas"]))
  const tags = [...new Set(operations.map(({ tag }) => tag))]
  return {
    [referenceRoot]: indexPage(tags, operations, options),
    [schemasPath]: schemasPage(schemas.map(([name]) => name)),
    ...Object.fromEntries(schemas.map(([name, schema]) => [pathOfSchema(name), schemaPage(name, schema)])),
    ...Object.fromEntries(
      tags.map((tag) => [
        pathOfGroup(tag),
        groupPage(
          titleOf(tag),
          operations.filter((operation) => operation.tag === tag)
        )
      ])
    )
  }
}
