/**
 * Serves the API's documentation without a key, from the files that the build leaves beside the program; a program without
 * them makes them at the first request.
 */
import { Effect } from "effect"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import type { RawReply, RequestHead } from "../../http/Wire.js"
import { fixedHeaders, type Prepared, readBuilt, replyOf } from "./BuiltFiles.js"
import type { DocumentFile } from "./DocumentFiles.js"

const compress = promisify(gzip)
const headersOf = (headers: Prepared["headers"]) => ({ ...headers, ...fixedHeaders, "cache-control": "no-cache" })

const prepare = async ({ headers, text }: DocumentFile): Promise<Prepared> => {
  const plain = Buffer.from(text)
  return { headers, plain, compressed: await compress(plain) }
}

/** Without the build's files. */
const makeAll = async (): Promise<ReadonlyMap<string, Prepared>> => {
  const { makeDocumentFiles } = await import("./DocumentFiles.js")
  return new Map(await Promise.all(makeDocumentFiles().map(async (file) => [file.path, await prepare(file)] as const)))
}

const documentPath = /^(?:\/docs(?:\/\w+){0,2}|\/api\/v1\/(?:openapi(?:\/[a-z]+)?|(?:connector|flow)\.schema)\.json)$/

export const make = Effect.gen(function* () {
  const documents = yield* Effect.cached(Effect.promise(async () => (await readBuilt("docs")) ?? (await makeAll())))

  /** The reply for this path, `undefined` if there is no such document; no effect for the paths of others. */
  const pageAt = (path: string, request: RequestHead): Effect.Effect<RawReply | undefined> | undefined =>
    documentPath.test(path)
      ? Effect.map(documents, (all) => {
          const found = all.get(path)
          return found === undefined ? undefined : replyOf(request, { ...found, headers: headersOf(found.headers) })
        })
      : undefined

  return { pageAt }
})
