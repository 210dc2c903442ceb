/**
 * Everything that is served as documentation: the OpenAPI documents, and the pages of the reference. The build makes the
 * files once; a program without them makes them at the first request.
 */
import { createHash } from "node:crypto"
import { documentText } from "../../http/Documents.js"
import { documentPaths } from "../../http/DocumentPaths.js"
import { referencePages } from "../../http/reference/ReferencePages.js"

const titles: { readonly [path: string]: string } = {
  "/api/v1/openapi.json": "OpenAPI 3.1, everything",
  "/api/v1/openapi/a.json": "OpenAPI 3.1, surface A: runs and the proxy",
  "/api/v1/openapi/b.json": "OpenAPI 3.1, surface B: tenants",
  "/api/v1/openapi/c.json": "OpenAPI 3.1, surface C: management",
  "/api/v1/openapi/embed.json": "OpenAPI 3.1, embed sessions",
  "/api/v1/connector.schema.json": "JSON Schema of a connector's definition",
  "/api/v1/flow.schema.json": "JSON Schema of a flow"
}

/** A document with the headers of its reply. */
export interface DocumentFile {
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly text: string
}

/** The source of the content security policy for an element of the page, which is empty if there is none. */
const hashOf = (name: string, element: RegExp, page: string): string => {
  const [, text] = element.exec(page) ?? []
  return text === undefined ? "" : `${name}-src 'sha256-${createHash("sha256").update(text).digest("base64")}'`
}

const policyOf = (page: string): string =>
  [
    "default-src 'none'",
    hashOf("style", /<style>([\s\S]*?)<\/style>/, page),
    hashOf("script", /<script>([\s\S]*?)<\/script>/, page),
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'"
  ]
    .filter((part) => part !== "")
    .join("; ")

const pageHeaders = (page: string) => ({
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": policyOf(page),
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY"
})

/** Takes about a second. */
export const makeDocumentFiles = (): ReadonlyArray<DocumentFile> => {
  const texts = Object.entries(documentPaths).map(([path, name]) => [path, documentText(name)] as const)
  const pages = referencePages({
    document: JSON.parse(documentText("all")),
    documents: Object.keys(documentPaths).map((path) => ({ path, title: titles[path] ?? path }))
  })
  return [
    ...texts.map(([path, text]) => ({ path, text, headers: { "content-type": "application/json; charset=utf-8" } })),
    ...Object.entries(pages).map(([path, text]) => ({ path, text, headers: pageHeaders(text) }))
  ]
}
