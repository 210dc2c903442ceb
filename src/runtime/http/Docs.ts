/** Serves the API's documentation without a key: the OpenAPI documents, and a page of them without scripts. */
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { documentPaths } from "../../http/DocumentPaths.js"
import type { RawReply, RequestHead } from "../../http/Wire.js"

const titles: { readonly [path: string]: string } = {
  "/api/v1/openapi.json": "OpenAPI 3.1, everything",
  "/api/v1/openapi/a.json": "OpenAPI 3.1, surface A: runs and the proxy",
  "/api/v1/openapi/b.json": "OpenAPI 3.1, surface B: tenants",
  "/api/v1/openapi/c.json": "OpenAPI 3.1, surface C: management",
  "/api/v1/connector.schema.json": "JSON Schema of a connector's definition"
}

/** A text that is made at its first request, and cached plain and compressed. */
interface Text {
  readonly plain: string
  readonly compressed: Uint8Array
}

const compress = promisify(gzip)

const textOf = (make: () => Promise<string>): Effect.Effect<Text> =>
  Effect.promise(async () => {
    const plain = await make()
    return { plain, compressed: await compress(plain) }
  })

/** Loaded at the first request, since a start needs none of it. */
const documents = () => import("../../http/Documents.js")

const page = async () => {
  const [{ documentText }, { referencePage }] = await Promise.all([
    documents(),
    import("../../http/reference/ReferencePage.js")
  ])
  return referencePage({
    document: JSON.parse(documentText("all")),
    documents: Object.keys(documentPaths).map((path) => ({ path, title: titles[path] ?? path }))
  })
}

/** The hash of the page's style element, for its content security policy. */
const styleHash = (html: string): string => {
  const [, text = ""] = /<style>([\s\S]*?)<\/style>/.exec(html) ?? []
  return createHash("sha256").update(text).digest("base64")
}

const policyOf = (html: string): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${styleHash(html)}'`,
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'"
  ].join("; ")

const takesGzip = ({ headers }: Pick<RequestHead, "headers">): boolean =>
  (headers["accept-encoding"] ?? "").split(",").some((one) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)|$)/i.test(one))

export const make = Effect.gen(function* () {
  const html = yield* Effect.cached(textOf(page))
  const texts = new Map<string, Effect.Effect<Text>>()
  for (const [path, name] of Object.entries(documentPaths))
    texts.set(path, yield* Effect.cached(textOf(async () => (await documents()).documentText(name))))

  const reply = (request: RequestHead, contentType: string, text: Text, more: RawReply["headers"] = {}): RawReply => {
    const isCompressed = takesGzip(request)
    return {
      status: 200,
      headers: {
        "content-type": contentType,
        "cache-control": "no-cache",
        "x-content-type-options": "nosniff",
        vary: "accept-encoding",
        ...(isCompressed ? { "content-encoding": "gzip" } : {}),
        ...more
      },
      body: isCompressed ? text.compressed : text.plain
    }
  }

  const pageReply = (request: RequestHead, text: Text): RawReply =>
    reply(request, "text/html; charset=utf-8", text, {
      "content-security-policy": policyOf(text.plain),
      "referrer-policy": "no-referrer",
      "x-frame-options": "DENY"
    })

  /** The reply for this path, or `undefined` if it is no page. */
  const pageAt = (path: string, request: RequestHead): Effect.Effect<RawReply> | undefined => {
    if (path === "/docs") return Effect.map(html, (text) => pageReply(request, text))
    const document = texts.get(path)
    return document === undefined
      ? undefined
      : Effect.map(document, (text) => reply(request, "application/json; charset=utf-8", text))
  }

  return { pageAt }
})
