/**
 * Renders the API reference from the OpenAPI document: an index with a search, a page for each group of operations, and
 * one for each schema. No page needs another host, and each operation has an anchor.
 */
import { type Json, isObject, type JsonObject } from "../../domain/Json.js"
import { html, type Markup } from "../Markup.js"
import { members, type DocumentedOperation, operationMarkup, operationsOf, titleOf } from "./OperationMarkup.js"
import { pathOfSchema, schemaMarkup, schemasPath } from "./SchemaMarkup.js"

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

/** The style sheet of the reference: light and dark, and readable on a phone. */
const style = `:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--soft:#555;--line:#c8c8c8;--blue:#1a56db;--shade:#f5f5f5}
@media (prefers-color-scheme:dark){:root{--ink:#eee;--paper:#151515;--soft:#b0b0b0;--line:#444;--blue:#8ab4ff;--shade:#202020}}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--paper);overflow-wrap:anywhere}
a{color:var(--blue)}h1{font-size:1.6rem}h2{margin-top:3rem;border-bottom:2px solid var(--line)}article h2,section h2{font-size:1.1rem}h3{font-size:1rem;margin-bottom:.25rem}
input,button{font:inherit;padding:.25rem .5rem}form{margin:1rem 0}
code,pre{font:.9em/1.4 ui-monospace,monospace}em{color:var(--soft);font-style:normal}pre{background:var(--shade);padding:.75rem;overflow-x:auto}
table{border-collapse:collapse;width:100%;margin:1rem 0}caption{text-align:left;font-weight:600}th,td{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line)}
ul{padding-left:1.25rem}dt{margin-top:.5rem}dd{margin:0 0 0 1rem}summary{cursor:pointer;padding:.2rem 0}
:focus-visible{outline:3px solid var(--blue);outline-offset:2px}`

/** The script of the search on the index: shows the operations that contain every word, and opens with the query's. */
const searchScript = `(function(){
var box=document.getElementById("q"),said=document.getElementById("found"),rows=[].slice.call(document.querySelectorAll("[data-operation]"));
var texts=rows.map(function(row){return row.textContent.toLowerCase()});
function search(){
var words=box.value.toLowerCase().split(" ").filter(Boolean),shown=0;
rows.forEach(function(row,at){var hit=words.every(function(word){return texts[at].indexOf(word)>=0});row.hidden=!hit;if(hit)shown++});
[].forEach.call(document.querySelectorAll("[data-group]"),function(group){group.hidden=!group.querySelector("[data-operation]:not([hidden])")});
said.textContent=words.length===0?"":shown===1?"1 operation":shown+" operations"}
box.value=new URLSearchParams(location.search).get("q")||"";box.addEventListener("input",search);search()})()`

const sharedReference = /^#\/components\/(parameters|responses|headers)\/(.+)$/

/** `components`: the components of the document. */
const resolveReferences = (value: Json, components: JsonObject): Json => {
  if (Array.isArray(value)) return value.map((one) => resolveReferences(one, components))
  if (!isObject(value)) return value
  const { $ref } = value
  const [, kind = "", name = ""] = typeof $ref === "string" ? (sharedReference.exec($ref) ?? []) : []
  const found = members(components[kind])[name]
  if (found !== undefined) return resolveReferences(found, components)
  return Object.fromEntries(
    Object.entries(value).map(([member, child]) => [member, resolveReferences(child, components)])
  )
}
