/** What a reader of the API needs, without a key: the OpenAPI documents, and a page of them that needs no internet. */
import { HttpApi, HttpApiBuilder, HttpRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { documentPaths, documentText, SvcApi } from "../../http/Documents.js"
import type { RawReply } from "../../http/Wire.js"

const api = Layer.succeed(HttpApi.Api, {
  // The library's own erased form of an API.
  api: SvcApi as unknown as HttpApi.Api["Type"]["api"],
  context: Context.empty()
})

const request = HttpServerRequest.fromWeb(new Request("http://svc/docs"))

/** The page holds its 3 MB of script itself; both are made when somebody first asks for it. */
const page = Effect.gen(function* () {
  const { layer } = yield* Effect.promise(() => import("@effect/platform/HttpApiScalar"))
  const { router } = yield* HttpApiBuilder.Router.pipe(
    Effect.provide(layer({ path: "/docs" }).pipe(Layer.provide(api), Layer.provideMerge(HttpApiBuilder.Router.Live)))
  )
  const app = yield* Effect.flatMap(router, HttpRouter.toHttpApp)
  const response = yield* Effect.provideService(app, HttpServerRequest.HttpServerRequest, request)
  return yield* Effect.promise(() => HttpServerResponse.toWeb(response).text())
}).pipe(Effect.provide(NodeHttpServer.layerContext), Effect.scoped, Effect.orDie)

/** The page's own scripts and no others; and nothing goes to, or comes from, another host. */
const policyOf = (page: string): string => {
  const scripts = [...page.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, text = ""]) => text)
  const hashes = scripts.map((text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`)
  return [
    "default-src 'none'",
    `script-src ${hashes.join(" ")}`,
    // The page's script makes its styles.
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'"
  ].join("; ")
}

const texts = Object.entries(documentPaths)

export const make = Effect.gen(function* () {
  const html = yield* Effect.cached(page)
  const documents = new Map<string, Effect.Effect<string>>()
  for (const [path, name] of texts) documents.set(path, yield* Effect.cached(Effect.sync(() => documentText(name))))

  const reply =
    (contentType: string, more: RawReply["headers"] = {}) =>
    (body: string): RawReply => ({
      status: 200,
      headers: {
        "content-type": contentType,
        "cache-control": "no-cache",
        "x-content-type-options": "nosniff",
        ...more
      },
      body
    })

  const pageReply = (body: string): RawReply =>
    reply("text/html; charset=utf-8", {
      "content-security-policy": policyOf(body),
      "referrer-policy": "no-referrer",
      "x-frame-options": "DENY"
    })(body)

  /** The answer to this path, if it is a page. */
  const pageAt = (path: string): Effect.Effect<RawReply> | undefined => {
    if (path === "/docs") return Effect.map(html, pageReply)
    const document = documents.get(path)
    return document === undefined ? undefined : Effect.map(document, reply("application/json; charset=utf-8"))
  }

  return { pageAt }
})
