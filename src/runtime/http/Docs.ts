/** What a reader of the API needs, without a key: the OpenAPI documents, and a page of them that needs no internet. */
import { HttpApi, HttpApiBuilder, HttpRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer } from "effect"
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

const texts = Object.entries(documentPaths)

export const make = Effect.gen(function* () {
  const html = yield* Effect.cached(page)
  const documents = new Map<string, Effect.Effect<string>>()
  for (const [path, name] of texts) documents.set(path, yield* Effect.cached(Effect.sync(() => documentText(name))))

  const reply =
    (contentType: string) =>
    (body: string): RawReply => ({
      status: 200,
      headers: { "content-type": contentType, "cache-control": "no-cache" },
      body
    })

  /** The answer to this path, if it is a page. */
  const pageAt = (path: string): Effect.Effect<RawReply> | undefined => {
    if (path === "/docs") return Effect.map(html, reply("text/html; charset=utf-8"))
    const document = documents.get(path)
    return document === undefined ? undefined : Effect.map(document, reply("application/json; charset=utf-8"))
  }

  return { pageAt }
})
